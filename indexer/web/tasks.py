"""Work that takes longer than a request: run one task at a time in a thread, with a state to poll.

Of several processes each runs the tasks that it was given, all in the order in which they came, and each knows the state
of all. Tasks are kept as long as the server lives. Their results are in the catalog, and outlive it.
"""

from __future__ import annotations

import contextvars
import json
import queue
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from indexer.errors import CatalogError, IndexerError
from indexer.log import get_logger
from indexer.protocols import Progress
from indexer.web.errors import Refusal, hint_of
from indexer.web.server_state import ServerState, is_dead

MAX_QUEUED = 100
KEPT = 500  # of the tasks that are done
PATIENCE = 1_800.0  # seconds that a task waits for another process that is writing
POLL_INTERVAL_S = 1.0
TURN_INTERVAL_S = 0.1  # between two looks at whether the tasks of other processes have ended
REPORT_INTERVAL_S = 0.2  # progress within a stage is written no more often
UNFINISHED = "state IN ('waiting', 'running')"
ENDING = 10.0  # seconds that what is under way may take to stop

STOPPED = "The server was stopped. The same request resumes the task."

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
    """Does tasks in the order in which they come.

    Args:
        state: Of the server: what all its processes know of all tasks.
    """

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._waiting: queue.Queue[tuple[Task, Work, contextvars.Context] | None] = queue.Queue()
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
        task = Task(secrets.token_hex(8), kind, datetime.now(UTC), about=about, documents=list(documents))
        with self._state.changing() as connection:
            owners = connection.execute("SELECT owner FROM tasks WHERE state = 'waiting'").fetchall()
            if len(owners) >= MAX_QUEUED and sum(not is_dead(owner) for (owner,) in owners) >= MAX_QUEUED:
                raise Refusal(503, f"{MAX_QUEUED} tasks are waiting already.", hint="Come back later.")
            number = connection.execute(
                "INSERT INTO tasks(id, owner, state, task) VALUES (?, ?, ?, ?)",
                (task.id, self._state.owner, task.state, _packed(task)),
            ).lastrowid
            connection.execute(
                f"DELETE FROM tasks WHERE number <= ? AND NOT {UNFINISHED}", ((number or 0) - KEPT,)
            )
        # With the context of the request, so that log lines of the work have its id.
        self._waiting.put((replace(task), work, contextvars.copy_context()))
        return task

    def get(self, id_: str) -> Task | None:
        found = self._read("WHERE id = ?", id_)
        return found[0] if found else None

    def all(self, limit: int = -1) -> list[Task]:
        """Newest first."""
        return self._read("ORDER BY number DESC LIMIT ?", limit)

    def last(self) -> str:
        """The id of the one that ended last; empty when none has."""
        with self._state.reading() as connection:
            row = connection.execute(
                f"SELECT id FROM tasks WHERE NOT {UNFINISHED} ORDER BY number DESC LIMIT 1"
            ).fetchone()
        return str(row[0]) if row else ""

    def claim(self, upload: str) -> bool:
        """Whether this process shall store an upload; see `ServerState.claim`."""
        return self._state.claim(upload)

    def close(self) -> None:
        """Interrupt the running task; waiting tasks are not started."""
        self._stop.set()
        self._waiting.put(None)
        self._thread.join(ENDING)

    def _read(self, where: str, value: str | int) -> list[Task]:
        with self._state.reading() as connection:
            rows = connection.execute(f"SELECT task, owner FROM tasks {where}", (value,)).fetchall()
        return [_unpacked(task, owner) for task, owner in rows]

    def _write(self, task: Task) -> None:
        with self._state.changing() as connection:
            connection.execute(
                "UPDATE tasks SET state = ?, task = ? WHERE id = ?", (task.state, _packed(task), task.id)
            )

    def _go(self) -> None:
        while (item := self._waiting.get()) is not None and not self._stop.is_set():
            task, work, context = item
            while not self._is_next(task):
                if self._stop.wait(TURN_INTERVAL_S):
                    return
            context.run(self._do, task, work)

    def _is_next(self, task: Task) -> bool:
        """Whether no process that lives has an earlier task to do."""
        with self._state.reading() as connection:
            owners = connection.execute(
                f"SELECT owner FROM tasks WHERE {UNFINISHED} AND number < (SELECT number FROM tasks WHERE id = ?)",
                (task.id,),
            ).fetchall()
        return all(is_dead(owner) for (owner,) in owners)

    def _do(self, task: Task, work: Work) -> None:
        reported = 0.0

        def progress(stage: str, done: int, total: int | None) -> None:
            nonlocal reported
            if self._stop.is_set():
                raise Stopped
            if stage.startswith("note: "):
                return
            now, before = time.monotonic(), task.stage
            task.stage, task.done, task.total = stage, done, total
            if stage != before or now - reported >= REPORT_INTERVAL_S:
                reported = now
                self._write(task)

        task.state = "running"
        self._write(task)
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
            task.state, task.error = "stopped", STOPPED
        except Exception:  # of one task: the others behind it are still done
            logger.exception("task_failed", task=task.id, kind=task.kind)
            task.state, task.error = "failed", "It could not be done. The log says why."
        task.ended = datetime.now(UTC)
        self._write(task)
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
                self._write(task)
            if self._stop.wait(POLL_INTERVAL_S):
                raise Stopped


def _packed(task: Task) -> str:
    times = {"asked": task.asked.isoformat(), "ended": task.ended and task.ended.isoformat()}
    return json.dumps({**asdict(task), **times}, default=str)


def _unpacked(packed: str, owner: str) -> Task:
    """A task as its process has written it; of a process that was killed, a stopped one."""
    row = json.loads(packed)
    times = {name: row[name] and datetime.fromisoformat(row[name]) for name in ("asked", "ended")}
    task = Task(**{**row, **times})
    if task.ended is None and is_dead(owner):
        task.state, task.error = "stopped", STOPPED
    return task
