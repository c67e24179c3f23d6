"""How soon a new subject is noticed, and how often one that is none: a class is held back, then streamed in.

    python -m benchmarks.births --data abstracts.jsonl.gz

Topics were fitted to 3,000 documents of all other classes. Documents of the class come ten at a time, alone, among 200 on
old subjects, and among 500. Then 5,000 documents of classes that were there come in runs of 100 and of 500: what is found
in them is false. Vectors are those of texts by the product's encoder, groups those of `indexer.topics.births`.

With `--peer`, in the environment of `make bench`, BERTopic does the same on the same vectors: a model of the old ones,
one of the new ones, and `merge_models` of both. A topic of the second that the first does not have is new.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import rows
from benchmarks.programs.topic_peer import default_bertopic
from benchmarks.table import table
from indexer.collection import Collection
from indexer.common import Floats, unit
from indexer.pipeline.births import NEWEST
from indexer.topics.births import rising

OLD = 3_000
LONGEST = 60  # documents, after which a class was not noticed
STEP = 10
OTHERS = (0, 200, 500)
STREAM = 5_000
OF_CLASS = 0.6  # share of a group that must be of the class


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="JSON Lines with title, text, label; .gz too"
    )
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peer", action="store_true")
    arguments = parser.parse_args()
    draw = np.random.default_rng(arguments.seed)
    documents = rows(arguments.data)
    chosen = draw.permutation(len(documents))[: OLD + STREAM + 2_000]
    labels = np.array([documents[at]["label"] for at in chosen])
    texts = [f"{documents[at].get('title', '')}\n\n{documents[at]['text']}" for at in chosen]
    with Collection.open() as collection:
        vectors = collection.encoder.encode_texts(texts)
    classes = draw.permutation(np.unique(labels))[: arguments.classes]
    print(table([noticed(str(one), vectors, labels, draw) for one in classes]), "\n")
    print(table([false_ones(size, vectors, draw) for size in (100, 500)]), "\n")
    if arguments.peer:
        peer = MergeModels(texts, vectors)
        print(table([peer.noticed(str(one), labels, draw) for one in classes]), "\n")
        print(table([peer.false_ones(draw)]))


def noticed(
    label: str, vectors: Floats, labels: NDArray[np.str_], draw: np.random.Generator
) -> dict[str, object]:
    """After how many documents of a class it is noticed; None: not after `LONGEST`."""
    own = draw.permutation(np.flatnonzero(labels == label))
    rest = draw.permutation(np.flatnonzero(labels != label))
    old, others = rest[:OLD], rest[OLD:]
    found: dict[str, object] = {"": label}
    for beside in OTHERS:
        first = None
        for number in range(STEP, LONGEST + STEP, STEP):
            new = np.concatenate([own[:number], others[:beside]])
            groups = found_in(vectors[old], vectors[new])
            if any((group < number).mean() > OF_CLASS for group in groups):
                first = number
                break
        found[f"among {beside}" if beside else "alone"] = first
    return found


def false_ones(size: int, vectors: Floats, draw: np.random.Generator) -> dict[str, object]:
    """Groups in a stream on old subjects; each run sees the newest documents, as the product does."""
    order = draw.permutation(len(vectors))
    old, stream = order[:OLD], order[OLD : OLD + STREAM]
    found = [
        len(group)
        for end in range(size, STREAM + 1, size)
        for group in found_in(vectors[old], vectors[stream[max(0, end - NEWEST // size * size) : end]])
    ]
    return {"": f"runs of {size}", "documents": STREAM, "false": len(found), "their sizes": str(found)}


class MergeModels:
    """BERTopic, with new documents as a model of their own that is merged into that of the old ones."""

    def __init__(self, texts: Sequence[str], vectors: Floats) -> None:
        self._texts = texts
        self._vectors = vectors

    def noticed(self, label: str, labels: NDArray[np.str_], draw: np.random.Generator) -> dict[str, object]:
        """Whether a topic of mostly the class is new after `LONGEST` of its documents, and how many others are."""
        own = draw.permutation(np.flatnonzero(labels == label))[:LONGEST]
        rest = draw.permutation(np.flatnonzero(labels != label))
        before = self._model(rest[:OLD])
        found: dict[str, object] = {"merge_models": label}
        for beside in OTHERS:
            new = np.concatenate([own, rest[OLD : OLD + beside]])
            groups = self._born(before, new)
            place = f"among {beside}" if beside else "alone"
            found[place] = any((group < len(own)).mean() > OF_CLASS for group in groups)
            found[f"others, {place}"] = sum((group < len(own)).mean() <= OF_CLASS for group in groups)
        return found

    def false_ones(self, draw: np.random.Generator) -> dict[str, object]:
        """New topics in a stream on old subjects, 500 documents at a time."""
        order = draw.permutation(len(self._texts))
        before = self._model(order[:OLD])
        stream = order[OLD : OLD + STREAM]
        found = [len(self._born(before, stream[at : at + 500])) for at in range(0, STREAM, 500)]
        return {"merge_models": "runs of 500", "documents": len(stream), "false": sum(found)}

    def _model(self, rows: NDArray[np.intp]) -> Any:
        model = default_bertopic()
        model.representation_model = None  # a model without a topic could not be merged with other names
        model.fit([self._texts[at] for at in rows], self._vectors[rows])
        return model

    def _born(self, before: Any, new: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """The documents of each topic that the merged model has and the first has not."""
        from bertopic import BERTopic

        merged = BERTopic.merge_models([before, self._model(new)])
        topics = np.array(merged.topics_[-len(new) :])
        known = set(before.topics_)
        return [np.flatnonzero(topics == one) for one in sorted(set(topics.tolist()) - known)]


def found_in(old: Floats, new: Floats) -> Iterator[NDArray[np.intp]]:
    middle = old.mean(axis=0)
    yield from rising(unit(old - middle), unit(new - middle))


if __name__ == "__main__":
    main()
