"""Topics: the whole indexer against BERTopic with the same encoder; how well both agree with the labels, and how
well the leading phrases of their topics (of BERTopic: words) go together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan, nan
from pathlib import Path
from statistics import fmean, median

from benchmarks.corpus import ids, labels, texts
from benchmarks.process import Conditions, Measured, run
from benchmarks.table import Row
from indexer.collection import Collection
from trainer.evaluation.clustering import agreement, numbered
from trainer.evaluation.coherence import (
    LEADING,
    informativeness,
    leading_words,
    npmi_coherence,
    word_diversity,
    words_of,
)

TITLE = "Topics; BERTopic with the same encoder and its own defaults"
SEED = 42


def compare(
    file: Path, documents: int, scratch: Path, repeat: int, conditions: Conditions, topics: str = ""
) -> list[Row]:
    """Measure in turns, `repeat` times with another seed each; give median times and mean agreement.

    Args:
        topics: Number requested of each program; empty: each decides.
    """
    programs: dict[str, Callable[[int], Measured]] = {
        "indexer index: keyphrases and storing too": lambda turn: _index(
            file, scratch / f"bertopic-index-{turn}", conditions, topics
        ),
        "the same collection, topics refitted by pntm": lambda turn: _refit(
            scratch / f"bertopic-index-{turn}", conditions, topics
        ),
        "BERTopic, fixed seed (UMAP in one thread)": lambda turn: run(
            "bertopic_topics", file, SEED + turn, topics, conditions=conditions
        ),
        "BERTopic, no seed (UMAP in all threads)": lambda _: run(
            "bertopic_topics", file, "none", topics, conditions=conditions
        ),
    }
    runs: dict[str, list[Measured]] = {name: [] for name in programs}
    for turn in range(repeat):
        for name, program in programs.items():
            runs[name].append(program(turn))
    bertopic = median(m.seconds for m in runs["BERTopic, fixed seed (UMAP in one thread)"])
    return [_row(name, measured, file, documents, bertopic) for name, measured in runs.items()]


def _index(file: Path, home: Path, conditions: Conditions, topics: str) -> Measured:
    """Run the indexer; the leading phrases are read afterwards, so that nothing of it is timed."""
    return _with_phrases(run("index", file, home, "main", topics, conditions=conditions), home)


def _refit(home: Path, conditions: Conditions, topics: str) -> Measured:
    """Find the topics of an indexed home in another way."""
    requested = f"pntm:{topics}" if topics else "pntm"
    return _with_phrases(run("refit", home, "main", requested, conditions=conditions), home)


def _with_phrases(measured: Measured, home: Path) -> Measured:
    with Collection.open(home=home, create=False) as collection:
        measured.answer["phrases"] = [topic.phrases for topic in collection.topics()]
    return measured


def _row(name: str, measured: Sequence[Measured], file: Path, documents: int, bertopic: float) -> Row:
    seconds = median(m.seconds for m in measured)
    quality = [
        {**_agreement(m.answer["topic_of"], file), **_coherence(m.answer["phrases"], file)} for m in measured
    ]
    return {
        "": name,
        "seconds": seconds,
        "documents/s": documents / seconds,
        "call alone, s": median(m.work for m in measured),
        "memory, MB": median(m.megabytes for m in measured),
        "times BERTopic": bertopic / seconds,
        "topics": fmean(m.answer["topics"] for m in measured),
        **{name: fmean(q[name] for q in quality) for name in quality[0]},
    }


def _agreement(topic_of: Mapping[str, object], file: Path) -> Row:
    """NMI with the labels, each document by its heaviest topic; those without one form one group."""
    found = [str(topic_of.get(id_)) for id_ in ids(file)]
    row = {"without topic, %": 100 * found.count("None") / len(found)}
    truth = labels(file)
    return row if truth is None else {"NMI": agreement(numbered(truth), numbered(found)), **row}


def _coherence(topics: Sequence[Sequence[str]], file: Path) -> Row:
    """Of the ten leading phrases of each topic: NPMI in whole documents, distinct words, and how telling they are."""
    leading = [phrases[:LEADING] for phrases in topics]
    read = [words_of(text) for text in texts(file)]
    return {
        "NPMI": _mean(npmi_coherence(leading, read)),
        "NPMI of words": _mean(npmi_coherence(leading_words(leading), read)),
        "diversity": word_diversity(leading),
        "tf-idf": _mean(informativeness(leading, read)),
    }


def _mean(values: Sequence[float]) -> float:
    """Of the topics that have a pair."""
    return fmean([value for value in values if not isnan(value)] or [nan])
