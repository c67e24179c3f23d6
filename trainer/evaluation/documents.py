"""Documents of a file, indexed into a temporary collection: once for a measurement, or once per choice to compare."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from indexer.catalog.entries import DeadLetter
from indexer.engines.base import Engine
from indexer.errors import InputError
from indexer.pipeline.run import RunReport
from indexer.protocols import Encoder, Progress, no_progress
from indexer.readers import read
from indexer.records import Document, StoredDocument, Topic
from indexer.search.results import Mode, SearchResults
from indexer.settings import Settings
from trainer.evaluation.lines import sample


class Miner(Protocol):
    """The part of `indexer.collection.Collection`, a higher layer, that evaluations use."""

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
        refit: bool = False,
        progress: Progress = no_progress,
    ) -> RunReport: ...

    def document(self, id_: str) -> StoredDocument: ...

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
    """Index title and text of documents, without their other fields.

    Args:
        collection: An empty one.
        titles: False leaves the titles out.
        topics: Topic model and number of topics, as for `Collection.index`.

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
    failed = collection.dead_letters()
    if failed:
        where = {d.id: d.source for d in documents}.get(failed[0].document_id, "")
        raise InputError(f"{where}{failed[0].reason.removeprefix(failed[0].source)}")


@dataclass(frozen=True)
class ChoiceResult:
    """Topics and keyphrases of the same documents with one encoder and one topic model.

    Attributes:
        bundle: Name of the encoder.
        finder: The topic model, as in the request.
        topics: All topics, largest first.
        documents: The documents to display, in the order of the request.
    """

    bundle: str
    finder: str
    topics: list[Topic]
    documents: list[StoredDocument]

    def labels(self, document: StoredDocument) -> list[str]:
        """Labels of a document's topics, heaviest first."""
        names = {topic.id: topic.label for topic in self.topics}
        return [names[weight.topic_id] for weight in document.topics]


def outcomes(
    collection: Miner,
    bundle: str,
    documents: Sequence[Document],
    finders: Sequence[str],
    ids: Sequence[str],
    *,
    progress: Progress = no_progress,
) -> Iterator[ChoiceResult]:
    """Index the documents once, and fit each of the topic models to them.

    Args:
        collection: An empty one.
        finders: Topic models, as `Collection.index` takes them.
        ids: Documents to display.
    """
    for number, finder in enumerate(finders):
        if number == 0:
            mine(collection, documents, topics=finder, progress=progress)
        else:
            collection.index([], topics=finder, refit=True, progress=progress)
        yield ChoiceResult(bundle, finder, collection.topics(), [collection.document(id_) for id_ in ids])
