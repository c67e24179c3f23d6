"""Fusion of the ranking by words and the ranking by meaning: a convex combination of their scores.

Source: Bruch, Gai and Ingber 2023, "An analysis of fusion functions for hybrid retrieval", section 4. The scores by words
are divided by the highest of the query; cosines stay as they are. docs/search.md says how the share was chosen, and what
reciprocal ranks give.
"""

from __future__ import annotations

from collections.abc import Mapping

from indexer.engines.base import Ranking

MEANING_SHARE = 0.65
KNOWN = 500  # the best so many by words are fused
NEAREST = 200  # and the nearest so many by meaning
Found = tuple[str, float, dict[str, int]]  # id, score, ranks


def fuse(words: Ranking, meaning: Ranking) -> list[Found]:
    """Join rankings, ties by id; then those with the words that come later, as they are ranked.

    A score that is not known, because the document is beyond the best of that ranking, counts as the lowest one that is.
    Only the best of each count, however deep they are known: so a document is on the same page in every request.
    """
    by_words, by_meaning = _best(words, KNOWN), _best(meaning, NEAREST)
    highest = max(by_words.values(), default=0.0) or 1.0
    # A document that is in a ranking that is known to its end is without the words, or has no vector.
    lowest_words = min(by_words.values(), default=0.0) if words.total > len(by_words) else 0.0
    lowest_meaning = min(by_meaning.values(), default=0.0)
    scores = {
        id_: MEANING_SHARE * by_meaning.get(id_, lowest_meaning)
        + (1 - MEANING_SHARE) * by_words.get(id_, lowest_words) / highest
        for id_ in {**by_words, **by_meaning}
    }
    ranks: dict[str, dict[str, int]] = {}
    for name, ids in (("words", words.ids), ("meaning", meaning.ids[:NEAREST])):
        for rank, id_ in enumerate(ids, 1):
            ranks.setdefault(id_, {})[name] = rank
    order = sorted(scores, key=lambda id_: (-scores[id_], id_))
    last = min(scores.values(), default=0.0)
    later = [(id_, last * KNOWN / rank) for rank, id_ in enumerate(words.ids, 1) if id_ not in scores]
    return [(id_, score, ranks[id_]) for id_, score in [*((id_, scores[id_]) for id_ in order), *later]]


def _best(ranking: Ranking, number: int) -> Mapping[str, float]:
    return dict(zip(ranking.ids[:number], ranking.scores[:number], strict=True))
