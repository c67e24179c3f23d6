"""The tables: creating, checking and upgrading them, and mapping document ids to row numbers and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from indexer.engines.values import unencodable
from indexer.errors import UPGRADE, EngineUnavailable, MappingMismatch

VERSION = 6  # in PRAGMA user_version; raise it when a table changes
WITH_PARENTS = 5  # the version from which on topics have parents
WITH_DUPLICATES = 6  # the version from which on near duplicates are marked
APPLICATION_ID = 0x1DC0_11EC  # marks the file as one of ours

TOPIC = "topic"  # names in `fields`; user fields are "meta.NAME"
TOPIC_PATH = "topic_path"  # counted from the topics and their parents; no document has it
KEYPHRASE = "keyphrase"  # present in the text
ABSENT = "absent_keyphrase"  # not present in the text
ABSENT_FIELD, TOPIC_FIELD, KEYPHRASE_FIELD = 0, 1, 2  # the user's own ones follow
FIELD_BITS = 32  # code of a value = field << 32 | number within the field, so a code tells its field
MENTION_BITS = 16  # number of a mention = doc << 16 | position within the document
BLOCK_BITS = 6  # documents per row of `code_blocks` = 64

TOKENIZER = "porter unicode61 remove_diacritics 2"
PLAIN_TOKENIZER = TOKENIZER.removeprefix("porter ")  # for languages that the stemmer does not know

WORDS = (
    "CREATE VIRTUAL TABLE words USING fts5("
    f"title, text, absent, content='texts', content_rowid='doc', tokenize='{TOKENIZER}')"
)
DUPLICATES = "CREATE INDEX documents_duplicate_of ON documents(duplicate_of) WHERE duplicate_of IS NOT NULL"
TITLES = "CREATE INDEX texts_title ON texts(title COLLATE NOCASE)"  # for completion while typing
WRITES = "INSERT INTO state VALUES ('writes', 0)"  # how many transactions have written; see `connections`
CHECKSUMS = (  # see `checksums`
    "CREATE TABLE vector_checksums("
    "kind TEXT, block INTEGER, crc INTEGER NOT NULL, PRIMARY KEY(kind, block)) WITHOUT ROWID"
)
TABLES = f"""
CREATE TABLE state(key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Which file holds the vectors of a kind and how many of its rows count; what lies behind them is left over
-- from a writer that was killed, and is overwritten.
CREATE TABLE vector_files(kind TEXT PRIMARY KEY, name TEXT NOT NULL, rows INTEGER NOT NULL) WITHOUT ROWID;

{CHECKSUMS};

-- Rows that are looked up by the thousand are kept short: long texts have their own tables.
CREATE TABLE documents(
    doc INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL,
    source TEXT NOT NULL,
    meta TEXT NOT NULL,
    duplicate_of TEXT             -- id of the original, of a near duplicate
);
{DUPLICATES};
-- `nuls`: where NUL characters stood in title and text, as JSON. They are stored as spaces: FTS5 stops at them.
-- `absent`: the absent keyphrases, to be searched with the text.
CREATE TABLE texts(
    doc INTEGER PRIMARY KEY, nuls TEXT, title TEXT NOT NULL, text TEXT NOT NULL, absent TEXT NOT NULL DEFAULT ''
);
{WORDS};
{TITLES};

-- Mention vectors of a document stand together: rows `first` to `first + mentions` of the mentions file.
CREATE TABLE mined(
    doc INTEGER PRIMARY KEY,
    slot INTEGER NOT NULL UNIQUE,
    first INTEGER,
    mentions INTEGER NOT NULL,
    bundle TEXT NOT NULL,
    run TEXT NOT NULL,
    topics TEXT NOT NULL
);
CREATE INDEX mined_without_topic ON mined(doc) WHERE topics = '[]';
CREATE UNIQUE INDEX mined_first ON mined(first) WHERE first IS NOT NULL;
CREATE TABLE keyphrases(doc INTEGER PRIMARY KEY, keyphrases TEXT NOT NULL);

CREATE TABLE names(code INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, phrase TEXT NOT NULL);
-- A mention's number is doc << 16 | position: rows of a document stand together, and new ones come last, which
-- SQLite does fastest. Its vector is row first + position.
CREATE TABLE mentions(
    mention INTEGER PRIMARY KEY,
    phrase INTEGER NOT NULL,      -- names.code
    score REAL NOT NULL,
    topic INTEGER,                -- number within the field topic
    sentence INTEGER NOT NULL,    -- number within the document
    surface TEXT,                 -- NULL: the same as the phrase
    places BLOB NOT NULL          -- field (0 title, 1 text), start and end of each, as int32
);
CREATE INDEX mentions_phrase ON mentions(phrase);
CREATE TABLE sentences(sentence INTEGER PRIMARY KEY, text TEXT NOT NULL);  -- doc << 16 | number

-- Phrases whose mentions changed since their row in `phrases` was written.
CREATE TABLE changed_phrases(code INTEGER PRIMARY KEY);
CREATE TABLE phrases(
    code INTEGER PRIMARY KEY,     -- names.code
    slot INTEGER NOT NULL UNIQUE,
    documents INTEGER NOT NULL,
    surfaces TEXT NOT NULL,
    topics TEXT NOT NULL
);
CREATE TABLE topics(
    id TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    phrases TEXT NOT NULL,
    size INTEGER NOT NULL,
    centroid BLOB NOT NULL,       -- float32
    named INTEGER NOT NULL,
    parent TEXT,                  -- id of the topic above it
    term TEXT NOT NULL DEFAULT '' -- key of the term of a vocabulary
) WITHOUT ROWID;

-- What documents are filtered by and counted by: topics, keyphrases and the user's own fields.
CREATE TABLE fields(field INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE facet_values(
    code INTEGER PRIMARY KEY,
    field INTEGER NOT NULL,
    value TEXT NOT NULL,          -- what is compared
    shown TEXT NOT NULL,          -- what is displayed
    number NUMERIC,               -- for numbers
    UNIQUE(field, value)
);
CREATE INDEX facet_numbers ON facet_values(field, number) WHERE number IS NOT NULL;
CREATE TABLE doc_values(code INTEGER, doc INTEGER, weight REAL, PRIMARY KEY(code, doc)) WITHOUT ROWID;
-- The same by document, for counting: block = doc >> 6, how many codes each of its 64 documents has (uint32), and
-- the codes (int64).
CREATE TABLE code_blocks(block INTEGER PRIMARY KEY, lengths BLOB NOT NULL, codes BLOB NOT NULL);
"""

KINDS = ("documents", "mentions", "phrases")


def prepare(connection: sqlite3.Connection, file: Path, dims: int, language: str) -> None:
    """Create the tables in a new file; in an existing one, check version and vector length.

    Call it inside a write transaction when the file may be new.

    Raises:
        MappingMismatch: The file is of a newer version, of other vectors, or not a collection.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        _create(connection, dims, language)
        return
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise MappingMismatch(
            f"{file} is a SQLite file of another program.", hint="Choose another folder for the collection."
        )
    if version > VERSION:
        raise MappingMismatch(
            f"{file} has format {version}; this version reads up to {VERSION}.", hint=UPGRADE
        )
    (stored,) = connection.execute("SELECT value FROM state WHERE key = 'dims'").fetchone()
    if stored != dims:
        raise MappingMismatch(
            f"The collection in {file.parent} has vectors of {stored} numbers, the encoder makes {dims}.",
            hint="Use the bundle that it was indexed with, or index into a new collection.",
            stored=stored,
            expected=dims,
        )
    found = connection.execute("SELECT value FROM state WHERE key = 'language'").fetchone()
    if (made_for := found[0] if found else "english") != language:
        raise MappingMismatch(
            f"The collection in {file.parent} was made for texts in {made_for}, the setting language is {language}.",
            hint=f"Set INDEXER_LANGUAGE={made_for}, or index into a new collection.",
        )


def upgrade(connection: sqlite3.Connection, language: str) -> None:
    """Upgrade tables of earlier versions. Readers need no upgrade.

    Version 1 lacks the search in absent keyphrases, version 2 the checksums, version 3 the order of titles and the
    number of writes, version 4 the parents and terms of topics, version 5 near duplicates.

    Call it inside a write transaction, after `prepare`.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < 2:
        _add_absent(connection, language)
    if version < 3:
        connection.execute(CHECKSUMS)
    if version < 4:
        connection.execute(TITLES)
        connection.execute(WRITES)
    if version < WITH_PARENTS:
        connection.execute("ALTER TABLE topics ADD COLUMN parent TEXT")
        connection.execute("ALTER TABLE topics ADD COLUMN term TEXT NOT NULL DEFAULT ''")
    if version < WITH_DUPLICATES:
        connection.execute("ALTER TABLE documents ADD COLUMN duplicate_of TEXT")
        connection.execute(DUPLICATES)
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _add_absent(connection: sqlite3.Connection, language: str) -> None:
    connection.execute("ALTER TABLE texts ADD COLUMN absent TEXT NOT NULL DEFAULT ''")
    connection.execute("DROP TABLE words")
    connection.execute(_for_language(WORDS, language))
    connection.execute("INSERT INTO words(words) VALUES ('rebuild')")
    connection.execute("INSERT INTO fields VALUES (?, ?)", (ABSENT_FIELD, ABSENT))


def _for_language(statements: str, language: str) -> str:
    return statements if language == "english" else statements.replace(TOKENIZER, PLAIN_TOKENIZER)


def _create(connection: sqlite3.Connection, dims: int, language: str) -> None:
    tables = _for_language(TABLES, language)
    for statement in _statements(tables):
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if "no such module" not in str(error):
                raise
            raise EngineUnavailable(
                f"This Python's SQLite ({sqlite3.sqlite_version}) was built without FTS5.",
                hint="Use a Python from python.org, your distribution or conda, or an Elasticsearch engine.",
            ) from error
    connection.execute("INSERT INTO state VALUES ('dims', ?), ('language', ?)", (dims, language))
    connection.executemany(
        "INSERT INTO vector_files VALUES (?, ?, 0)", [(kind, f"{kind}-1.f16") for kind in KINDS]
    )
    connection.executemany(
        "INSERT INTO fields VALUES (?, ?)",
        [(ABSENT_FIELD, ABSENT), (TOPIC_FIELD, TOPIC), (KEYPHRASE_FIELD, KEYPHRASE)],
    )
    connection.execute(WRITES)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _statements(script: str) -> list[str]:
    """Split a script: `executescript` would commit the current transaction."""
    lines = [line.split("--")[0] for line in script.splitlines()]
    return [statement for statement in "\n".join(lines).split(";") if statement.strip()]


_CHUNK = 500  # values bound to one statement; SQLite took 999 at most before 3.32
_PAGE = 20  # the same for a page of a search: SQLite takes 0.4 ms for 500 values that are NULL


def select(connection: sqlite3.Connection, sql: str, keys: Collection[Any], *before: Any) -> Iterator[Any]:
    """Rows of `sql`, in which ``IN ({})`` takes all the keys; `before` is bound to the parameters before it."""
    rest = list(keys)
    size = _PAGE if len(rest) <= _PAGE else _CHUNK
    statement = sql.format(", ".join("?" * size))
    for start in range(0, len(rest), size):
        chunk = rest[start : start + size]
        # Always as many parameters, so that SQLite prepares the statement once.
        yield from connection.execute(statement, [*before, *chunk, *[None] * (size - len(chunk))])


def json_array(values: Iterable[int]) -> str:
    """Return row numbers for ``IN (SELECT value FROM json_each(?))``: one bound value for any number of rows."""
    return json.dumps(list(values))


def doc_numbers(connection: sqlite3.Connection, ids: Collection[str]) -> dict[str, int]:
    """Map document ids to row numbers; unknown ids are skipped."""
    return dict(select(connection, "SELECT id, doc FROM documents WHERE id IN ({})", storable_ids(ids)))


def doc_ids(connection: sqlite3.Connection, docs: Iterable[int]) -> dict[int, str]:
    """Map row numbers to document ids."""
    sql = "SELECT doc, id FROM documents WHERE doc IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(sql, (json_array(docs),)))


def storable_ids(ids: Collection[str]) -> list[str]:
    """Return the distinct ids, without those that cannot be stored."""
    requested = list(dict.fromkeys(ids))
    if not unencodable("".join(requested)):
        return requested
    return [id_ for id_ in requested if not unencodable(id_)]
