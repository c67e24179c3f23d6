"""Batches: documents that workers are mining.

A batch is a row here; the message in the broker only refers to it. A broker may lose all its messages, and a worker may
die at any moment: the row persists, and the maintaining worker sends its message again.

    created ──► prepare ──► encode ──► deleted, in the transaction that sets "mined" in the ledger
                  ▲ │          ▲ │
                  └─┴─ claimed ┴─┴─ released, or its lease has expired

A worker holds a lease on its batch and renews it. When the lease expires (or, on the same host, its process dies), the
batch is free again, and the death is counted: a batch that kills its workers is split, see `split`.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, tuple_, update

from indexer.catalog.database import now, storable
from indexer.catalog.dead_letters import DeadLetters
from indexer.catalog.entries import (
    BATCH_STATES,
    BatchState,
    BundleCandidate,
    Failure,
    Run,
    WaitingBatches,
    Work,
)
from indexer.catalog.ledger import Ledger
from indexer.catalog.locks import is_stale, this_process
from indexer.catalog.runs import Runs, new_run_id
from indexer.catalog.tables import BatchRow as B
from indexer.catalog.tables import DeadLetterRow as L
from indexer.catalog.tables import DocumentRow as D
from indexer.catalog.tables import LockRow
from indexer.catalog.tables import RunRow as R
from indexer.common import batches as chunks
from indexer.log import get_logger


def packed(candidates: Mapping[str, BundleCandidate]) -> bytes:
    """Document id ► candidates, as bytes."""
    plain = {id_: [c.content_hash, c.sentences, c.mentions] for id_, c in candidates.items()}
    return zlib.compress(json.dumps(plain, separators=(",", ":")).encode("ascii"), level=1)


def unpacked(data: bytes) -> dict[str, BundleCandidate]:
    """The other way round."""
    return {
        id_: BundleCandidate(hash_, tuple(map(tuple, sentences)), tuple(map(tuple, mentions)))
        for id_, (hash_, sentences, mentions) in json.loads(zlib.decompress(data)).items()
    }


LEASE = (
    120.0  # seconds without renewal after which a batch is free; a restart of the catalog's server takes less
)
FREE: Mapping[str, Any] = {"token": "", "pid": 0, "host": "", "boot": "", "birth": "", "expires_at": None}
NEW: Mapping[str, Any] = {
    **{"deaths": 0, "failures": 0, "tries": 0, "error": "", "not_before": None, "sent_at": None},
    **FREE,
}


@dataclass(frozen=True)
class Claim:
    """A batch that this process has claimed.

    Attributes:
        deaths: Number of holders that did not release it: they died, or lost the catalog for longer than a lease.
        failures: Number of unexpected errors.
        tries: Number of releases without success, for any reason.
    """

    id: str
    collection: str
    run: str
    state: BatchState
    ids: tuple[str, ...]
    candidates: Mapping[str, BundleCandidate]  # by document; empty before `prepare`
    deaths: int
    failures: int
    tries: int
    error: str  # of the last release
    token: str


@dataclass(frozen=True)
class BatchOutcome:
    """Outcome of a batch.

    Attributes:
        hashes: Mined: document id ► hash of the text that it was mined from.
        bundle: Of the encoder that made the vectors.
        changed: Documents to mine again, because their text has changed.
        missing: Documents that the engine does not have.
        failures: To be dead-lettered.
        topic_fit: Run of the fit that the mined documents have their topics from.
    """

    hashes: Mapping[str, str]
    bundle: str
    changed: Sequence[str] = ()
    missing: Sequence[str] = ()
    failures: Sequence[Failure] = ()
    topic_fit: str = ""


class Batches(Ledger, Runs, DeadLetters):
    # -- making ----------------------------------------------------------------------------------------------

    def create_batches(self, run: str, size: int, max_open: int) -> list[str]:
        """Create the next batches of stored documents, ascending by id, until `max_open` batches exist in all.

        Each document is batched once per run. A document with an open dead letter is skipped: it may kill its worker
        again, so it waits for `indexer retry`, or for another text. Two processes may call this concurrently.

        Returns:
            Ids of the new batches; empty when there is no room, or no document left.
        """
        with self._writing() as connection:
            row = connection.execute(
                select(R.collection, R.cut_to, R.state).where(R.id == run).with_for_update()
            ).one()
            if row.state != "running":  # another process has ended it
                return []
            room = max_open - connection.execute(select(func.count()).select_from(B)).scalar_one()
            if room <= 0:
                return []
            taken = self._batched_ids(connection, row.collection)
            query = _unbatched(row.collection, row.cut_to).order_by(D.id).limit(room * size + len(taken))
            ids = [id_ for (id_,) in connection.execute(query) if id_ not in taken][: room * size]
            if ids:
                connection.execute(update(R).where(R.id == run).values(cut_to=ids[-1]))
            return self._add(connection, row.collection, run, chunks(ids, size))

    def create_batches_of(self, run: str, ids: Sequence[str], size: int) -> list[str]:
        """Create batches of these documents of a run, before those that `create_batches` makes of the others.

        Returns:
            Ids of the new batches.
        """
        with self._writing() as connection:
            row = connection.execute(select(R.collection).where(R.id == run).with_for_update()).one()
            taken = self._batched_ids(connection, row.collection)
            query = _unbatched(row.collection, "").where(D.id.in_(ids)).order_by(D.id)
            free = [id_ for (id_,) in connection.execute(query) if id_ not in taken]
            return self._add(connection, row.collection, run, chunks(free, size))

    def batched_ids(self, collection: str) -> set[str]:
        """Return the documents that are in a batch now."""
        with self._reading() as connection:
            return self._batched_ids(connection, collection)

    def _batched_ids(self, connection: Connection, collection: str) -> set[str]:
        rows = connection.execute(select(B.ids).where(B.collection == collection))
        return {id_ for (ids,) in rows for id_ in ids}

    def _add(
        self, connection: Connection, collection: str, run: str, batches: Iterable[Sequence[str]]
    ) -> list[str]:
        at = now()
        rows = [
            {
                **{"id": new_run_id(), "collection": collection, "run": run, "state": "prepare"},
                **{"ids": list(ids), "candidates": None, "created_at": at},
                **NEW,
            }
            for ids in batches
        ]
        if rows:
            connection.execute(insert(B), rows)
        return [row["id"] for row in rows]

    # -- working ---------------------------------------------------------------------------------------------

    def claim(self, id: str, state: BatchState, *, lease: float = LEASE) -> Claim | None:
        """Claim a batch; None when it is in another state, not due, or held by another worker.

        Args:
            lease: Seconds until the claim expires.
        """
        token = secrets.token_hex(8)
        me = this_process()
        with self._writing() as connection:
            at = self._clock(connection)
            query = select(B.__table__).where(B.id == id, B.state == state)
            # A worker that has locked the row is claiming it: no reason to wait.
            row = connection.execute(query.with_for_update(skip_locked=True)).first()
            if row is None or not (_is_free(row, at) and _is_due(row, at)):
                return None
            deaths = row.deaths + bool(row.token)
            holder = {"pid": me.pid, "host": me.host, "boot": me.boot, "birth": me.birth}
            until = at + timedelta(seconds=lease)
            connection.execute(
                update(B).where(B.id == id).values(token=token, expires_at=until, deaths=deaths, **holder)
            )
        candidates = unpacked(bytes(row.candidates)) if row.candidates is not None else {}
        return Claim(
            row.id, row.collection, row.run, row.state, tuple(row.ids), candidates, deaths, row.failures,
            row.tries, row.error, token,
        )  # fmt: skip

    def renew_claim(self, claim: Claim, *, lease: float = LEASE) -> bool:
        """Extend a claim by `lease` seconds; False when another worker holds the batch now."""
        with self._writing() as connection:
            until = self._clock(connection) + timedelta(seconds=lease)
            statement = update(B).where(B.id == claim.id, B.token == claim.token)
            return connection.execute(statement.values(expires_at=until)).rowcount == 1

    def advance(
        self,
        claim: Claim,
        candidates: Mapping[str, BundleCandidate],
        *,
        missing: Sequence[str] = (),
        failures: Sequence[Failure] = (),
    ) -> bool:
        """Complete `prepare` and store the candidates for `encode`. A batch without candidates is finished.

        Returns:
            Whether there is something to encode; also False when another worker holds the batch now.
        """
        outcome = BatchOutcome({}, "", missing=missing, failures=failures)
        with self._writing() as connection:
            if not candidates:
                self._finish(connection, claim, outcome)
                return False
            statement = update(B).where(B.id == claim.id, B.token == claim.token)
            values = {"state": "encode", "ids": list(candidates), "candidates": packed(candidates), **NEW}
            if connection.execute(statement.values(values)).rowcount == 0:
                return False
            self._record_outcome(connection, claim, outcome, mined=0)
        return True

    def finish_batch(self, claim: Claim, outcome: BatchOutcome) -> list[str] | None:
        """Complete `encode` in one transaction: delete the batch, update the ledger, and dead-letter the failures.

        Returns:
            The new batch of documents to mine again, if any; None when another worker holds the batch now.
        """
        with self._writing() as connection:
            return self._finish(connection, claim, outcome)

    def release(self, claim: Claim, *, delay: float = 0.0, error: str = "", failed: bool = False) -> None:
        """Release a batch without success.

        Args:
            delay: Seconds before it may be claimed again.
            error: The reason, for `indexer status`.
            failed: Count it as an unexpected failure, which may repeat.
        """
        with self._writing() as connection:
            due = self._clock(connection) + timedelta(seconds=delay) if delay else None
            statement = update(B).where(B.id == claim.id, B.token == claim.token)
            values = {
                **{"not_before": due, "sent_at": None, "error": storable(error)},
                **{"tries": B.tries + 1, "failures": B.failures + int(failed)},
                **FREE,
            }
            connection.execute(statement.values(values))

    def split(self, claim: Claim) -> list[str]:
        """Split a batch into one per document, from the beginning, so that one document cannot harm the others.

        Returns:
            Ids of the new batches; empty when another worker holds the batch now.
        """
        with self._writing() as connection:
            gone = connection.execute(delete(B).where(B.id == claim.id, B.token == claim.token))
            if gone.rowcount == 0:
                return []
            return self._add(connection, claim.collection, claim.run, [[id_] for id_ in claim.ids])

    def _finish(self, connection: Connection, claim: Claim, outcome: BatchOutcome) -> list[str] | None:
        gone = connection.execute(delete(B).where(B.id == claim.id, B.token == claim.token))
        if gone.rowcount == 0:
            return None
        ours = update(D).where(D.collection == claim.collection)
        # By hash: a reader may have recorded another text since, which is not mined yet.
        pairs = sorted(outcome.hashes.items())
        mined = ours.where(tuple_(D.id, D.content_hash).in_(pairs))
        done = connection.execute(
            mined.values(state="mined", bundle=outcome.bundle, topic_fit=outcome.topic_fit, updated_at=now())
        ).rowcount
        if outcome.changed:
            again = ours.where(D.id.in_(outcome.changed))
            connection.execute(again.values(state="stored", updated_at=now()))
        self._record_outcome(connection, claim, outcome, mined=done)
        return self._add(
            connection, claim.collection, claim.run, [outcome.changed] if outcome.changed else []
        )

    def _record_outcome(
        self, connection: Connection, claim: Claim, outcome: BatchOutcome, *, mined: int
    ) -> None:
        """Forget missing documents, dead-letter failures, and add to the counts of the run."""
        self._forget(connection, claim.collection, outcome.missing)
        self._dead_letter(connection, claim.collection, outcome.failures)
        row = connection.execute(select(R.counts).where(R.id == claim.run).with_for_update()).first()
        counts: dict[str, Any] = dict(row.counts) if row else {}
        counts["mined"] = counts.get("mined", 0) + mined
        counts["failed"] = counts.get("failed", 0) + len(outcome.failures)
        if outcome.bundle:
            counts["bundle"] = outcome.bundle
        connection.execute(update(R).where(R.id == claim.run).values(counts=counts))

    # -- maintenance ---------------------------------------------------------------------------------------

    def waiting(self) -> list[WaitingBatches]:
        """Return the free batches that are due, those first whose message is the oldest."""
        with self._reading() as connection:
            at = self._clock(connection)
            rows = [
                row
                for row in connection.execute(_without_candidates())
                if _is_free(row, at) and _is_due(row, at)
            ]
        rows.sort(key=lambda row: (row.sent_at is not None, row.sent_at or at, row.id))
        ages = [(at - row.sent_at).total_seconds() if row.sent_at else None for row in rows]
        return [
            WaitingBatches(row.id, row.collection, row.state, age)
            for row, age in zip(rows, ages, strict=True)
        ]

    def mark_sent(self, ids: Iterable[str]) -> None:
        """Record that the messages of these batches were sent now."""
        with self._writing() as connection:
            at = self._clock(connection)
            connection.execute(update(B).where(B.id.in_(list(ids))).values(sent_at=at))

    def is_complete(self, run: str) -> bool:
        """Return whether no batch of a run is left, and no document to batch."""
        with self._reading() as connection:
            row = connection.execute(select(R.collection, R.cut_to).where(R.id == run)).one()
            batch = select(B.id).where(B.run == run).limit(1)
            left = (
                connection.execute(batch).first()
                or connection.execute(_unbatched(row.collection, row.cut_to).limit(1)).first()
            )
        return left is None

    def open_runs(self, collection: str | None = None, *, retrains: bool = False) -> list[Run]:
        """Return the unfinished runs of workers, oldest first.

        Args:
            retrains: Only retrains; otherwise all other kinds, which consist of batches.
        """
        kind = R.kind == "retrain" if retrains else R.kind != "retrain"
        query = select(R.id).where(R.state == "running", R.pid == 0, kind).order_by(R.id)
        if collection is not None:
            query = query.where(R.collection == collection)
        with self._reading() as connection:
            ids = [id_ for (id_,) in connection.execute(query)]
        return [self.run(id_) for id_ in ids]

    def end_abandoned_runs(self, collection: str) -> list[str]:
        """End the runs that no worker works on, and delete their batches; the caller does the rest of their work.

        Returns:
            Their ids. Runs with a claimed batch stay with the workers, and so do retrains.
        """
        ended = [run.id for run in self.open_runs(collection) if self._end_abandoned_run(run.id)]
        for id_ in ended:
            get_logger(__name__).info("run_taken_from_workers", run=id_)
        return ended

    def end_everything(self) -> None:
        """In a copy that was restored: end all runs and locks of the processes that use the original.

        What their batches held is still "stored", so the next run mines it.
        """
        with self._writing() as connection:
            connection.execute(delete(LockRow))
            connection.execute(delete(B))
            ended = {"state": "interrupted", "finished_at": now()}
            connection.execute(update(R).where(R.finished_at.is_(None)).values(ended))

    def _end_abandoned_run(self, run: str) -> bool:
        with self._writing() as connection:
            connection.execute(
                select(R.id).where(R.id == run).with_for_update()
            )  # no batches are created concurrently
            at = self._clock(connection)
            batches = connection.execute(_without_candidates().where(B.run == run).with_for_update()).all()
            if not all(_is_free(row, at) for row in batches):
                return False
            connection.execute(delete(B).where(B.run == run))
            values = {"state": "interrupted", "finished_at": now(), "error": "Resumed without workers."}
            connection.execute(update(R).where(R.id == run, R.state == "running").values(**values))
        return True

    def work(self, collection: str) -> Work:
        """Return the batches of a collection by state, and their holders."""
        with self._reading() as connection:
            at = self._clock(connection)
            rows = connection.execute(_without_candidates().where(B.collection == collection)).all()
        held = [row for row in rows if not _is_free(row, at)]
        free = [row for row in rows if _is_free(row, at)]
        return Work(
            waiting={s: sum(r.state == s and _is_due(r, at) for r in free) for s in BATCH_STATES},
            held={s: sum(r.state == s for r in held) for s in BATCH_STATES},
            delayed=sum(not _is_due(row, at) for row in free),
            documents=sum(len(row.ids) for row in rows),
            holders=tuple(sorted({f"{row.host}:{row.pid}" for row in held})),
            problems=tuple(sorted({row.error for row in rows if row.error})),
        )


def _unbatched(collection: str, cut_to: str) -> Select[Any]:
    """Select the ids of documents that a run has not batched yet."""
    dead = (
        select(L.row)
        .where(L.collection == collection, L.document_id == D.id, L.resolved_at.is_(None))
        .where(L.stage.in_(BATCH_STATES))
    )
    return select(D.id).where(D.collection == collection, D.state == "stored", D.id > cut_to, ~dead.exists())


def _without_candidates() -> Select[Any]:
    """Select all columns of a batch except its candidates."""
    return select(*(column for column in B.__table__.columns if column.name != "candidates"))


def _is_free(row: Row[Any], at: datetime) -> bool:
    return not row.token or is_stale(row, at)


def _is_due(row: Row[Any], at: datetime) -> bool:
    return row.not_before is None or bool(row.not_before <= at)
