"""Checks of one collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indexer.cli.app import App
from indexer.cli.doctor.checks import Check, Found, guarded
from indexer.export.formatting import count, size

if TYPE_CHECKING:
    from indexer.collection import Collection
    from indexer.engines.generations import Generation, Generations


OWNER = "indexer doctor"


@guarded("generations")
def generations(app: App, collection: Collection, *, remove: bool = False) -> Found:
    from contextlib import closing

    from indexer.engines.registry import open_generations

    with closing(open_generations(collection.settings)) as generations:
        found = generations.all()
        live = next((generation.number for generation in found if generation.state == "live"), 0)
        kept = sum(generation.state == "kept" for generation in found)
        yield Check("generations", "OK", f"{live} is live{f', {kept} kept' if kept else ''}")
        for one in found:
            if one.state != "unfinished":
                continue
            if remove:
                yield _removed(collection, generations, one)
            elif not _is_building(collection):
                yield Check(
                    "generations",
                    "WARN",
                    f"{one.number} was left unfinished, {size(one.bytes)}",
                    f"Resume it: {app.again('retrain')}. Or remove it: "
                    f"{app.again('doctor --remove-unfinished')}",
                )


def _removed(collection: Collection, generations: Generations, one: Generation) -> Check:
    """Remove an unfinished generation; who builds it holds a lock, and that is an error."""
    from indexer.pipeline.next_generation import discard

    discard(generations, collection.catalog, collection.name, one.number, OWNER)
    return Check("generations", "OK", f"{one.number} was left unfinished, and is removed: {size(one.bytes)}")


def _is_building(collection: Collection) -> bool:
    """Whether a process builds a generation; workers hold no lock between two messages."""
    from indexer.catalog.locks import retraining

    catalog, name = collection.catalog, collection.name
    holders = (catalog.lock_holder(lock) for lock in (name, retraining(name)))
    return any(holders) or bool(catalog.open_runs(name, retrains=True))


@guarded("engine")
def engine(collection: Collection) -> Found:
    import sqlite3
    from contextlib import closing

    from indexer import read_only
    from indexer.engines.local import LocalEngine

    info = collection.engine.info()
    yield Check("engine", "OK", f"{info.description}, {size(info.bytes)}")
    for problem in collection.engine.problems(full=True):
        yield Check("engine", "FAIL" if problem.fatal else "WARN", problem.found, problem.hint)
    if not isinstance(collection.engine, LocalEngine):
        return
    file = collection.engine.path / "collection.sqlite"
    try:
        with closing(read_only.connect(file, sqlite3.Connection)) as connection:
            (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        answer = str(error)
    if answer == "ok":
        yield Check("integrity", "OK", "quick_check finds no fault")
    else:
        yield Check(
            "integrity", "FAIL", f"{file} is damaged: {answer}",
            f"Put back a copy of {collection.settings.home}, or move it away and index again.",
        )  # fmt: skip


@guarded("counts")
def counts(app: App, collection: Collection) -> Found:
    states = collection.catalog.count(collection.name)
    ledger, stored = sum(states.values()), collection.engine.info().documents
    if ledger != stored:
        yield Check(
            "counts", "WARN", f"the engine has {count(stored, 'document')}, the catalog knows of {ledger:,}",
            f"Index the same sources again: {app.again('index SOURCE')}",
        )  # fmt: skip
    elif unfinished := states["stored"] + states["mined"]:
        yield Check(
            "counts", "WARN", f"{unfinished:,} of {count(ledger, 'document')} not finished",
            f"Resume: {app.again('retry')}",
        )  # fmt: skip
    else:
        yield Check("counts", "OK", f"{count(ledger, 'document')}, all finished")


@guarded("runs")
def runs(app: App, collection: Collection) -> Found:
    holder = collection.catalog.lock_holder(collection.name)
    if holder:
        yield Check("lock", "OK", f"held by {holder}", "Others wait until it is done.")
    else:
        yield Check("lock", "OK", "free")
        collection.catalog.interrupted_runs(collection.name)
    runs = collection.catalog.runs(collection.name, 1)
    if not runs:
        yield Check("last run", "OK", "none yet")
        return
    last = runs[0]
    about = f"{last.kind}, {last.state}{f': {last.error}' if last.error else ''}"
    if last.state in ("failed", "interrupted"):
        yield Check("last run", "WARN", about, "Repeat the same command: it resumes.")
    else:
        yield Check("last run", "OK", about)


@guarded("dead letters")
def letters(app: App, collection: Collection) -> Found:
    dead = sum(collection.catalog.dead_counts(collection.name).values())
    if dead:
        hint = f"See them: {app.again('status --dead')}. Try them again: {app.again('retry')}"
        yield Check("dead letters", "WARN", f"{dead:,}", hint)
    else:
        yield Check("dead letters", "OK", "none")
