"""Checks of this machine and the installation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from indexer.cli.doctor.checks import Check, Found, State, guarded
from indexer.export.formatting import count, size

if TYPE_CHECKING:
    from indexer.settings import Settings
    from models.bundle import Bundle

LITTLE_SPACE, NO_SPACE = 2e9, 100e6  # bytes
SHOWN_PACKAGES = ("torch", "onnxruntime", "spacy", "numpy", "scikit-learn", "sqlalchemy")
PROBE = "The quick brown fox jumps over the lazy dog near the old stone bridge. " * 2  # about 30 word pieces
PROBE_TEXTS = 64


def python() -> Found:
    import platform
    import sys

    enough = sys.version_info >= (3, 11)
    yield Check(
        "python",
        "OK" if enough else "FAIL",
        f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "" if enough else "Python 3.11 or newer is needed.",
    )


def packages() -> Found:
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


def home(settings: Settings) -> Found:
    import shutil
    from tempfile import TemporaryFile

    home = settings.home.absolute()
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    try:
        with TemporaryFile(dir=there):
            pass
        yield Check("home", "OK", f"{home}{'' if there == home else ' (made when it is needed)'}")
    except OSError as error:
        usable = (home / "collections").is_dir()
        yield Check(
            "home", "WARN" if usable else "FAIL",
            f"{home} cannot be written{', only searched' if usable else ''}: {error.strerror}",
            "Change its permissions, or choose another folder: --home PATH or INDEXER_HOME.",
        )  # fmt: skip
    free = shutil.disk_usage(there).free
    state: State = "FAIL" if free < NO_SPACE else "WARN" if free < LITTLE_SPACE else "OK"
    yield Check(
        "disk", state, f"{size(free)} free", "" if state == "OK" else "Free some space: a run needs room."
    )


def sqlite() -> Found:
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


def threads(settings: Settings) -> Found:
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


@guarded("tagger")
def tagger(settings: Settings) -> Found:
    from indexer.text import Preparer

    yield Check("tagger", "OK", Preparer(settings.tagger).name)


@guarded("encoder", "Another backend may work: --backend torch-fp32.")
def encoder(settings: Settings) -> Found:
    from models.checksums import damaged_files
    from models.load import is_user_class, load_encoder
    from models.registry import Registry

    if is_user_class(settings.bundle, settings.home):
        own = load_encoder(settings.bundle, home=settings.home)
        yield Check("encoder", "OK", f"{own.bundle}, {own.dims} dims")
        return
    bundle = Registry(settings.home).get(settings.bundle)
    weights = bundle.weights_file
    if not weights.is_file():
        yield Check("model", "FAIL", f"{weights} is not there", "Install the base model again.")
        return
    yield Check("model", "OK", f"{bundle.name}, {bundle.dims} dims, {size(weights.stat().st_size)}")
    for path in damaged_files(bundle):
        yield Check("model", "FAIL", f"{path} is damaged", "Install the program and the base model again.")

    encoder = load_encoder(
        settings.bundle, home=settings.home, backend=settings.backend, threads=settings.threads
    )
    yield Check(
        "encoder", "OK", f"{encoder.bundle}, {_speed(encoder.encode_texts)} texts of 30 words a second"
    )
    if settings.backend == "auto":
        yield from _backends(settings, bundle)


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
