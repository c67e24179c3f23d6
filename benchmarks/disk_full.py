"""Fill the disk at several points of an index run, make room again, and compare with an undisturbed run. As root.

    python -m benchmarks.disk_full --points 20 --documents 300

The home is a file system in memory of a limited size, so the run ends with a full disk sooner or later. Then it gets
more room, and the same command runs again. The graphs of the encoder, 150 MB, are there before. A traceback, a command
that does not say what is full, or any difference at the end is a bug, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.corpus import SHIPPED, write_sample
from benchmarks.crash import compare
from benchmarks.table import table
from indexer.settings import load_settings

MEGABYTE = 1_000_000
ROOM = 2_000 * MEGABYTE
SMALLEST = 0.02  # of what the whole run needs
INDEXER = Path(sys.executable).with_name("indexer")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHIPPED, help="JSON Lines, .gz or not")
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--points", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "sample.jsonl"
        write_sample(arguments.data, arguments.documents, source)
        with disk(folder / "whole", ROOM):
            whole = folder / "whole"
            most = undisturbed(whole, source)
            graphs = sum(file.stat().st_size for file in (whole / "home" / "onnx").rglob("*.*"))
            rows = []
            for point in range(arguments.points):
                share = SMALLEST + (0.98 - SMALLEST) * point / max(1, arguments.points - 1)
                rows.append(filled(folder, source, share, graphs + int(share * (most - graphs))))
                print(table(rows[-1:]), flush=True)
    print(table(rows))
    sys.exit(any(row["at the end"] != "no difference" or row["exit code"] not in (0, 1) for row in rows))


@contextmanager
def disk(place: Path, size: int) -> Iterator[None]:
    """A file system of so many bytes."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def started(place: Path, source: Path) -> subprocess.Popen[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("INDEXER_")}
    (place / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [INDEXER, "index", source],
        env={**kept, "INDEXER_HOME": str(place / "home"), "TMPDIR": str(place / "tmp")},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def undisturbed(place: Path, source: Path) -> int:
    """Run to the end. Returns the most bytes that were in use."""
    process = started(place, source)
    most = 0
    while process.poll() is None:
        most = max(most, shutil.disk_usage(place).used)
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"The undisturbed run ended with {process.returncode}: {process.communicate()[1]}")
    return most


def filled(folder: Path, source: Path, share: float, size: int) -> dict[str, object]:
    """Run with too small a disk, then with enough, and compare. Returns a row of the table."""
    place = folder / "filled"
    with disk(place, size):
        shutil.copytree(folder / "whole" / "home" / "onnx", place / "home" / "onnx")
        process = started(place, source)
        errors = process.communicate()[1]
        subprocess.run(["mount", "-o", f"remount,size={ROOM}", place], check=True)
        undisturbed(place, source)
        found = compare(load_settings(home=folder / "whole" / "home"), load_settings(home=place / "home"))
    place.rmdir()
    said = [line for line in errors.splitlines() if line.startswith("Error") or "Traceback" in line]
    return {
        "room": f"{share:.0%}", "MB": round(size / MEGABYTE, 1), "exit code": process.returncode,
        "at the end": "; ".join(found) or "no difference",
        "message": said[-1].replace(str(place), "DISK") if said else errors[-60:].strip(),
    }  # fmt: skip


if __name__ == "__main__":
    main()
