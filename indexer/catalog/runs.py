"""Runs: each recorded call, its process and its outcome."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, insert, select, update

from indexer.catalog.database import now, storable
from indexer.catalog.entries import Run, RunState
from indexer.catalog.locks import Lock, Locks, Process, this_process, this_user
from indexer.catalog.tables import RunRow as R
from indexer.errors import NotFound

DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32, ascending in ASCII


class Runs(Locks):
    def start_run(
        self,
        collection: str,
        kind: str,
        options: Mapping[str, Any],
        *,
        lock: Lock | None = None,
        detached: bool = False,
    ) -> str:
        """Record that a run begins; returns its id, which sorts by time.

        Args:
            kind: The command's name: "index", "retrain" …
            lock: The lock that it holds. A run without its lock is over, whatever host it was on.
            detached: Workers do the work: it continues when this process ends.
        """
        process = Process(0, "", "", "") if detached else this_process()
        run = new_run_id()
        values = {
            "id": run,
            "collection": collection,
            "kind": kind,
            "state": "running",
            "started_at": now(),
            "finished_at": None,
            "options": dict(options),
            "counts": {},
            "error": "",
            "pid": process.pid,
            "host": process.host,
            "boot": process.boot,
            "birth": process.birth,
            "lock_token": lock.token if lock else "",
            "cut_to": "",
            "started_by": this_user(),
        }
        with self._writing() as connection:
            connection.execute(insert(R).values(values))
        return run

    def resume_run(self, id: str, lock: Lock) -> None:
        """Record that this process resumes an interrupted run."""
        me = this_process()
        values = {"pid": me.pid, "host": me.host, "boot": me.boot, "birth": me.birth}
        with self._writing() as connection:
            again = update(R).where(R.id == id)
            connection.execute(
                again.values(state="running", finished_at=None, lock_token=lock.token, **values)
            )

    def detach_run(self, id: str, counts: Mapping[str, Any]) -> None:
        """Record that workers continue a run: it outlives this process and its lock.

        Args:
            counts: Of the work so far; workers add to it.
        """
        with self._writing() as connection:
            values = {"pid": 0, "host": "", "boot": "", "birth": "", "lock_token": "", "counts": dict(counts)}
            connection.execute(update(R).where(R.id == id).values(values))

    def add_options(self, id: str, more: Mapping[str, Any]) -> None:
        """Add to the options of a run that has begun."""
        with self._writing() as connection:
            options = connection.scalar(select(R.options).where(R.id == id).with_for_update())
            connection.execute(update(R).where(R.id == id).values(options={**(options or {}), **more}))

    def finish_run(self, id: str, state: RunState, counts: Mapping[str, Any], error: str = "") -> None:
        """Record how a run ended.

        Raises:
            NotFound: There is no such run.
        """
        statement = update(R).where(R.id == id)
        with self._writing() as connection:
            done = connection.execute(
                statement.values(state=state, counts=dict(counts), error=storable(error), finished_at=now())
            )
            if done.rowcount == 0:
                raise NotFound(f"There is no run '{id}'.")

    def run(self, id: str) -> Run:
        """Return a run. One whose process ended without recording it is "interrupted", as in `runs`.

        Raises:
            NotFound: There is no such run.
        """
        with self._reading() as connection:
            row = connection.execute(select(R.__table__).where(R.id == id)).mappings().first()
            held = self._held_tokens(connection)
        if row is None:
            raise NotFound(f"There is no run '{id}'.")
        return _run(row, held)

    def runs(self, collection: str, limit: int = 20, *, kinds: Sequence[str] = ()) -> list[Run]:
        """Return the last runs, newest first.

        Args:
            kinds: Only runs of these kinds.
        """
        query = select(R.__table__).where(R.collection == collection).order_by(R.id.desc()).limit(limit)
        if kinds:
            query = query.where(R.kind.in_(kinds))
        with self._reading() as connection:
            held = self._held_tokens(connection)
            return [_run(row, held) for row in connection.execute(query).mappings()]

    def run_kinds(self, ids: Collection[str]) -> dict[str, str]:
        """Map run ids to kinds; unknown ids are skipped."""
        query = select(R.id, R.kind).where(R.id.in_(ids))
        with self._reading() as connection:
            return {row.id: row.kind for row in connection.execute(query)}

    def interrupted_runs(self, collection: str | None = None) -> list[Run]:
        """Mark runs that ended without recording it as interrupted, and return them, oldest first.

        A run has ended when its process on this host is dead, or when its lock is not held. Runs on another host
        without a lock are not touched: whether they live is unknown here.
        """
        query = select(R.__table__).where(R.state == "running").order_by(R.id).with_for_update()
        if collection is not None:
            query = query.where(R.collection == collection)
        with self._writing() as connection:
            rows = connection.execute(query).mappings().all()
            held = self._held_tokens(connection)
            dead = [row["id"] for row in rows if _is_over(row, held)]
            if dead:
                connection.execute(
                    update(R).where(R.id.in_(dead)).values(state="interrupted", finished_at=now())
                )
        return [self.run(id_) for id_ in dead]


def new_run_id() -> str:
    """Return a ULID: 48 bits of time in ms and 80 random bits, in 26 characters; ascending in one process."""
    global _last
    with _lock:
        _last = max(_last + 1, (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80))
        number = _last
    return _run_id(number)


def run_id_at(moment: datetime) -> str:
    """Return an id that sorts after all runs that began before a moment, and before all later ones."""
    return _run_id(int(moment.timestamp() * 1_000) << 80)


def _run_id(number: int) -> str:
    return "".join(DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


_last = 0
_lock = threading.Lock()


def _is_over(row: RowMapping, held: set[str]) -> bool:
    """Return whether no process works on a running run; `held` are the tokens of the held locks."""
    process = Process(row["pid"], row["host"], row["boot"], row["birth"])
    return process.is_probably_dead() or bool(row["lock_token"] and row["lock_token"] not in held)


def _run(row: RowMapping, held: set[str]) -> Run:
    run = Run(**{name: row[name] for name in Run.__dataclass_fields__})
    return replace(run, state="interrupted") if run.state == "running" and _is_over(row, held) else run
