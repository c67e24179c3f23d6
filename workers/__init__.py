"""The steps of mining as Celery tasks: for more than one machine, or more than one process. See docs/workers.md."""
