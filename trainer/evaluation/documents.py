"""Documents of a file, mined into a collection that is made for the measurement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from indexer.catalog.entries import DeadLetter
from indexer.engines.base import Engine
from indexer.errors import InputError
from indexer.pipeline.run import RunReport
from indexer.protocols import Encoder, Progress, no_progress
from indexer.readers import read
from indexer.records import Document, Topic
from indexer.search.results import Mode, SearchResults
from indexer.settings import Settings
from trainer.evaluation.lines import sample


class Miner(Protocol):
    """What a measurement needs of `indexer.collection.Collection`, which stands above this layer."""

    settings: Settings

    @property
    def engine(self) -> Engine: ...

    @property
    def encoder(self) -> Encoder: ...

    def index(
        self,
        sources: Sequence[str | Path],
        *,
        topics: str | int | None = None,
        progress: Progress = no_progress,
    ) -> RunReport: ...

    def topics(self) -> list[Topic]: ...

    def search(
        self, query: str, *, mode: Mode = "both", facets: Sequence[str] = (), limit: int = 10
    ) -> SearchResults: ...

    def dead_letters(self) -> list[DeadLetter]: ...


def read_documents(path: Path, limit: int | None = None) -> list[Document]:
    """The documents of a file, or a sample of them by id; records that cannot be indexed (no text, say) are left out.

    Args:
        limit: Number of documents of the sample (`trainer.evaluation.lines.sample`).

    Raises:
        InputError: There is none.
    """
    documents = sample(
        (item for item in read([path]) if isinstance(item, Document)), limit, lambda document: document.id
    )
    if not documents:
        raise InputError(f"{path}: there is no document in it.")
    return documents


def mine(
    collection: Miner,
    documents: Sequence[Document],
    *,
    titles: bool = True,
    topics: str | int | None = None,
    progress: Progress = no_progress,
) -> None:
    """Index these documents, title and text, nothing else.

    Args:
        collection: An empty one.
        titles: False leaves the titles out.
        topics: How many are wanted, and how they are found; see `Collection.index`.

    Raises:
        InputError: A document could not be mined: the figures would be those of another file.
    """
    with TemporaryDirectory(prefix="indexer-") as folder:
        file = Path(folder, "documents.jsonl")
        with file.open("w", encoding="utf-8") as lines:
            for d in documents:
                record = {"id": d.id, "title": d.title if titles else "", "text": d.text}
                lines.write(json.dumps(record) + "\n")
        collection.index([file], topics=topics, progress=progress)
    letters = collection.dead_letters()
    if letters:
        where = {d.id: d.source for d in documents}.get(letters[0].document_id, "")
        raise InputError(f"{where}{letters[0].reason.removeprefix(letters[0].source)}")
