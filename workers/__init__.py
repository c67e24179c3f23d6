"""The steps of mining, and retrains, as Celery tasks: for more than one process or machine. See docs/workers.md.

app, tasks, schedule    the Celery application, its tasks, and what it starts at a time of day
queues, process         the queues, and one process that works on one of them
supervisor, metrics     starts and restarts processes; their metrics for Prometheus
messages                sends messages, counts them, and sends lost ones again
pool                    the workers as `indexer index` uses them
steps, resources        the work on one batch, and what it needs
maintenance             creates batches, finishes runs; retrain_tasks: a retrain in slices

Batches come from the catalog (`indexer.catalog.batches`) and results go to the engine; a message only names a batch.
Imported by indexer.cli, indexer.web and indexer.collection.
"""
