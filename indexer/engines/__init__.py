"""Engines: where documents, mentions, phrases and topics are stored and searched.

base         the `Engine` protocol, with filters, queries and answers; tests/contract holds every engine to it
generations  the `Generations` protocol: complete sets of rows, of which one is live
registry     from the settings to an engine             values, fragments   shared by all engines
local/       embedded: SQLite with FTS5, vectors in memory-mapped files
elastic/     Elasticsearch 8.19 and 9.x, OpenSearch 2.19 and 3.x

In: records. Out: records. An engine knows no other engine, no encoder and no catalog.
Imported by topics, pipeline, search and everything above them.
"""
