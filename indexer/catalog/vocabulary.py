"""The terms of a user's own vocabulary, and the permanent topic of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, replace

from sqlalchemy import delete, select, update

from indexer.catalog.database import storable
from indexer.catalog.entries import topic_id
from indexer.catalog.tables import CounterRow as C
from indexer.catalog.tables import TermRow as T
from indexer.catalog.tables import TopicRow as R
from indexer.catalog.topics import Topics
from indexer.errors import NotFound, QueryError

STRICT = "strict vocabulary"  # in the counters: 1 or 0
MAX_TERMS = 2_000  # of a collection: each is compared with every document


@dataclass(frozen=True)
class Term:
    """A term of the user's own vocabulary, which is a topic.

    Attributes:
        key: By which a file names it, such as a URI; its label where the file has none.
        broader: Key of the term above it, or empty.
        topic: Id of its topic; given by the catalog, and never reused.
        field: Of documents: those in which the label is a value have the term, and it learns from them; or empty.
    """

    key: str
    label: str
    synonyms: tuple[str, ...] = ()
    broader: str = ""
    definition: str = ""
    topic: str = ""
    field: str = ""

    @property
    def text(self) -> str:
        """What is compared with documents."""
        names = ", ".join((self.label, *self.synonyms))
        return f"{names}. {self.definition}" if self.definition else names


class Vocabularies(Topics):
    def terms(self, collection: str) -> list[Term]:
        """Return all terms, by the number of their topics."""
        query = select(T).where(T.collection == collection).order_by(T.topic)
        with self._reading() as connection:
            rows = connection.execute(query).mappings()
            return [
                Term(**{f.name: row[f.name] for f in fields(Term)} | {"synonyms": tuple(row["synonyms"])})
                for row in rows
            ]

    def save_terms(self, collection: str, terms: Iterable[Term]) -> list[Term]:
        """Add terms, or replace those of the same key, which keep their topics. Returns them with their topics.

        Raises:
            QueryError: There would be too many.
        """
        known = {term.key: term for term in self.terms(collection)}
        wanted = {term.key: term for term in terms}
        fresh = [key for key in wanted if key not in known]
        if len(known) + len(fresh) > MAX_TERMS:
            raise QueryError(
                f"The vocabulary would have {len(known) + len(fresh):,} terms; it can have {MAX_TERMS:,}."
            )
        first = self.next_topic_number(collection, len(fresh)) if fresh else 0
        topics = {key: topic_id(first + at) for at, key in enumerate(fresh)}
        topics |= {key: known[key].topic for key in wanted if key in known}
        saved = [replace(term, topic=topics[key]) for key, term in wanted.items()]
        rows = [
            {
                "collection": collection,
                **{f.name: getattr(term, f.name) for f in fields(Term)},
                "label": storable(term.label),
                "synonyms": [storable(synonym) for synonym in term.synonyms],
                "definition": storable(term.definition),
            }
            for term in saved
        ]
        if rows:
            names = ("label", "synonyms", "broader", "definition", "field")
            with self._writing() as connection:
                connection.execute(self._upsert(T, update=names), rows)
        return saved

    def set_strict(self, collection: str, strict: bool) -> None:
        """Say whether the terms are the only topics of a collection."""
        row = {"collection": collection, "name": STRICT, "value": int(strict)}
        with self._writing() as connection:
            connection.execute(self._upsert(C, update=("value",)), row)

    def strict(self, collection: str) -> bool:
        """Return whether the terms are the only topics of a collection, where it has any."""
        with self._reading() as connection:
            value = connection.scalar(select(C.value).where(C.collection == collection, C.name == STRICT))
        return bool(value)

    def remove_terms(self, collection: str, keys: Collection[str] | None = None) -> int:
        """Remove terms by key, or all. Returns how many.

        Raises:
            NotFound: There is no term with one of the keys.
        """
        terms = self.terms(collection)
        known = {term.key for term in terms}
        if unknown := sorted(set(keys or ()) - known):
            raise NotFound(
                f"The vocabulary has no term '{unknown[0]}'.", hint="indexer topics vocabulary lists them."
            )
        gone = known if keys is None else set(keys)
        with self._writing() as connection:
            connection.execute(delete(T).where(T.collection == collection, T.key.in_(gone)))
            ids = [term.topic for term in terms if term.key in gone]
            named = update(R).where(R.collection == collection, R.id.in_(ids))
            connection.execute(named.values(label_locked=False))  # its name was that of the term
        return len(gone)
