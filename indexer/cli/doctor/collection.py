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
    info = collection.engine.info()
    yield Check("engine", "OK", f"{info.description}, {size(info.bytes)}")
    for problem in collection.engine.problems(full=True):
        yield Check("engine", "FAIL" if problem.fatal else "WARN", problem.found, problem.hint)


@guarded("integrity")
def integrity(app: App, collection: Collection, *, deep: bool) -> Found:
    """Whether rows are what was written: a sample of the vectors, or everything."""
    from indexer.runs.repair import compare, damage_of_fit

    name, catalog = collection.name, collection.catalog
    damage = collection.engine.damage(deep=deep)
    found = [*damage.found, damage_of_fit(catalog, name)]
    holder = catalog.lock_holder(name)
    if damage.beyond_repair:
        for fault in filter(None, found):
            yield Check("integrity", "FAIL", fault, app.completed(damage.beyond_repair))
        return
    if deep and holder:
        yield Check("integrity", "WARN", f"documents are not compared: {holder} writes", "Try again later.")
    elif deep:
        found += compare(collection.engine, catalog, name).found
    for fault in filter(None, found):
        yield Check("integrity", "FAIL", fault, f"Repair it: {app.again('doctor --repair')}")
    if not any(found):
        extent = "all rows are" if deep else "sampled rows are"
        yield Check("integrity", "OK", f"{extent} what was written")


@guarded("repair")
def repaired(app: App, collection: Collection) -> Found:
    """Look for all damage, and repair what can be repaired."""
    import shlex

    from indexer.cli.output import working

    with working(app) as progress:
        done = collection.repair(progress=progress)
    for fault in done.found:
        yield Check("repair", "OK", fault)
    mined = f"{count(done.mined, 'document')} mined again" if done.mined else ""
    yield Check("repair", "OK", mined or ("written again" if done.found else "nothing was damaged"))
    if done.sources:
        yield Check(
            "repair", "WARN", "some texts are lost or altered, and only their files have them",
            f"Index them again: {app.again(shlex.join(['index', *done.sources]))}",
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
