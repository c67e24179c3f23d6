"""The tasks: what a message makes a worker do. A task is a few lines; the work is in `steps` and `maintaining`."""

from __future__ import annotations

from typing import Any

from celery import Celery

from indexer.catalog.entries import BatchState
from workers import maintaining, steps
from workers.resources import Resources
from workers.sending import Sender


def add_tasks(app: Celery, resources: Resources, sender: Sender) -> None:
    """Make the tasks of an application, for a worker."""

    def add(state: BatchState) -> Any:
        def task(collection: str, batch: str) -> None:
            sender.send(resources.catalog, steps.work(resources, state, batch))

        return app.task(task, name=f"indexer.{state}")

    def maintain() -> None:
        maintaining.maintain(resources, sender)

    add("prepare")
    add("encode")
    app.task(maintain, name="indexer.maintain")
