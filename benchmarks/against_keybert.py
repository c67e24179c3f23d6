"""Keyphrases: the whole indexer, and its keyphrases alone, against KeyBERT with the same encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.process import Conditions, Measured, run
from benchmarks.table import Row

TITLE = "Keyphrases, ten for each document; KeyBERT with the same encoder"


def compare(file: Path, documents: int, scratch: Path, repeat: int, conditions: Conditions) -> list[Row]:
    """Measure all programs in turns, `repeat` times; give the medians and the ratios to KeyBERT."""
    programs: dict[str, Callable[[int], Measured]] = {
        # Topics and storing included. A new home measures which backend is fastest on this machine.
        "indexer index, the first in a new home": lambda turn: run(
            "index", file, scratch / f"keybert-index-{turn}", "first", conditions=conditions
        ),
        "indexer index, another collection": lambda turn: run(
            "index", file, scratch / f"keybert-index-{turn}", "another", conditions=conditions
        ),
        "indexer, keyphrases alone": lambda turn: run(
            "keyphrases", file, scratch / f"keybert-keyphrases-{turn}", conditions=conditions
        ),
        "KeyBERT, 1 to 3 words": lambda _: run("keybert_keywords", file, 3, conditions=conditions),
        "KeyBERT, its default (5 single words)": lambda _: run(
            "keybert_keywords", file, "default", conditions=conditions
        ),
    }
    runs: dict[str, list[Measured]] = {name: [] for name in programs}
    for turn in range(repeat):
        for name, program in programs.items():
            runs[name].append(program(turn))
    return [_row(name, measured, documents, runs["KeyBERT, 1 to 3 words"]) for name, measured in runs.items()]


def _row(name: str, measured: list[Measured], documents: int, keybert: list[Measured]) -> Row:
    seconds, call = median(m.seconds for m in measured), median(m.work for m in measured)
    return {
        "": name,
        "seconds": seconds,
        "documents/s": documents / seconds,
        "times KeyBERT 1-3": median(m.seconds for m in keybert) / seconds,
        "call alone, s": call,
        "its documents/s": documents / call,
        "its times KeyBERT 1-3": median(m.work for m in keybert) / call,
        "memory, MB": median(m.megabytes for m in measured),
    }
