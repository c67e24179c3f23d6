"""The page: one module for each view, which asks the collection and fills a template."""
