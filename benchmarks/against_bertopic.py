"""Topics: the whole indexer against BERTopic with the same encoder; how well both agree with the labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

from benchmarks.corpus import ids, labels
from benchmarks.process import Conditions, Measured, run
from benchmarks.table import Row

TITLE = "Topics; BERTopic with the same encoder and its own defaults"
SEED = 42


def compare(file: Path, documents: int, scratch: Path, repeat: int, conditions: Conditions) -> list[Row]:
    """Measure in turns, `repeat` times with another seed each; give median times and mean agreement."""
    programs: dict[str, Callable[[int], Measured]] = {
        "indexer index: keyphrases and storing too": lambda turn: run(
            "index", file, scratch / f"bertopic-index-{turn}", conditions=conditions
        ),
        "BERTopic, fixed seed (UMAP in one thread)": lambda turn: run(
            "bertopic_topics", file, SEED + turn, conditions=conditions
        ),
        "BERTopic, no seed (UMAP in all threads)": lambda _: run(
            "bertopic_topics", file, "none", conditions=conditions
        ),
    }
    runs: dict[str, list[Measured]] = {name: [] for name in programs}
    for turn in range(repeat):
        for name, program in programs.items():
            runs[name].append(program(turn))
    bertopic = median(m.seconds for m in runs["BERTopic, fixed seed (UMAP in one thread)"])
    return [_row(name, measured, file, documents, bertopic) for name, measured in runs.items()]


def _row(name: str, measured: Sequence[Measured], file: Path, documents: int, bertopic: float) -> Row:
    seconds = median(m.seconds for m in measured)
    agreement = [_agreement(m.answer["topic_of"], file) for m in measured]
    return {
        "": name,
        "seconds": seconds,
        "documents/s": documents / seconds,
        "call alone, s": median(m.work for m in measured),
        "memory, MB": median(m.megabytes for m in measured),
        "times BERTopic": bertopic / seconds,
        "topics": fmean(m.answer["topics"] for m in measured),
        **{name: fmean(a[name] for a in agreement) for name in agreement[0]},
    }


def _agreement(topic_of: Mapping[str, object], file: Path) -> Row:
    """NMI with the labels, each document by its heaviest topic; those without one are a group of their own."""
    from sklearn.metrics import normalized_mutual_info_score as nmi

    found = [str(topic_of.get(id_)) for id_ in ids(file)]
    row = {"without topic, %": 100 * found.count("None") / len(found)}
    wanted = labels(file)
    return row if wanted is None else {"NMI": float(nmi(wanted, found)), **row}
