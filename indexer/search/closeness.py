"""Whether the nearest documents are close to a query at all: a query without a meaning has nearest documents, too.

The yardstick is made on the collection itself: words of random letters are searched, and a query counts as close to
something when its nearest document is nearer than those of 19 of 20 such words. docs/search.md has figures.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random
from string import ascii_lowercase

import numpy as np

from indexer.common import remember, remembered
from indexer.engines.base import Engine, SearchRequest
from indexer.protocols import Encoder

MEANINGLESS = 32  # queries
Z = 1.645  # standard deviations below which a normal distribution has 95 %
GROWN = 2  # a collection that has so many times as many documents, or as few, is measured again


def closeness_file(home: Path, collection: str) -> Path:
    """Return where the result for a collection is kept."""
    return home / "closeness" / f"{collection}.json"


def cosine_by_chance(engine: Engine, encoder: Encoder, memory: Path) -> float:
    """Return the cosine with the nearest document that 19 of 20 queries of random letters stay below.

    Args:
        memory: Where the result is kept; where it cannot be written, it is worked out again.
    """
    everything = engine.search(SearchRequest(limit=0)).words
    documents = everything.total if everything else 0
    with suppress(ValueError, TypeError, KeyError):
        kept = remembered(memory)
        if (
            kept["bundle"] == encoder.bundle
            and documents <= GROWN * kept["documents"] <= GROWN**2 * documents
        ):
            return float(kept["cosine"])
    nearest = [_nearest(engine, vector) for vector in encoder.encode_texts(meaningless())]
    cosine = float(np.mean(nearest) + Z * np.std(nearest))
    remember(memory, {"bundle": encoder.bundle, "documents": documents, "cosine": cosine})
    return cosine


def meaningless() -> list[str]:
    """Queries of one to three words of random letters, the same each time."""
    random = Random(0)
    return [" ".join(_word(random) for _ in range(random.randint(1, 3))) for _ in range(MEANINGLESS)]


def _word(random: Random) -> str:
    return "".join(random.choices(ascii_lowercase, k=random.randint(4, 9)))


def _nearest(engine: Engine, vector: np.ndarray) -> float:
    found = engine.search(SearchRequest(vector=vector, limit=1)).meaning
    return found.scores[0] if found and found.scores else 0.0
