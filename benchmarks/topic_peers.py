"""Topics by the product and by other programs, with the same document vectors: agreement with classes, words, names.

    .venv-bench/bin/python -m benchmarks.topic_peers --data arxiv.jsonl.gz:3000 --data posts.jsonl.gz:4000

Documents are a sample by the hash of their ids. Three tables for each file: topics (with the number of classes
requested, and without), the upper level where classes have families (``rec.autos``: ``rec``), and the classes' names as
a vocabulary. Then the names that the product gave, to be read.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

from benchmarks.class_names import family, plain
from benchmarks.process import Conditions, run
from benchmarks.table import Row, table
from indexer.catalog.vocabulary import Term
from indexer.collection import Collection
from indexer.common import Floats, unit
from models.hardware import physical_cores
from trainer.evaluation.clustering import numbered
from trainer.evaluation.coherence import leading_words, npmi_coherence, word_diversity, words_of
from trainer.evaluation.documents import mine, read_documents
from trainer.evaluation.table import resampled

WORDS = 10
COVERED = 0.6  # cosine of a phrase of a document and a name
RESAMPLES = 200
ASKED = ("kmeans", "nmf", "keynmf", "bertopic")
UNASKED = ("bertopic", "topeax", "evoc")


@dataclass
class Sample:
    """The documents of one file, and what all programs get.

    Attributes:
        folder: Where the texts, vectors and classes are for programs that run in another process.
        classes: The class of each document.
        vectors: float32 [documents, dims], the product's own.
        phrases: float32 [n, dims] of each document.
        names: Of the classes, by their number.
    """

    folder: Path
    classes: list[str]
    texts: list[str]
    vectors: Floats
    phrases: list[Floats]
    names: list[str]

    def write(self) -> None:
        (self.folder / "texts.json").write_text(json.dumps(self.texts))
        (self.folder / "classes.json").write_text(json.dumps(self.names))
        np.save(self.folder / "vectors.npy", self.vectors)


@dataclass(frozen=True)
class Found:
    """What a program made of a sample.

    Attributes:
        topic_of: The topic of each document, None where it has none.
        words: Of each topic; for the product its phrases.
        names: Of each topic; empty where the program gives none.
        seconds: Without loading and encoding documents; None for the product, which does more.
    """

    topic_of: list[int | None]
    words: list[list[str]]
    names: list[str]
    seconds: float | None = None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", action="append", required=True, metavar="FILE[:DOCUMENTS]")
    parser.add_argument("--threads", type=int, default=physical_cores())
    arguments = parser.parse_args()
    conditions = Conditions(arguments.threads)
    for one in arguments.data:
        file, _, limit = one.partition(":")
        with tempfile.TemporaryDirectory(prefix="indexer-peers-") as folder:
            compare(Path(file), int(limit) if limit else None, Path(folder), conditions)


def compare(file: Path, limit: int | None, folder: Path, conditions: Conditions) -> None:
    """Print the tables of one file."""
    documents = [d for d in read_documents(file, limit) if d.meta.get("label")]
    classes = [str(d.meta["label"]) for d in documents]
    distinct = sorted(set(classes))
    families = len({family(one) for one in distinct})
    texts = [d.content for d in documents]
    with Collection.open(home=folder / "unasked") as collection:
        mine(collection, documents)
        ids = [d.id for d in documents]
        vectors = np.stack(
            [s.vector for s in collection.engine.documents(ids, vectors=True) if s.vector is not None]
        )
        phrases = [phrases_of(collection, id_) for id_ in ids]
        sample = Sample(folder, classes, texts, vectors, phrases, plain(distinct))
        sample.write()
        shutil.copytree(folder / "unasked", folder / "asked")
        unasked = of_collection(collection, ids)
        shown = [topic.label for topic in collection.topics()]
        collection.add_terms(
            [Term(key, name) for key, name in zip(distinct, sample.names, strict=True)], strict=True
        )
        vocabulary = first_terms(collection, ids, distinct)
    levels = f"{families},{len(distinct)}" if 1 < families < len(distinct) else None
    with Collection.open(home=folder / "asked") as collection:
        collection.index([], topics=None if levels else len(distinct), levels=levels, refit=True)
        asked = of_collection(collection, ids)
        upper = roots(collection, ids)
        encoder = collection.encoder
        neutral = Neutral(sample, encoder)
        print(f"\n{file.name}: {len(documents):,} documents of {len(distinct)} classes\n")
        rows = [row("indexer", sample, asked, neutral), row("indexer, unasked", sample, unasked, neutral)]
        for model in ASKED:
            rows.append(row(model, sample, peer(model, len(distinct), sample, conditions), neutral))
        for model in UNASKED:
            rows.append(row(f"{model}, unasked", sample, peer(model, 0, sample, conditions), neutral))
        print(table(rows), "\n")
    if levels:
        print(table(upper_level(sample, upper, families, conditions)), "\n")
    print(table(with_vocabulary(sample, vocabulary, neutral, conditions)), "\n")
    print("unasked:", " | ".join(shown))
    print("asked:  ", " | ".join(asked.names), flush=True)


def phrases_of(collection: Collection, id_: str) -> Floats:
    found = [row.vector for row in collection.engine.mentions([id_])]
    return np.stack(found) if found else np.zeros((0, collection.encoder.dims), np.float32)


def of_collection(collection: Collection, ids: Sequence[str]) -> Found:
    """The first topic of each document, topics as they are listed."""
    topics = [topic for topic in collection.topics()]
    place = {topic.id: at for at, topic in enumerate(topics)}
    first = [s.topics[0].topic_id if s.topics else None for s in collection.engine.documents(list(ids))]
    return Found(
        [None if one is None else place[one] for one in first],
        [list(topic.phrases[:WORDS]) for topic in topics],
        [topic.label for topic in topics],
    )


def roots(collection: Collection, ids: Sequence[str]) -> list[int | None]:
    """The topic at the top of the tree above the first topic of each document."""
    above = {topic.id: topic.parent for topic in collection.topic_tree().topics}
    found = []
    for stored in collection.engine.documents(list(ids)):
        at = stored.topics[0].topic_id if stored.topics else None
        while at and above.get(at):
            at = above[at]
        found.append(at or "")
    return [None if not one else int(number) for one, number in zip(found, numbered(found), strict=True)]


def first_terms(collection: Collection, ids: Sequence[str], keys: Sequence[str]) -> list[int | None]:
    """The first term of each document, by its place in the vocabulary."""
    terms = {topic.id: topic.term for topic in collection.topic_tree().topics if topic.term}
    place = {key: at for at, key in enumerate(keys)}
    found = []
    for stored in collection.engine.documents(list(ids)):
        own = [terms[weight.topic_id] for weight in stored.topics if weight.topic_id in terms]
        found.append(place.get(own[0]) if own else None)
    return found


def peer(model: str, number: int, sample: Sample, conditions: Conditions) -> Found:
    measured = run("topic_peer", sample.folder, model, number, conditions=conditions)
    answer = measured.answer
    return Found(answer["topic_of"], answer["words"], answer["names"], measured.work)


class Neutral:
    """Similarity of names to classes that no program was fitted to: tf-idf of the classes' texts, and an encoder.

    Args:
        encoder: Of phrases.
    """

    def __init__(self, sample: Sample, encoder: Any) -> None:
        self._encode = encoder.encode_phrases
        self._classes = unit(self._encode(sample.names))
        self._phrases = sample.phrases
        self._counter = TfidfVectorizer(stop_words="english", sublinear_tf=True, ngram_range=(1, 2), min_df=2)
        together = [
            " ".join(text for text, one in zip(sample.texts, sample.classes, strict=True) if one == name)
            for name in sorted(set(sample.classes))
        ]
        self._words = self._counter.fit_transform(together)

    def by_encoder(self, names: Sequence[str]) -> Floats:
        """float32 [names, classes]."""
        found: Floats = unit(self._encode(list(names))) @ self._classes.T
        return found

    def by_words(self, names: Sequence[str]) -> Floats:
        """float [names, classes]."""
        found: Floats = (self._counter.transform(names) @ self._words.T).toarray()
        return found

    def covered(self, name: str, members: Sequence[int]) -> float:
        """Share of documents that have a phrase near a name, or near a part of it."""
        parts = unit(self._encode([part for part in re.split(", | · ", name) if part])).T
        return fmean(float((self._phrases[at] @ parts).max(initial=-1) >= COVERED) for at in members)


def row(name: str, sample: Sample, found: Found, neutral: Neutral) -> Row:
    """The figures of one program."""
    truth = numbered(sample.classes)
    topics = np.array([-1 if one is None else one for one in found.topic_of])

    def ami(rows: NDArray[np.intp]) -> float:
        return float(adjusted_mutual_info_score(truth[rows], topics[rows]))

    agreed = resampled(len(truth), ami, resamples=RESAMPLES)
    read = [words_of(text) for text in sample.texts]
    leading = [words for words in leading_words(found.words) if words]
    return {
        "": name,
        "topics": len(set(topics.tolist()) - {-1}),
        "NMI": f"{normalized_mutual_info_score(truth, topics):.3f}",
        "AMI": str(agreed),
        "without, %": 100 * float((topics == -1).mean()),
        "NPMI of words": f"{fmean([v for v in npmi_coherence(leading, read) if not isnan(v)]):.3f}"
        if leading
        else None,
        "diversity": word_diversity(leading) if leading else None,
        **(named(sample, found, topics, neutral) if found.names else {}),
        "seconds": found.seconds,
    }


def named(sample: Sample, found: Found, topics: NDArray[np.intp], neutral: Neutral) -> Row:
    """How many names lead to their class, one name for a class, by two similarities; the documents that they cover."""
    truth = numbered(sample.classes)
    members = [np.flatnonzero(topics == at) for at in range(len(found.names))]
    most = [Counter(truth[rows].tolist()).most_common(1)[0][0] if len(rows) else -1 for rows in members]

    def matched(similarity: Floats) -> int:
        names, classes = linear_sum_assignment(-similarity)
        return sum(most[name] == one for name, one in zip(names, classes, strict=True))

    covered = [
        neutral.covered(name, rows.tolist())
        for name, rows in zip(found.names, members, strict=True)
        if len(rows)
    ]
    return {
        "named, encoder": matched(neutral.by_encoder(found.names)),
        "named, tf-idf": matched(neutral.by_words(found.names)),
        "covered": median(covered),
        "repeated": len(found.names) - len({name.casefold() for name in found.names}),
    }


def upper_level(
    sample: Sample, ours: Sequence[int | None], families: int, conditions: Conditions
) -> list[Row]:
    truth = numbered([family(one) for one in sample.classes])

    def line(name: str, found: Sequence[int | None]) -> Row:
        topics = np.array([-1 if one is None else one for one in found])
        agreed = resampled(
            len(truth),
            lambda rows: float(normalized_mutual_info_score(truth[rows], topics[rows])),
            resamples=RESAMPLES,
        )
        return {"": name, "topics at the top": len(set(found) - {None}), "NMI with families": str(agreed)}

    return [
        line("indexer", ours),
        line("bertopic, hierarchical_topics", peer("bertopic-levels", families, sample, conditions).topic_of),
        line("kmeans", peer("kmeans", families, sample, conditions).topic_of),
    ]


def with_vocabulary(
    sample: Sample, ours: Sequence[int | None], neutral: Neutral, conditions: Conditions
) -> list[Row]:
    """Accuracy of the first term of a document, of names alone."""
    truth = numbered(sample.classes)
    nearest = (unit(sample.vectors) @ neutral._classes.T).argmax(axis=1).tolist()
    zero_shot = peer("bertopic-zeroshot", 0, sample, conditions).topic_of

    def line(name: str, found: Sequence[int | None]) -> Row:
        right = np.array([a == b for a, b in zip(found, truth.tolist(), strict=True)])
        accuracy = resampled(len(truth), lambda rows: float(right[rows].mean()), resamples=RESAMPLES)
        return {
            "": name,
            "accuracy": str(accuracy),
            "without, %": 100 * sum(f is None for f in found) / len(truth),
        }

    return [
        line("indexer, strict", ours),
        line("cosine to the name", nearest),
        line("bertopic, zero-shot", zero_shot),
    ]


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"{time.perf_counter() - started:.0f} s")
