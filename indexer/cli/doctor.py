"""indexer doctor: each check is a function that yields what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import click

from indexer.cli.app import App, command, is_there, json_option, pass_app
from indexer.cli.text import clean, count, print_json, say, size, table

if TYPE_CHECKING:
    from indexer.collection import Collection
    from indexer.settings import Settings
    from models.bundle import Bundle

State = Literal["OK", "WARN", "FAIL"]

COLOURS = {"OK": "green", "WARN": "yellow", "FAIL": "red"}
LITTLE_SPACE, NO_SPACE = 2e9, 100e6  # bytes
SHOWN_PACKAGES = ("torch", "onnxruntime", "spacy", "numpy", "scikit-learn", "sqlalchemy")
PROBE = "The quick brown fox jumps over the lazy dog near the old stone bridge. " * 2  # about 30 word pieces
PROBE_TEXTS = 64


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    found: str
    hint: str = ""


Found = Iterator[Check]


@command()
@json_option
@pass_app
def doctor(app: App, as_json: bool) -> None:
    """Check installation, home, collection and encoder.

    Each line is OK, WARN (it works, and something should be known) or FAIL. Exits with 1 when a check failed.

    \b
    Examples:
      indexer doctor
      indexer doctor --json
    """
    settings = app.settings()
    found: list[Check] = []
    with ExitStack() as stack:
        for check in [*_of_machine(settings), *_of_collection(app, settings, stack)]:
            found += check()
    if as_json:
        print_json([{"check": c.name, **{k: v for k, v in asdict(c).items() if k != "name"}} for c in found])
    else:
        say(rendered(found))
    if any(check.state == "FAIL" for check in found):
        click.get_current_context().exit(1)


def rendered(found: list[Check]) -> str:
    """Checks, one on a line, the hint below."""
    rows = [
        (click.style(check.state, fg=COLOURS[check.state]), check.name,
         clean(check.found) + (f"\n{clean(check.hint)}" if check.hint else ""))
        for check in found
    ]  # fmt: skip
    failed, warned = (sum(check.state == state for check in found) for state in ("FAIL", "WARN"))
    end = (
        f"{count(failed, 'check')} failed, {count(warned, 'warning')}" if failed or warned else "all is well"
    )
    return f"{table(rows)}\n\n{end}"


Step = Callable[[], Found]


def _of_machine(settings: Settings) -> Iterator[Step]:
    yield _python
    yield _packages
    yield lambda: _home(settings)
    yield _sqlite
    yield lambda: _threads(settings)
    yield lambda: _tagger(settings)
    yield lambda: _encoder(settings)
    if settings.broker:
        yield lambda: _broker(settings)


def _of_collection(app: App, settings: Settings, stack: ExitStack) -> Iterator[Step]:
    if settings.engine != "local":
        server = list(_server(settings))
        yield lambda: iter(server)
        if any(check.state == "FAIL" for check in server):
            return
    if not is_there(settings):
        hint = f"Make one: {app.again('index SOURCE')}"
        yield lambda: iter([Check("collection", "OK", f"none yet in {settings.home}", hint)])
        return
    opened = _opened(app, settings, stack)
    if isinstance(opened, Check):
        yield lambda: iter([opened])
        return
    yield lambda: _generations(app, opened)
    yield lambda: _catalog(opened)
    yield lambda: _engine(opened)
    yield lambda: _counts(app, opened)
    yield lambda: _runs(app, opened)
    yield lambda: _letters(app, opened)


def _guarded(name: str, hint: str = "") -> Callable[[Callable[..., Found]], Callable[..., Found]]:
    """Turn our errors inside a check into FAIL: the other checks go on."""

    def wrap(check: Callable[..., Found]) -> Callable[..., Found]:
        def guarded(*args: object) -> Found:
            from indexer.errors import IndexerError

            try:
                yield from check(*args)
            except IndexerError as error:
                yield Check(name, "FAIL", str(error), error.hint or hint)

        return guarded

    return wrap


# -- the machine --------------------------------------------------------------------------------------------


def _python() -> Found:
    import platform
    import sys

    enough = sys.version_info >= (3, 11)
    yield Check(
        "python",
        "OK" if enough else "FAIL",
        f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "" if enough else "Python 3.11 or newer is needed.",
    )


def _packages() -> Found:
    import re
    from importlib.metadata import PackageNotFoundError, requires, version

    def installed(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return ""

    wanted = [line for line in requires("indexer") or [] if "extra ==" not in line]
    names = [match[0] for line in wanted if (match := re.match(r"[A-Za-z0-9._-]+", line))]
    missing = [name for name in names if not installed(name)]
    shown = ", ".join(f"{name} {installed(name)}" for name in SHOWN_PACKAGES if installed(name))
    if missing:
        yield Check(
            "packages", "FAIL", f"not installed: {', '.join(missing)}", f"pip install {' '.join(missing)}"
        )
    else:
        yield Check("packages", "OK", f"indexer {installed('indexer')}, {shown}")


def _home(settings: Settings) -> Found:
    import shutil
    from tempfile import TemporaryFile

    home = settings.home.absolute()
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    try:
        with TemporaryFile(dir=there):
            pass
        yield Check("home", "OK", f"{home}{'' if there == home else ' (made when it is needed)'}")
    except OSError as error:
        yield Check(
            "home", "FAIL", f"{home} cannot be written: {error.strerror}",
            "Change its permissions, or choose another folder: --home PATH or INDEXER_HOME.",
        )  # fmt: skip
    free = shutil.disk_usage(there).free
    state: State = "FAIL" if free < NO_SPACE else "WARN" if free < LITTLE_SPACE else "OK"
    yield Check(
        "disk", state, f"{size(free)} free", "" if state == "OK" else "Free some space: a run needs room."
    )


def _sqlite() -> Found:
    import sqlite3

    with sqlite3.connect(":memory:") as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
            yield Check("sqlite", "OK", f"{sqlite3.sqlite_version}, with FTS5")
        except sqlite3.OperationalError as error:
            yield Check(
                "sqlite", "FAIL", f"{sqlite3.sqlite_version}, without FTS5 ({error})",
                "Word search needs it: use a Python whose SQLite has FTS5, as python.org's have.",
            )  # fmt: skip
    connection.close()


def _threads(settings: Settings) -> Found:
    import os

    from models.hardware import cpu_model, physical_cores

    cores = physical_cores()
    found = f"{settings.threads or cores} of {count(cores, 'core')}"
    if logical := os.cpu_count():
        found += f" ({logical} with hyper-threads); " if logical != cores else "; "
    found += cpu_model()
    too_many = settings.threads > cores
    yield Check(
        "threads", "WARN" if too_many else "OK", found,
        f"More threads than cores slow each other down: --threads {cores}, or 0." if too_many else "",
    )  # fmt: skip


@_guarded("tagger")
def _tagger(settings: Settings) -> Found:
    from indexer.text import Preparer

    yield Check("tagger", "OK", Preparer(settings.tagger).name)


@_guarded("encoder", "Another backend may work: --backend torch-fp32.")
def _encoder(settings: Settings) -> Found:
    from models.registry import Registry

    bundle = Registry(settings.home).get(settings.bundle)
    weights = bundle.base_folder / "model.safetensors"
    if not weights.is_file():
        yield Check("model", "FAIL", f"{weights} is not there", "Install the base model again.")
        return
    yield Check("model", "OK", f"{bundle.name}, {bundle.dims} dims, {size(weights.stat().st_size)}")

    from models.load import load_encoder

    encoder = load_encoder(
        settings.bundle, home=settings.home, backend=settings.backend, threads=settings.threads
    )
    yield Check(
        "encoder", "OK", f"{encoder.bundle}, {_speed(encoder.encode_texts)} texts of 30 words a second"
    )
    if settings.backend == "auto":
        yield from _backends(settings, bundle)


@_guarded("broker")
def _broker(settings: Settings) -> Found:
    from indexer.log import masked
    from workers.sending import Sender

    sender = Sender(settings)
    sender.check()
    waiting = sum(depth or 0 for depth in sender.depths().values())
    yield Check("broker", "OK", f"{masked(settings.broker)}; {count(waiting, 'message')} waiting")


def _backends(settings: Settings, bundle: Bundle) -> Found:
    """What was measured when the backend was chosen."""
    from models.calibrate import remembered_results
    from models.hardware import physical_cores

    results = remembered_results(bundle, settings.home, settings.threads or physical_cores())
    found = [
        f"{r.name} not taken: {r.refused}"
        if r.refused
        else f"{r.name} {r.windows_per_second:,.0f} windows a second"
        for r in results or ()
    ]
    if found:
        yield Check("backends", "OK", "; ".join(found))


def _speed(encode: Callable[[list[str]], object]) -> str:
    """Texts a second, best of three: another program may be running."""
    import time

    texts = [f"{i} {PROBE}" for i in range(PROBE_TEXTS)]
    encode(texts[:8])
    best = 0.0
    for _ in range(3):
        began = time.perf_counter()
        encode(texts)
        best = max(best, len(texts) / (time.perf_counter() - began))
    return f"{best:,.0f}"


# -- the collection -----------------------------------------------------------------------------------------


def _opened(app: App, settings: Settings, stack: ExitStack) -> Collection | Check:
    from indexer.errors import IndexerError, NotFound

    try:
        return stack.enter_context(app.collection(settings))
    except NotFound as error:
        return Check("collection", "OK", str(error), error.hint)
    except IndexerError as error:
        return Check("collection", "FAIL", str(error), error.hint)


@_guarded("server")
def _server(settings: Settings) -> Found:
    from contextlib import closing

    from indexer.engines.elastic.checkup import problems_of_server
    from indexer.engines.elastic.privileges import FOUND, READ, lacking
    from indexer.engines.opening import connected

    with closing(connected(settings)) as cluster:
        lacks = lacking(cluster, f"{settings.index_prefix}-*", FOUND)
        cluster.ask(cluster.client.indices.get_alias, name=f"{settings.index_prefix}-*")  # somebody is there
        version = cluster.version()
        problems = list(problems_of_server(cluster))
    about = f"Elasticsearch {version}".rstrip() + f" at {cluster.where}"
    hint = "docs/elasticsearch.md has the roles of readers, writers and founders."
    if set(lacks) & set(READ):
        yield Check("server", "FAIL", f"{about}; this user lacks {', '.join(lacks)}", hint)
    elif lacks:
        yield Check(
            "server", "WARN", f"{about}; this user lacks {', '.join(lacks)}: no new collections", hint
        )
    else:
        yield Check("server", "OK", about)
    for problem in problems:
        yield Check("server", "FAIL" if problem.fatal else "WARN", problem.found, problem.hint)


@_guarded("catalog")
def _catalog(collection: Collection) -> Found:
    from indexer.catalog.tables import SCHEMA
    from indexer.log import masked

    yield Check("catalog", "OK", f"{masked(collection.settings.database)}, schema {SCHEMA}")


@_guarded("engine")
def _engine(collection: Collection) -> Found:
    import sqlite3

    from indexer.engines.elastic import ElasticEngine
    from indexer.engines.local import LocalEngine

    info = collection.engine.info()
    yield Check("engine", "OK", f"{info.description}, {size(info.bytes)}")
    if isinstance(collection.engine, ElasticEngine):
        for problem in collection.engine.problems():
            yield Check("engine", "FAIL" if problem.fatal else "WARN", problem.found, problem.hint)
    if not isinstance(collection.engine, LocalEngine):
        return
    file = collection.engine.path / "collection.sqlite"
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    try:
        (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        answer = str(error)
    finally:
        connection.close()
    if answer == "ok":
        yield Check("integrity", "OK", "quick_check finds no fault")
    else:
        yield Check(
            "integrity", "FAIL", f"{file} is damaged: {answer}",
            f"Put back a copy of {collection.settings.home}, or move it away and index again.",
        )  # fmt: skip


@_guarded("generations")
def _generations(app: App, collection: Collection) -> Found:
    from contextlib import closing

    from indexer.engines.opening import open_generations

    with closing(open_generations(collection.settings)) as generations:
        found = generations.all()
    live = next((generation.number for generation in found if generation.state == "live"), 0)
    kept = sum(generation.state == "kept" for generation in found)
    yield Check("generations", "OK", f"{live} is live{f', {kept} kept' if kept else ''}")
    for generation in found:
        if generation.state == "unfinished" and not _is_building(collection):
            yield Check(
                "generations",
                "WARN",
                f"{generation.number} was left unfinished, {size(generation.bytes)}",
                f"Go on with it: {app.again('retrain')}. Or remove it: "
                f"{app.again(f'generations remove {generation.number}')}",
            )


def _is_building(collection: Collection) -> bool:
    """Whether somebody makes a generation; workers hold no lock between two messages."""
    catalog, name = collection.catalog, collection.name
    holders = (catalog.lock_holder(lock) for lock in (name, f"{name}@retrain"))
    return any(holders) or bool(catalog.open_runs(name, retrains=True))


@_guarded("counts")
def _counts(app: App, collection: Collection) -> Found:
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
            f"Go on with: {app.again('retry')}",
        )  # fmt: skip
    else:
        yield Check("counts", "OK", f"{count(ledger, 'document')}, all finished")


@_guarded("runs")
def _runs(app: App, collection: Collection) -> Found:
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
        yield Check("last run", "WARN", about, "Give the same command again: it goes on where it stopped.")
    else:
        yield Check("last run", "OK", about)


@_guarded("dead letters")
def _letters(app: App, collection: Collection) -> Found:
    dead = sum(collection.catalog.dead_counts(collection.name).values())
    if dead:
        hint = f"See them: {app.again('status --dead')}. Try them again: {app.again('retry')}"
        yield Check("dead letters", "WARN", f"{dead:,}", hint)
    else:
        yield Check("dead letters", "OK", "none")
