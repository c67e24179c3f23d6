"""How stable topics are: a tenth of the documents is deleted, and topics are found again; and whether the order matters.

    python -m benchmarks.stability --data arxiv.jsonl.gz:3000 --data posts.jsonl.gz:4000

For each of five random tenths: the number of topics at the top and of those that documents have, the share of ids that
stay at each level, and the agreement (AMI) of the documents' first topics with those before. A last line has the same
documents, indexed in another order into a new collection.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from benchmarks.table import Row, table
from indexer.collection import Collection
from indexer.records import Document
from trainer.evaluation.documents import mine, read_documents

SAMPLES = 5
LEFT_OUT = 0.1


@dataclass(frozen=True)
class Found:
    """The topics of a collection."""

    top: frozenset[str]  # ids at the top
    leaves: frozenset[str]
    first: dict[str, str]  # document ► its first topic

    @classmethod
    def of(cls, collection: Collection) -> Found:
        tree = collection.topic_tree()
        first = {s.document.id: s.topics[0].topic_id if s.topics else "" for s in collection.documents()}
        ids = (frozenset(topic.id for topic in some) for some in (tree.roots, tree.leaves))
        return cls(*ids, first)

    def row(self, name: str, before: Found, *, same_ids: bool = True) -> Row:
        both = sorted(self.first.keys() & before.first.keys())
        agreement = adjusted_mutual_info_score(
            [before.first[id_] for id_ in both], [self.first[id_] for id_ in both]
        )
        return {
            "": name,
            "at the top": len(self.top),
            "topics": len(self.leaves),
            "top kept, %": 100 * len(self.top & before.top) / len(before.top) if same_ids else None,
            "topics kept, %": 100 * len(self.leaves & before.leaves) / len(before.leaves)
            if same_ids
            else None,
            "AMI": f"{agreement:.3f}",
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", action="append", required=True, metavar="FILE[:DOCUMENTS]")
    for one in parser.parse_args().data:
        file, _, limit = one.partition(":")
        with tempfile.TemporaryDirectory(prefix="indexer-stability-") as folder:
            print(Path(file).name)
            print(
                table(measure(read_documents(Path(file), int(limit) if limit else None), Path(folder))), "\n"
            )


def measure(documents: Sequence[Document], folder: Path) -> list[Row]:
    with Collection.open(home=folder / "whole") as collection:
        mine(collection, documents)
        before = Found.of(collection)
    rows = [before.row("all documents", before)]
    for seed in range(SAMPLES):
        home = shutil.copytree(folder / "whole", folder / f"part-{seed}")
        ids = np.random.default_rng(seed).permutation(sorted(before.first))
        with Collection.open(home=home) as collection:
            collection.delete([str(id_) for id_ in ids[: int(LEFT_OUT * len(ids))]])
            collection.index([], refit=True)
            rows.append(Found.of(collection).row(f"nine tenths, {seed}", before))
        shutil.rmtree(home)
    with Collection.open(home=folder / "turned") as collection:
        mine(collection, documents[::-1])
        rows.append(Found.of(collection).row("another order", before, same_ids=False))
    return rows


if __name__ == "__main__":
    main()
