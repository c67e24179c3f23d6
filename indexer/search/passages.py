"""The sentence of each hit that is nearest to the query in meaning, by the vectors of the phrases that are in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from indexer.engines.base import NearSentence
from indexer.records import StoredDocument


def passages(near: Iterable[NearSentence], documents: Sequence[StoredDocument]) -> dict[str, str]:
    """Choose the nearest sentence of each text. Titles are read anyway, and are not chosen.

    Nothing is encoded, so it takes a few milliseconds; docs/search.md compares it with encoding every sentence.

    Returns:
        Document id ► sentence; documents without a phrase outside the title are missing.
    """
    texts = {one.document.id: one.document.text for one in documents}
    best: dict[str, NearSentence] = {}
    for one in near:
        id_ = one.document_id
        # Not in the text: in the title, or of a text that has just been replaced.
        if one.sentence in texts.get(id_, "") and (id_ not in best or one.similarity > best[id_].similarity):
            best[id_] = one
    return {id_: one.sentence for id_, one in best.items()}
