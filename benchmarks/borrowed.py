"""A large collection within minutes: real texts, of which the first are mined and lend the others what was mined.

    python -m benchmarks.borrowed --data abstracts.jsonl.gz --documents 52312 --home /scratch/large
    python -m benchmarks.serving --home /scratch/large

Words, rows, phrases of a document and neighbours of a vector are as many as in a collection that was mined; only that
they do not belong to the text. The number of different phrases and topics is that of the first documents.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from benchmarks.corpus import write_sample
from indexer.collection import Collection
from indexer.common import batches
from indexer.pipeline.topic_fit import mined_documents
from indexer.readers import read
from indexer.records import Document, MinedDocument

MINED = 2_000
AT_ONCE = 256


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="JSON Lines, .gz or not")
    parser.add_argument("--documents", type=int, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--engine", default="local", help="where the collection is: local, or a URL")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection.open(home=arguments.home, engine=arguments.engine) as collection,
    ):
        source, first = Path(folder, "all.jsonl"), Path(folder, "first.jsonl")
        write_sample(arguments.data, arguments.documents, source)
        with source.open(encoding="utf-8") as lines:
            first.write_text("".join(islice(lines, MINED)), encoding="utf-8")
        collection.index([first])
        lend(collection, (item for item in islice(read([source]), MINED, None) if isinstance(item, Document)))
        print(collection.engine.info())


def lend(collection: Collection, documents: Iterator[Document]) -> None:
    """Store documents with the mined data of those that are there, in turns."""
    engine = collection.engine
    mined = list(lenders(collection))
    given = 0
    for some in batches(documents, AT_ONCE):
        engine.store(some)
        rows = []
        for document in some:
            row = mined[given % len(mined)]
            given += 1
            mentions = tuple(replace(mention, document_id=document.id) for mention in row.mentions)
            rows.append(replace(row, id=document.id, content_hash=document.content_hash, mentions=mentions))
        engine.write_mined(rows)


def lenders(collection: Collection) -> Iterator[MinedDocument]:
    for ids in batches(collection.engine.document_ids(), AT_ONCE):
        for stored, mentions in mined_documents(collection.engine, ids):
            if stored.vector is not None:
                yield MinedDocument(
                    stored.document.id, stored.vector, stored.keyphrases, stored.topics, tuple(mentions),
                    stored.bundle, stored.run, stored.document.content_hash,
                )  # fmt: skip


if __name__ == "__main__":
    main()
