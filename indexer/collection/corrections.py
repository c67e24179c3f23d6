"""Methods by which users say which documents a topic has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indexer.catalog.corrections import Correction
from indexer.collection.base import on_live_generation
from indexer.collection.vocabulary import VocabularyMethods
from indexer.errors import NotFound, QueryError
from indexer.pipeline.run import RunReport
from indexer.protocols import Progress, no_progress
from indexer.records import Topic


class CorrectionMethods(VocabularyMethods):
    """A collection whose documents can be given other topics."""

    def corrections(self) -> list[Correction]:
        """What users have said of documents and topics, by document; that of a retired topic is of what it led to."""
        found = self.catalog.corrections(self.name)
        leads = {id_: self.catalog.successors(self.name, id_) for id_ in {one.topic for one in found}}
        return [replace(one, topic=next(iter(leads[one.topic]), one.topic)) for one in found]

    @on_live_generation
    def correct_topic(
        self,
        name: str,
        documents: Sequence[str],
        *,
        belongs: bool | None = True,
        progress: Progress = no_progress,
    ) -> RunReport:
        """Say that documents have a topic, or have it not, and fit topics again, which learn from it.

        A document that was given topics has those and no others. Later runs, refits and retrains keep it.

        Args:
            belongs: None forgets what was said.

        Raises:
            NotFound: There is no such topic, or no such document; then nothing is changed.
            QueryError: The topic has subtopics, or there are too many corrections.
        """
        tree = self.topic_tree()
        topic = tree.by_id[self.topic_id(name)]
        if tree.subtopics(topic.id):
            raise QueryError(
                f"'{topic.label}' ({topic.id}) has subtopics; documents belong to these.",
                hint="indexer topics lists them.",
            )
        self._check_there(documents)
        if belongs is None:
            self._forget(topic, documents)
        else:
            self.catalog.save_corrections(
                self.name, [Correction(id_, topic.id, belongs) for id_ in documents]
            )
        return self.index([], progress=progress)

    def _forget(self, topic: Topic, documents: Sequence[str]) -> None:
        """Remove what was said of documents and a topic, or of one that has led to it."""
        said = {
            (one.document, was.topic)
            for one, was in zip(self.corrections(), self.catalog.corrections(self.name), strict=True)
            if one.topic == topic.id and one.document in documents
        }
        if not said:
            raise NotFound(
                f"Nothing was said of these documents and '{topic.label}'.",
                command="indexer topics corrections",
            )
        for was in {was for _, was in said}:
            self.catalog.remove_corrections(self.name, was, [document for document, of in said if of == was])
