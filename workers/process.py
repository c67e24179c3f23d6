"""One worker process: ``python -m workers.process encode encode-1``. `indexer worker` starts and restarts these.

Settings come from the environment (INDEXER_…) and indexer.toml, never from the command line, which other users can read.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from contextlib import ExitStack

from celery.exceptions import WorkerTerminate
from celery.platforms import SecurityWarning
from celery.signals import worker_ready
from threadpoolctl import threadpool_limits

from indexer.log import configure, get_logger
from indexer.settings import Settings, load_settings
from workers.app import make_app
from workers.maintenance import ticking
from workers.messages import Sender
from workers.queues import Queue, name_of
from workers.resources import Resources
from workers.schedule import beating
from workers.tasks import add_tasks

POLL_INTERVAL_S = 1.0  # seconds
NICE = 10  # of training: searches and mining on the same machine have priority


def run(queue: Queue, name: str, settings: Settings) -> int:
    """Work on a queue until a signal ends it; returns the exit status.

    SIGTERM and SIGINT: the current batch is finished first. SIGQUIT: it is released.
    """
    resources = Resources(settings, queue)
    app = make_app(settings)
    sender = Sender(settings, app)
    add_tasks(app, resources, sender)
    # Gossip and mingle exchange data between workers that we do not need, and after a restart of Redis they may block a
    # worker for ever (celery#8030). Heartbeats are for Flower: without them a worker sends no events.
    worker = app.Worker(
        queues=[name_of(queue, settings)],
        pool="solo",
        concurrency=1,
        hostname=f"{name}@{os.uname().nodename}",
        without_gossip=True,
        without_mingle=True,
        loglevel="WARNING",
        quiet=True,
    )
    worker_ready.connect(_end_at_once_on_quit, weak=False)
    with ExitStack() as stack:
        stack.callback(resources.close)
        stack.enter_context(threadpool_limits(1, user_api="blas"))  # waiting BLAS threads spin
        if queue == "maintain":
            stack.enter_context(ticking(sender))
            stack.enter_context(beating(app))
        if queue == "train":
            os.nice(NICE)
        worker.start()
    return int(worker.exitcode or 0)


def _end_at_once_on_quit(**_: object) -> None:
    """At SIGQUIT, end in the middle of the work; the current batch or retrain is released on the way out.

    Celery's own handler, which this one replaces, calls the pool to end the task. `solo` cannot: its NotImplementedError
    would be raised in the middle of the task, and attributed to the document.
    """

    def end(number: int, frame: object) -> None:
        signal.signal(signal.SIGQUIT, signal.SIG_IGN)  # a second one would interrupt the release
        raise WorkerTerminate(os.EX_TEMPFAIL)

    signal.signal(signal.SIGQUIT, end)


def _end_with(parent: int) -> None:
    """Stop when the parent has ended: after a SIGKILL it cannot send a signal."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_INTERVAL_S)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def main(arguments: list[str]) -> int:
    queue, name = arguments
    # Of root and pickle: we take JSON only.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    settings = load_settings()
    configure(settings.log_level, format=settings.log_format)
    _end_with(os.getppid())
    get_logger(__name__).info("worker_started", name=name, pid=os.getpid())
    return run(queue, name, settings)  # type: ignore[arg-type]  # the supervisor knows the queues


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
