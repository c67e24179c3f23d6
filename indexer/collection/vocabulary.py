"""Methods for the user's own vocabulary, whose terms are topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from indexer.catalog.vocabulary import MAX_TERMS, Term
from indexer.collection.base import on_live_generation
from indexer.collection.indexing import IndexMethods
from indexer.collection.queries import MINED_FIELDS
from indexer.collection.topics import TopicMethods
from indexer.engines.base import SearchRequest
from indexer.errors import QueryError
from indexer.pipeline.run import RunReport
from indexer.protocols import Progress, no_progress
from indexer.topics.vocabulary_files import is_label


class VocabularyMethods(IndexMethods, TopicMethods):
    """A collection with a vocabulary."""

    def vocabulary(self) -> list[Term]:
        """The user's own terms, by the number of their topics."""
        return self.catalog.terms(self.name)

    def terms_of_field(self, field: str) -> list[Term]:
        """The values of a field of the documents as terms, the most frequent first: these documents are their examples.

        Raises:
            QueryError: No document has the field.
        """
        if field in MINED_FIELDS:
            raise QueryError(f"'{field}' is mined; a vocabulary is made of a field that documents came with.")
        self.check_filters((), (field,))
        request = SearchRequest(limit=0, facets=(field,), facet_size=MAX_TERMS)
        values = [value for value, _ in self.engine.search(request).facets[field]]
        labels = {value.casefold(): value for value in reversed(values) if is_label(value)}
        return [Term(label, label, field=field) for label in reversed(labels.values())]

    @on_live_generation
    def add_terms(
        self, terms: Iterable[Term], *, strict: bool = False, progress: Progress = no_progress
    ) -> RunReport:
        """Add terms to the vocabulary, or replace those of the same key, and fit topics again: each term is a topic.

        Mined topics that a term covers lead to it, the others stay beside the terms. Later refits and retrains keep this.

        Args:
            strict: There are no other topics.

        Raises:
            QueryError: There are too many, or a user has given the label of one to a topic that is not a term.
        """
        wanted = list(terms)
        tree = self.topic_tree()
        named = {
            topic.label.casefold(): topic for topic in tree.topics if topic.label_locked and not topic.term
        }
        if taken := next(
            (named[term.label.casefold()] for term in wanted if term.label.casefold() in named), None
        ):
            raise QueryError(
                f"You have named a topic '{taken.label}' already: {taken.id}.",
                hint="Take that name back, or name it otherwise.",
                command=f"indexer topics rename {taken.id} --mined",
            )
        self.catalog.save_terms(self.name, wanted)
        self.catalog.set_strict(self.name, strict)
        return self.index([], progress=progress)

    @on_live_generation
    def remove_terms(
        self, keys: Collection[str] | None = None, *, progress: Progress = no_progress
    ) -> RunReport:
        """Remove terms from the vocabulary by key or label, or all, and fit topics again.

        What was a term continues as a mined topic where its documents still make one.

        Raises:
            NotFound: There is no such term.
        """
        labels = {term.label.casefold(): term.key for term in self.vocabulary()}
        wanted = None if keys is None else [labels.get(key.casefold(), key) for key in keys]
        self.catalog.remove_terms(self.name, wanted)
        return self.index([], progress=progress)
