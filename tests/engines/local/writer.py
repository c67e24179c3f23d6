"""A process that writes until it is killed. What it writes can be checked from ids and versions alone.

python writer.py FOLDER SEED
"""

from __future__ import annotations

import hashlib
import sys
from itertools import count
from pathlib import Path

import numpy as np

from indexer.engines.local import LocalEngine
from indexer.records import Document, Keyphrase, MentionRow, MinedDocument, PhraseRow, Place, TopicWeight

DIMS = 32


def vector(*parts: object) -> np.ndarray:
    """A unit vector that belongs to these parts."""
    seed = int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "little")
    made = np.random.default_rng(seed).standard_normal(DIMS).astype(np.float32)
    return made / np.linalg.norm(made)


def document(id_: str, version: int) -> Document:
    return Document(
        id_, f"word version{version} " * 20, f"title {id_}", {"version": version, "kind": version % 3}
    )


def mined(id_: str, version: int) -> MinedDocument:
    phrases = [f"phrase {(version + at) % 7}" for at in range(version % 5)]
    mentions = tuple(
        MentionRow(
            id_,
            f"p-{p}",
            p,
            p,
            0.5,
            (Place("text", 0, 4),),
            "word",
            vector(id_, version, p),
            f"t-{version % 4}",
        )
        for p in phrases
    )
    keyphrases = tuple(Keyphrase(f"p-{phrase}", phrase, 0.5, (Place("text", 0, 5),)) for phrase in phrases)
    topics = (TopicWeight(f"t-{version % 4}", 0.5),)
    hash_ = document(id_, version).content_hash
    return MinedDocument(
        id_, vector(id_, version), keyphrases, topics, mentions, "b", f"run-{version}", hash_
    )


def phrase(text: str, version: int) -> PhraseRow:
    return PhraseRow(f"p-{text}", text, (text,), version, (), vector(text, version))


def write(engine: LocalEngine, seed: int, rounds: range | count[int]) -> None:
    random = np.random.default_rng(seed)
    for version in rounds:
        ids = [f"d{number}" for number in random.integers(0, 200, 12)]
        engine.store([document(id_, version) for id_ in ids])
        engine.write_mined([mined(id_, version) for id_ in ids])
        engine.delete(ids[:2])
        engine.write_phrases([phrase(f"phrase {version % 7}", version)])
        if version % 5 == 0:
            engine.compact()


if __name__ == "__main__":
    engine = LocalEngine(Path(sys.argv[1]), DIMS)
    print("ready", flush=True)
    write(engine, int(sys.argv[2]), count(int(sys.argv[2])))
