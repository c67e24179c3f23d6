"""`indexer compare`: the same documents mined with one choice after the other, to be looked at side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from indexer.pipeline.run import RunReport
from indexer.protocols import Progress, no_progress
from indexer.records import Document, StoredDocument, Topic
from trainer.evaluation.documents import Miner, mine


class Refitted(Miner, Protocol):
    """A collection that can find its topics anew."""

    def index(
        self,
        sources: Sequence[str | Path],
        *,
        topics: str | int | None = None,
        refit: bool = False,
        progress: Progress = no_progress,
    ) -> RunReport: ...

    def document(self, id_: str) -> StoredDocument: ...


@dataclass(frozen=True)
class ChoiceResult:
    """What one choice has made of the documents.

    Attributes:
        bundle: Name of the encoder.
        finder: How topics were found, as it was asked for.
        topics: All of them, largest first.
        documents: Those that are shown, in the order given.
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
    collection: Refitted,
    bundle: str,
    documents: Sequence[Document],
    finders: Sequence[str],
    shown: Sequence[str],
    *,
    progress: Progress = no_progress,
) -> Iterator[ChoiceResult]:
    """Mine the documents once, and find topics in each of the ways.

    Args:
        collection: An empty one.
        finders: As `Collection.index` takes them.
        shown: Ids of the documents to look at.
    """
    for number, finder in enumerate(finders):
        if number == 0:
            mine(collection, documents, topics=finder, progress=progress)
        else:
            collection.index([], topics=finder, refit=True, progress=progress)
        yield ChoiceResult(bundle, finder, collection.topics(), [collection.document(id_) for id_ in shown])
