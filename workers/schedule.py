"""Runs Celery's beat in a thread of the maintenance worker.

The schedule comes from the settings, in the application's configuration. It is kept in memory: entries that fell due
while no worker was running are skipped.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery
from celery.beat import Scheduler, Service
from celery.schedules import crontab

from indexer.settings import Settings
from workers.queues import name_of

EXPIRES = 6 * 60 * 60  # seconds after which a nightly retrain is no longer started
POLL_INTERVAL_S = 1.0  # seconds


def schedule_of(settings: Settings) -> dict[str, Any]:
    """Entries for `beat_schedule`: one for the retrain, where the settings name a time."""
    if not settings.retrain_at:
        return {}
    hour, minute = settings.retrain_at.split(":")
    return {
        "retrain": {
            "task": "indexer.retrain",
            "schedule": crontab(hour=int(hour), minute=int(minute)),
            "args": [settings.collection],
            "options": {"queue": name_of("train", settings), "expires": EXPIRES},
        }
    }


@contextmanager
def beating(app: Celery) -> Iterator[None]:
    """Send the messages of due entries, until the end of the block."""
    if not app.conf.beat_schedule:
        yield
        return
    service = Service(app, max_interval=POLL_INTERVAL_S, scheduler_cls=Scheduler, remote_control=False)
    thread = threading.Thread(target=service.start, name="beat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        service.stop(wait=True)
