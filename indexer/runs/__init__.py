"""Locked, recorded runs: each starts with a lock, ends with a row in the catalog, and resumes after a crash.

index         read sources, store, mine, finalize; and retry     plan       what `index` would do, without writing
uploads       documents and files sent to the server             rollback   switch back to an earlier generation
enrich        add topics to an existing Elasticsearch index      enrich_watch  keep such an index up to date
bundle_files  encoders stored in the catalog for other machines
repair        find damage, have it written again                backup     a home in one file, while in use, and back

In: sources and options from `indexer.collection`. Out: reports (`RunReport` …).
Imported by `indexer.collection`, `trainer.retrain` and `workers`.
"""
