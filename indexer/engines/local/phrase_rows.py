"""Phrases: their names, their rows, and the list of rows that are out of date."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from indexer.engines.local.row_ids import numbers, select, storable
from indexer.engines.local.vectors import Vectors, bad_vector, unit
from indexer.engines.values import unencodable
from indexer.errors import WriteRefused
from indexer.records import PhraseRow

_PAGE = 1_000


def known_names(connection: sqlite3.Connection, ids: Collection[str]) -> dict[str, int]:
    """Row numbers of the phrases that were stored before."""
    return dict(select(connection, "SELECT id, code FROM names WHERE id IN ({})", storable(ids)))


def name_codes(connection: sqlite3.Connection, phrases: Mapping[str, str]) -> dict[str, int]:
    """Row numbers of phrases (id ► normal form), made when they are new."""
    codes = known_names(connection, phrases)
    (last,) = connection.execute("SELECT coalesce(max(code), 0) FROM names").fetchone()
    new = [
        (code, id_, phrases[id_])
        for code, id_ in enumerate(sorted(id_ for id_ in phrases if id_ not in codes), last + 1)
    ]
    connection.executemany("INSERT INTO names VALUES (?, ?, ?)", new)
    return codes | {id_: code for code, id_, _ in new}


def mark_changed(connection: sqlite3.Connection, codes: Iterable[int]) -> None:
    """Put phrases on the list of those whose row in `phrases` is out of date."""
    marked = [(code,) for code in sorted(codes)]
    connection.executemany("INSERT OR IGNORE INTO changed_phrases VALUES (?)", marked)
    if marked:
        connection.execute(
            "INSERT INTO state VALUES ('marks', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1"
        )


def times_marked(connection: sqlite3.Connection) -> int:
    """How often phrases have been put on the list: who finds the same number has missed nothing."""
    found = connection.execute("SELECT value FROM state WHERE key = 'marks'").fetchone()
    return int(found[0]) if found else 0


def write(
    connection: sqlite3.Connection,
    vectors: Vectors,
    rows: Sequence[PhraseRow],
    still_changed: Collection[str],
) -> None:
    """Write or overwrite rows; a vector that is there already is not written again.

    Args:
        still_changed: Phrases that stay on the list of changed ones.
    """
    batch = list({row.phrase_id: row for row in rows}.values())
    for row in batch:
        reason = bad_vector(row.vector, vectors.dims) or unencodable(
            "\n".join([row.phrase_id, row.phrase, *row.surfaces, *row.topics])
        )
        if reason:
            raise WriteRefused(f"Phrase {row.phrase_id} was refused: {reason}.")
    names = name_codes(connection, {row.phrase_id: row.phrase for row in batch})
    codes = [names[row.phrase_id] for row in batch]
    old = dict(
        connection.execute(
            "SELECT code, slot FROM phrases WHERE code IN (SELECT value FROM json_each(?))",
            (numbers(codes),),
        )
    )
    stored = vectors.rows(connection, "phrases")
    changed = [
        at
        for at, (code, row) in enumerate(zip(codes, batch, strict=True))
        if code not in old or not np.array_equal(stored[old[code]], row.vector.astype(np.float16))
    ]
    slots = [old.get(code, -1) for code in codes]
    if changed:
        first = vectors.append(connection, "phrases", np.stack([batch[at].vector for at in changed]))
        for slot, at in enumerate(changed, first):
            slots[at] = slot
    connection.executemany(
        "INSERT OR REPLACE INTO phrases VALUES (?, ?, ?, ?, ?)",
        [
            (code, slot, row.documents, _json(row.surfaces), _json(row.topics))
            for code, slot, row in zip(codes, slots, batch, strict=True)
        ],
    )
    settled = [(names[row.phrase_id],) for row in batch if row.phrase_id not in still_changed]
    connection.executemany("DELETE FROM changed_phrases WHERE code = ?", settled)


def delete(connection: sqlite3.Connection, ids: Sequence[str], still_changed: Collection[str]) -> None:
    codes = known_names(connection, ids)
    connection.executemany("DELETE FROM phrases WHERE code = ?", [(code,) for code in codes.values()])
    settled = [(code,) for id_, code in codes.items() if id_ not in still_changed]
    connection.executemany("DELETE FROM changed_phrases WHERE code = ?", settled)


def page_of_changed(connection: sqlite3.Connection, after: int) -> list[tuple[int, str]]:
    """The next phrases whose row is out of date, as (number, id)."""
    return connection.execute(
        "SELECT c.code, n.id FROM changed_phrases c JOIN names n ON n.code = c.code WHERE c.code > ? "
        "ORDER BY c.code LIMIT ?",
        (after, _PAGE),
    ).fetchall()


def read(connection: sqlite3.Connection, vectors: Vectors, ids: Sequence[str]) -> list[PhraseRow]:
    """Rows in the order given; unknown ones are left out."""
    records = connection.execute(
        "SELECT n.id, n.phrase, p.surfaces, p.documents, p.topics, p.slot FROM names n "
        "JOIN phrases p ON p.code = n.code WHERE n.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    ).fetchall()
    matrix = unit(vectors.rows(connection, "phrases")[[record[-1] for record in records]])
    rows = {
        id_: PhraseRow(
            id_, phrase, tuple(json.loads(surfaces)), documents, tuple(json.loads(topics)), matrix[number]
        )
        for number, (id_, phrase, surfaces, documents, topics, _) in enumerate(records)
    }
    return [rows[id_] for id_ in ids if id_ in rows]


def ids_by_slot(connection: sqlite3.Connection, slots: Sequence[int]) -> dict[int, str]:
    """Which of these slots still hold the vector of a phrase, and of which."""
    rows = connection.execute(
        "SELECT p.slot, n.id FROM phrases p JOIN names n ON n.code = p.code "
        "WHERE p.slot IN (SELECT value FROM json_each(?))",
        (numbers(slots),),
    )
    return dict(rows)


def page_of_ids(connection: sqlite3.Connection, after: str) -> list[str]:
    """The next ids, ascending."""
    rows = connection.execute(
        "SELECT n.id FROM names n WHERE n.id > ? AND EXISTS (SELECT 1 FROM phrases WHERE code = n.code) "
        "ORDER BY n.id LIMIT ?",
        (after, _PAGE),
    )
    return [id_ for (id_,) in rows]


def _json(items: Sequence[str]) -> str:
    return json.dumps(list(items), ensure_ascii=False)
