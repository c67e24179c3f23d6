"""What `prepare` leaves for `encode`: sentences and candidate phrases of a batch, as offsets, compressed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping

from indexer.catalog.entries import Candidate


def packed(candidates: Mapping[str, Candidate]) -> bytes:
    """Document id ► candidates, as bytes."""
    plain = {id_: [c.content_hash, c.sentences, c.mentions] for id_, c in candidates.items()}
    return zlib.compress(json.dumps(plain, separators=(",", ":")).encode("ascii"), level=1)


def unpacked(data: bytes) -> dict[str, Candidate]:
    """The other way round."""
    return {
        id_: Candidate(hash_, tuple(map(tuple, sentences)), tuple(map(tuple, mentions)))
        for id_, (hash_, sentences, mentions) in json.loads(zlib.decompress(data)).items()
    }
