"""The documents that every program gets: a sample of a JSON Lines file, the same for all of them."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).parent.parent / "indexer" / "data" / "arxiv_sample600.jsonl"


def write_sample(data: Path, size: int, file: Path) -> None:
    """Write `size` documents of `data` into `file`, in an order that depends on the data alone."""
    lines = _lines(data)
    if len(lines) < size:
        raise SystemExit(
            f"{data} has {len(lines)} documents; {size} are needed. Name a larger file with --data."
        )
    random.Random(0).shuffle(lines)  # such files are often sorted by label
    file.write_text("\n".join(lines[:size]) + "\n", encoding="utf-8")


def texts(file: Path) -> list[str]:
    """Title and text of each document, as the indexer joins them."""
    return ["\n\n".join(filter(None, (row.get("title"), row["text"]))) for row in rows(file)]


def labels(file: Path) -> list[str] | None:
    """The label of each document, None when there are none."""
    found = [row.get("label") for row in rows(file)]
    return None if None in found else [str(label) for label in found]


def ids(file: Path) -> list[str]:
    return [row["id"] for row in rows(file)]


def rows(file: Path) -> list[dict[str, Any]]:
    """The documents of the file, with all their fields."""
    return [json.loads(line) for line in _lines(file)]


def _lines(file: Path) -> list[str]:
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [line for line in data.decode("utf-8").split("\n") if line.strip()]
