"""Creates the Celery application from the settings."""

from __future__ import annotations

from celery import Celery

from indexer.settings import Settings
from workers.queues import name_of
from workers.schedule import schedule_of

# Redis delivers a message again that was not acknowledged in this time, although its worker may still be busy. That does
# no harm here: the second worker finds that the batch is claimed. The work of a dead worker is recovered by the lease of
# the batch (two minutes), not by this. So it is longer than fitting the topics of a large collection takes.
VISIBILITY_TIMEOUT = 6 * 60 * 60  # seconds


def make_app(settings: Settings) -> Celery:
    """Return an application that sends and works; it is not connected yet."""
    app = Celery("indexer", broker=settings.broker, set_as_current=False)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,  # the catalog has the state of each batch
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,  # no other process can take a reserved message
        task_default_queue=name_of("maintain", settings),
        task_create_missing_queues=True,
        task_default_delivery_mode="transient",  # a lost message is sent again
        broker_transport_options=_transport(settings.broker),
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # for ever: the broker may be restarted
        broker_connection_timeout=5,
        worker_cancel_long_running_tasks_on_connection_loss=False,  # its lease is in the catalog, not in the broker
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        enable_utc=True,
        beat_schedule=schedule_of(settings),
        result_expires=None,  # there are no results to clean up
    )
    return app


def _transport(broker: str) -> dict[str, object]:
    if not broker.startswith(("redis", "rediss", "sentinel")):
        return {}
    return {
        "visibility_timeout": VISIBILITY_TIMEOUT,
        "socket_keepalive": True,
        "socket_connect_timeout": 5,
        "health_check_interval": 25,  # seconds; detects a connection that died silently
    }
