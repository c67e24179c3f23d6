"""Work that takes longer than a request: run one task at a time in a thread, with a state to poll.

Tasks are kept as long as the server lives. Their results are in the catalog, and outlive it.
"""

from __future__ import annotations

import contextvars
import queue
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from indexer.errors import CatalogError, IndexerError
from indexer.log import get_logger
from indexer.protocols import Progress
from indexer.web.errors import Refusal, hint_of

MAX_QUEUED = 100
KEPT = 500  # of the tasks that are done
PATIENCE = 1_800.0  # seconds that a task waits for another process that is writing
POLL_INTERVAL_S = 1.0
ENDING = 10.0  # seconds that what is under way may take to stop

State = Literal["waiting", "running", "done", "failed", "stopped"]
Result = dict[str, Any]
Work = Callable[[Progress], Result]

logger = get_logger(__name__)


@dataclass
class Task:
    """One piece of work."""

    id: str
    kind: str
    asked: datetime
    state: State = "waiting"
    stage: str = ""
    done: int = 0
    total: int | None = None
    result: Result = field(default_factory=dict)
    error: str = ""
    ended: datetime | None = None
    about: str = ""  # a file, a document; empty where the kind says all
    documents: Sequence[str] = ()  # ids of what it is about

    @property
    def failed(self) -> int:
        """How many documents could not be processed."""
        return int(self.result.get("failed") or 0)


class Stopped(KeyboardInterrupt):
    """The server ends. It interrupts runs, which resume later."""


class Tasks:
    """Does tasks in the order in which they come."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, Task] = OrderedDict()
        self._waiting: queue.Queue[tuple[Task, Work, contextvars.Context] | None] = queue.Queue(MAX_QUEUED)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._go, name="tasks", daemon=True)
        self._thread.start()

    def add(self, kind: str, work: Work, *, about: str = "", documents: Sequence[str] = ()) -> Task:
        """Have something done.

        Args:
            about: What it is done with: a file, a document.
            documents: Their ids, where they are known already; otherwise the work says them under this name.

        Raises:
            Refusal: Too much is waiting.
        """
        task = Task(secrets.token_hex(8), kind, datetime.now(UTC), about=about, documents=documents)
        try:
            # With the context of the request, so that log lines of the work have its id.
            self._waiting.put_nowait((task, work, contextvars.copy_context()))
        except queue.Full:
            raise Refusal(503, f"{MAX_QUEUED} tasks are waiting already.", hint="Come back later.") from None
        self._tasks[task.id] = task
        for id_ in [id_ for id_, one in self._tasks.items() if one.ended][: max(0, len(self._tasks) - KEPT)]:
            del self._tasks[id_]
        return task

    def get(self, id_: str) -> Task | None:
        return self._tasks.get(id_)

    def all(self) -> list[Task]:
        """Newest first."""
        return list(reversed(list(self._tasks.values())))

    def last(self) -> Task | None:
        """The one that ended last."""
        return next((task for task in self.all() if task.state not in ("waiting", "running")), None)

    def close(self) -> None:
        """Interrupt the running task; waiting tasks are not started."""
        self._stop.set()
        with suppress(queue.Full):  # then there is an item that wakes the thread
            self._waiting.put_nowait(None)
        self._thread.join(ENDING)

    def _go(self) -> None:
        while (item := self._waiting.get()) is not None and not self._stop.is_set():
            task, work, context = item
            context.run(self._do, task, work)

    def _do(self, task: Task, work: Work) -> None:
        def progress(stage: str, done: int, total: int | None) -> None:
            if self._stop.is_set():
                raise Stopped
            if not stage.startswith("note: "):
                task.stage, task.done, task.total = stage, done, total

        task.state = "running"
        logger.info("task_begun", task=task.id, kind=task.kind)
        try:
            result = self._retry(task, lambda: work(progress))
            task.documents = result.pop("documents", task.documents)
            task.result = result
            task.state = "done"
        except IndexerError as error:
            task.state, task.error = "failed", f"{error} {hint_of(error)}".strip()
            logger.warning("task_refused", task=task.id, reason=str(error), hint=error.hint)
        except Stopped:
            task.state, task.error = "stopped", "The server was stopped. The same request resumes the task."
        except Exception:  # of one task: the others behind it are still done
            logger.exception("task_failed", task=task.id, kind=task.kind)
            task.state, task.error = "failed", "It could not be done. The log says why."
        task.ended = datetime.now(UTC)
        logger.info(
            "task_ended", task=task.id, state=task.state, run=task.result.get("run", ""), error=task.error
        )

    def _retry(self, task: Task, work: Callable[[], Result]) -> Result:
        """Retry while another process is writing to the collection."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return work()
            except CatalogError as error:
                if "holder" not in error.facts or time.monotonic() > until:
                    raise
                task.stage, task.done, task.total = f"wait for {error.facts['holder']}", 0, None
            if self._stop.wait(POLL_INTERVAL_S):
                raise Stopped
