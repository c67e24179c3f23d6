"""How the cost of a document changes with the size of the collection, and where the time goes."""

from __future__ import annotations

from pathlib import Path

from benchmarks.corpus import write_sample
from benchmarks.process import Conditions, Measured, run
from benchmarks.table import Row

TITLE = "indexer index, a new collection; then the same again with nothing changed"
STAGES_TITLE = "Share of the run's time by stage, %; those in brackets run concurrently"
BESIDE = ("tagging", "encode")


def measure(
    data: Path, sizes: list[int], scratch: Path, conditions: Conditions
) -> tuple[list[Row], list[Row]]:
    """One row for each size, and one for each stage."""
    runs: dict[int, Measured] = {}
    rows = []
    for size in sizes:
        file, home = scratch / f"growth-{size}.jsonl", scratch / f"growth-{size}"
        write_sample(data, size, file)
        runs[size] = run("index", file, home, conditions=conditions)
        megabytes = _size(home) / 1e6
        again = run("index", file, home, conditions=conditions)
        rows.append(_row(size, runs[size], again, megabytes))
    return rows, _stages(runs)


def _size(home: Path) -> int:
    """Bytes of the collection and its catalog; the exported encoder, always the same, is left out."""
    files = (path for path in home.rglob("*") if path.is_file())
    return sum(
        path.stat().st_size for path in files if path.relative_to(home).parts[0] not in ("onnx", "bundles")
    )


def _row(size: int, measured: Measured, again: Measured, megabytes: float) -> Row:
    return {
        "": f"{size:,} documents",
        "seconds": measured.seconds,
        "ms/document": 1e3 * measured.work / size,
        "memory, MB": measured.megabytes,
        "without mapped files, MB": measured.unmapped,
        "on disk, MB": megabytes,
        "kB/document": 1e3 * megabytes / size,
        "topics": measured.answer["topics"],
        "failed": measured.answer["failed"],
        "again, s": again.work,
    }


def _stages(runs: dict[int, Measured]) -> list[Row]:
    names = list(dict.fromkeys(name for measured in runs.values() for name in measured.answer["stages"]))
    rows = []
    for name in [*(n for n in names if n not in BESIDE), "rest", *BESIDE]:
        row: Row = {"": f"({name})" if name in BESIDE else name}
        for size, measured in runs.items():
            stages = measured.answer["stages"]
            seconds = stages.get(name, 0.0)
            if name == "rest":
                seconds = measured.work - sum(s for n, s in stages.items() if n not in BESIDE)
            row[f"{size:,}"] = 100 * seconds / measured.work
        rows.append(row)
    return rows
