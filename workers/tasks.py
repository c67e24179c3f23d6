"""The Celery tasks, one for each kind of message. The work itself is in `steps`, `maintenance` and `retrain_tasks`."""

from __future__ import annotations

from typing import Any

from celery import Celery
from celery.worker import state

from indexer.catalog.entries import BatchState
from workers import maintenance, retrain_tasks, steps
from workers.messages import Sender
from workers.resources import Resources


def add_tasks(app: Celery, resources: Resources, sender: Sender) -> None:
    """Register the tasks with an application, for a worker."""

    def add(state: BatchState) -> Any:
        def task(collection: str, batch: str) -> None:
            sender.send(resources.catalog, steps.work(resources, state, batch))

        return app.task(task, name=f"indexer.{state}")

    def maintain() -> None:
        maintenance.maintain(resources, sender)

    def train(run: str) -> None:
        retrain_tasks.work(resources.settings, resources.catalog, sender, run, _is_stopping)

    def retrain(collection: str) -> None:
        retrain_tasks.begin(resources.settings, sender, collection)

    add("prepare")
    add("encode")
    app.task(maintain, name="indexer.maintain")
    app.task(train, name="indexer.train")
    app.task(retrain, name="indexer.retrain")


def _is_stopping() -> bool:
    """Whether a signal has ended this process."""
    return state.should_stop is not None or state.should_terminate is not None
