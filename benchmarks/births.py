"""How soon a new subject is noticed, and how often one that is none: a class is held back, then streamed in.

    python -m benchmarks.births --data abstracts.jsonl.gz

Topics were fitted to 3,000 documents of all other classes. Documents of the class come ten at a time, alone, among 200 on
old subjects, and among 500. Then 5,000 documents of classes that were there come in runs of 100 and of 500: what is found
in them is false. Vectors are those of texts by the product's encoder, groups those of `indexer.topics.births`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import rows
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
    arguments = parser.parse_args()
    draw = np.random.default_rng(arguments.seed)
    documents = rows(arguments.data)
    chosen = draw.permutation(len(documents))[: OLD + STREAM + 2_000]
    labels = np.array([documents[at]["label"] for at in chosen])
    with Collection.open() as collection:
        vectors = collection.encoder.encode_texts(
            [f"{documents[at].get('title', '')}\n\n{documents[at]['text']}" for at in chosen]
        )
    classes = draw.permutation(np.unique(labels))[: arguments.classes]
    print(table([noticed(str(one), vectors, labels, draw) for one in classes]), "\n")
    print(table([false_ones(size, vectors, draw) for size in (100, 500)]))


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


def found_in(old: Floats, new: Floats) -> Iterator[NDArray[np.intp]]:
    middle = old.mean(axis=0)
    yield from rising(unit(old - middle), unit(new - middle))


if __name__ == "__main__":
    main()
