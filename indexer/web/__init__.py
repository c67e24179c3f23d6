"""The page and the API over a collection: `indexer.web.app.make_app`. Nothing is searched or mined here."""
