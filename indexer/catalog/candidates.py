"""What `prepare` leaves for `encode`: sentences and candidate phrases of documents, as offsets."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping

from sqlalchemy import delete, select

from indexer.catalog.database import Database, chunks, now
from indexer.catalog.tables import PreparedRow as P
from indexer.records import Mention, Prepared, Sentence


class Candidates(Database):
    def save_prepared(self, collection: str, prepared: Mapping[str, tuple[str, Prepared]]) -> None:
        """Keep what was prepared, as document id ► (content hash, prepared). Saving again overwrites."""
        at = now()
        rows = (
            {
                "collection": collection,
                "id": id_,
                "content_hash": content_hash,
                "data": _packed(one),
                "created_at": at,
            }
            for id_, (content_hash, one) in sorted(prepared.items())
        )
        statement = self._upsert(P, update=("content_hash", "data", "created_at"))
        for some in chunks(rows):
            with self._writing() as connection:
                connection.execute(statement, some)

    def prepared(self, collection: str, ids: Iterable[str]) -> dict[str, tuple[str, Prepared]]:
        """What was left for these documents. Compare the content hash: the text may have changed since."""
        found: dict[str, tuple[str, Prepared]] = {}
        with self._reading() as connection:
            for some in chunks(ids):
                query = select(P.id, P.content_hash, P.data).where(P.collection == collection, P.id.in_(some))
                for row in connection.execute(query):
                    found[row.id] = row.content_hash, _unpacked(bytes(row.data))
        return found

    def drop_prepared(self, collection: str, ids: Iterable[str]) -> None:
        """Remove what was left for these documents; unknown ids are ignored."""
        for some in chunks(sorted(set(ids))):
            with self._writing() as connection:
                connection.execute(delete(P).where(P.collection == collection, P.id.in_(some)))


def _packed(prepared: Prepared) -> bytes:
    plain = {
        "sentences": [[s.start, s.end] for s in prepared.sentences],
        "mentions": [[m.start, m.end, m.phrase] for m in prepared.mentions],
    }
    return zlib.compress(json.dumps(plain, separators=(",", ":")).encode("ascii"))


def _unpacked(data: bytes) -> Prepared:
    plain = json.loads(zlib.decompress(data))
    return Prepared(
        tuple(Sentence(start, end) for start, end in plain["sentences"]),
        tuple(Mention(start, end, phrase) for start, end, phrase in plain["mentions"]),
    )
