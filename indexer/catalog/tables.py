"""The tables. A change here needs a new file in migrations/versions; a test compares the two."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    DateTime,
    Dialect,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    TypeDecorator,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from indexer.catalog.entries import (
    BATCH_STATES,
    DOCUMENT_STATES,
    LINEAGE_KINDS,
    RUN_STATES,
    STAGES,
    TOPIC_STATES,
)

SCHEMA = "0011"  # the newest file in migrations/versions

# Ids and sources compare by code point, as in Python, independent of the database's locale.
Key = Text().with_variant(Text(collation="C"), "postgresql")
RowNumber = BigInteger().with_variant(Integer(), "sqlite")  # SQLite counts up by itself only in an INTEGER


class UtcDateTime(TypeDecorator[datetime]):
    """Aware in and out. SQLite would drop the time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
        }
    )
    type_annotation_map: ClassVar = {
        str: Text(),
        datetime: UtcDateTime(),
        dict[str, Any]: JSON(),
        list[str]: JSON(),
    }


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    return CheckConstraint(f"{column} IN ({', '.join(repr(v) for v in values)})", name=column)


class DocumentRow(Base):
    __tablename__ = "documents"
    __table_args__ = (
        _one_of("state", DOCUMENT_STATES),
        Index(None, "collection", "state", "id"),
        {"sqlite_with_rowid": False},
    )

    collection: Mapped[str] = mapped_column(Key, primary_key=True)
    id: Mapped[str] = mapped_column(Key, primary_key=True)
    content_hash: Mapped[str]
    source: Mapped[str] = mapped_column(Key)
    state: Mapped[str]
    bundle: Mapped[str]
    run: Mapped[str]
    topic_fit: Mapped[str]
    seen_run: Mapped[str]
    updated_at: Mapped[datetime]
    sketch: Mapped[bytes | None] = mapped_column(LargeBinary)  # None: not compared with other documents yet


class RunRow(Base):
    __tablename__ = "runs"
    __table_args__ = (_one_of("state", RUN_STATES), Index(None, "collection", "id"))

    id: Mapped[str] = mapped_column(Key, primary_key=True)
    collection: Mapped[str] = mapped_column(Key)
    kind: Mapped[str]
    state: Mapped[str]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    options: Mapped[dict[str, Any]]
    counts: Mapped[dict[str, Any]]
    error: Mapped[str]
    # The process that does it; pid 0 when no single process does.
    pid: Mapped[int] = mapped_column(BigInteger)
    host: Mapped[str]
    boot: Mapped[str]
    birth: Mapped[str]
    lock_token: Mapped[str]  # "" when it works without the collection's lock
    cut_to: Mapped[str] = mapped_column(Key, server_default="")  # the last document that was put into a batch
    started_by: Mapped[str] = mapped_column(server_default="")  # USER@HOST


class BundleRow(Base):
    __tablename__ = "bundles"

    collection: Mapped[str] = mapped_column(Key, primary_key=True)
    name: Mapped[str] = mapped_column(Key, primary_key=True)
    fingerprint: Mapped[str]
    path: Mapped[str]
    parent: Mapped[str]
    scores: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    files: Mapped[bytes | None] = mapped_column(LargeBinary)  # packed; of those that a retrain has made


class TopicRow(Base):
    __tablename__ = "topics"
    __table_args__ = (_one_of("state", TOPIC_STATES),)

    collection: Mapped[str] = mapped_column(Key, primary_key=True)
    id: Mapped[str] = mapped_column(Key, primary_key=True)
    number: Mapped[int]
    label: Mapped[str]
    label_locked: Mapped[bool]
    state: Mapped[str]
    born_run: Mapped[str]
    retired_run: Mapped[str]
    phrases: Mapped[list[str]]
    size: Mapped[int] = mapped_column(BigInteger)
    mark: Mapped[str] = mapped_column(server_default="")
    mined: Mapped[str] = mapped_column(server_default="")


class LineageRow(Base):
    __tablename__ = "lineage"
    __table_args__ = (
        _one_of("kind", LINEAGE_KINDS),
        ForeignKeyConstraint(["collection", "old_id"], ["topics.collection", "topics.id"]),
        ForeignKeyConstraint(["collection", "new_id"], ["topics.collection", "topics.id"]),
        Index(None, "collection", "old_id"),
        Index(None, "collection", "new_id"),
    )

    row: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=True)
    collection: Mapped[str] = mapped_column(Key)
    run: Mapped[str]
    old_id: Mapped[str | None] = mapped_column(Key)
    new_id: Mapped[str | None] = mapped_column(Key)
    kind: Mapped[str]
    score: Mapped[float] = mapped_column(Float(53))
    at: Mapped[datetime]
    label: Mapped[str] = mapped_column(server_default="")


class FitRow(Base):
    __tablename__ = "fits"
    __table_args__ = (
        Index(
            "uq_fits_live",
            "collection",
            unique=True,
            sqlite_where=text("live"),
            postgresql_where=text("live"),
        ),
    )

    collection: Mapped[str] = mapped_column(Key, primary_key=True)
    run: Mapped[str] = mapped_column(Key, primary_key=True)
    bundle: Mapped[str]
    created_at: Mapped[datetime]
    arrays: Mapped[bytes] = mapped_column(LargeBinary)  # safetensors
    info: Mapped[dict[str, Any]]
    live: Mapped[bool]


class GenerationRow(Base):
    """Generations that are live, or were; see `generations.py`."""

    __tablename__ = "generations"
    __table_args__ = (
        Index(
            "uq_generations_live",
            "collection",
            unique=True,
            sqlite_where=text("live"),
            postgresql_where=text("live"),
        ),
    )

    collection: Mapped[str] = mapped_column(Key, primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    live: Mapped[bool]
    fit: Mapped[str] = mapped_column(Key)
    replaced: Mapped[int]
    run: Mapped[str] = mapped_column(Key)


class DeadLetterRow(Base):
    __tablename__ = "dead_letters"
    __table_args__ = (
        _one_of("stage", STAGES),
        Index(
            "uq_dead_letters_open",
            *("collection", "source", "document_id", "stage"),
            unique=True,
            sqlite_where=text("resolved_at IS NULL"),
            postgresql_where=text("resolved_at IS NULL"),
        ),
        Index(None, "collection", "document_id"),
    )

    row: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=True)
    collection: Mapped[str] = mapped_column(Key)
    source: Mapped[str] = mapped_column(Key)
    document_id: Mapped[str] = mapped_column(Key)
    stage: Mapped[str]
    reason: Mapped[str]
    attempts: Mapped[int]
    first_at: Mapped[datetime]
    last_at: Mapped[datetime]
    resolved_at: Mapped[datetime | None]


class CounterRow(Base):
    """Counters of numbers that are never reused, even after a deletion."""

    __tablename__ = "counters"

    collection: Mapped[str] = mapped_column(Key, primary_key=True)
    name: Mapped[str] = mapped_column(Key, primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)


class LockRow(Base):
    __tablename__ = "locks"

    collection: Mapped[str] = mapped_column(Key, primary_key=True)
    token: Mapped[str]  # known to the holder only, so that no process releases another's lock
    owner: Mapped[str]
    pid: Mapped[int] = mapped_column(BigInteger)
    host: Mapped[str]
    boot: Mapped[str]
    birth: Mapped[str]
    since: Mapped[datetime]
    expires_at: Mapped[datetime]


class SavedSearchRow(Base):
    """Searches that are repeated after each run; see `saved_searches.py`."""

    __tablename__ = "saved_searches"

    collection: Mapped[str] = mapped_column(Key, primary_key=True)
    name: Mapped[str] = mapped_column(Key, primary_key=True)
    search: Mapped[dict[str, Any]]
    after_run: Mapped[str] = mapped_column(Key)
    created_at: Mapped[datetime]
    checked_at: Mapped[datetime | None]
    new: Mapped[int]
    error: Mapped[str]


class TermRow(Base):
    """A term of the user's own vocabulary; see `vocabulary.py`."""

    __tablename__ = "terms"

    collection: Mapped[str] = mapped_column(Key, primary_key=True)
    key: Mapped[str] = mapped_column(Key, primary_key=True)
    topic: Mapped[str] = mapped_column(Key)
    label: Mapped[str]
    synonyms: Mapped[list[str]]
    broader: Mapped[str] = mapped_column(Key)  # key of the term above it, or empty
    definition: Mapped[str]
    field: Mapped[str] = mapped_column(Key, server_default="")  # of documents, of which the label is a value


class CorrectionRow(Base):
    """A topic that a user has given to a document, or taken away; see `corrections.py`."""

    __tablename__ = "corrections"

    collection: Mapped[str] = mapped_column(Key, primary_key=True)
    document: Mapped[str] = mapped_column(Key, primary_key=True)
    topic: Mapped[str] = mapped_column(Key, primary_key=True)
    belongs: Mapped[bool]


class NamingRow(Base):
    """What a language model was shown of a topic, and said; see `namings.py`."""

    __tablename__ = "namings"

    collection: Mapped[str] = mapped_column(Key, primary_key=True)
    topic: Mapped[str] = mapped_column(Key, primary_key=True)
    mined: Mapped[str] = mapped_column(Key, primary_key=True)
    model: Mapped[str] = mapped_column(Key, primary_key=True)
    shown: Mapped[dict[str, Any]]
    said: Mapped[str]
    name: Mapped[str]
    refused: Mapped[str]
    at: Mapped[datetime]


class BatchRow(Base):
    """Documents that workers are mining; see `batches.py`."""

    __tablename__ = "batches"
    __table_args__ = (_one_of("state", BATCH_STATES), Index(None, "collection"), Index(None, "run"))

    id: Mapped[str] = mapped_column(Key, primary_key=True)
    collection: Mapped[str] = mapped_column(Key)
    run: Mapped[str] = mapped_column(Key)
    state: Mapped[str]
    ids: Mapped[list[str]]
    candidates: Mapped[bytes | None] = mapped_column(LargeBinary)  # offsets only, compressed
    created_at: Mapped[datetime]
    not_before: Mapped[datetime | None]  # not claimed before
    sent_at: Mapped[datetime | None]  # its last message
    deaths: Mapped[int]
    failures: Mapped[int]
    tries: Mapped[int]
    error: Mapped[str]  # of the last release
    # The worker that holds it; "" none.
    token: Mapped[str]
    pid: Mapped[int] = mapped_column(BigInteger)
    host: Mapped[str]
    boot: Mapped[str]
    birth: Mapped[str]
    expires_at: Mapped[datetime | None]
