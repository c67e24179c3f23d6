"""The steps of mining as Celery tasks: for more than one machine, or more than one process. See docs/workers.md.

app, tasks     the Celery application and its tasks     queues, messages   which work, and the messages that announce it
steps          what a worker does with one batch         maintenance        lost messages, ends of runs
pool           workers as `indexer index` sees them      retrain_tasks      retrains in slices
process, supervisor   one process, and what restarts it  resources, retry, schedule, metrics

In: batches in the catalog; messages hold ids only. Out: rows in the engine, by the functions of `indexer.pipeline`.
Imported by `indexer.collection`, `indexer.web` and `indexer.cli`. Needs the extra `workers`.
"""
