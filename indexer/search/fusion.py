"""Reciprocal rank fusion of two rankings (Cormack, Clarke and Büttcher, SIGIR 2009)."""

from __future__ import annotations

from indexer.engines.base import Ranking

FUSION_CONSTANT = 60  # Cormack et al. 2009; the value every engine ships
Found = tuple[str, float, dict[str, int]]  # id, score, ranks


def fuse(words: Ranking, meaning: Ranking) -> list[Found]:
    """Join rankings by reciprocal rank, ties by id; then those with the words that come later, as they are ranked.

    Only the best `DEPTH` of each count, however deep they are known: so a document is on the same page in every request.
    """
    ranks: dict[str, dict[str, int]] = {}
    for name, ranking in (("words", words), ("meaning", meaning)):
        for rank, id_ in enumerate(ranking.ids[: DEPTH if name == "meaning" else None], 1):
            ranks.setdefault(id_, {})[name] = rank
    scores = {
        id_: sum(1 / (FUSION_CONSTANT + rank) for rank in own.values() if rank <= DEPTH)
        or 1 / (FUSION_CONSTANT + own["words"])
        for id_, own in ranks.items()
    }
    order = sorted(scores, key=lambda id_: (-scores[id_], id_))
    return [(id_, scores[id_], ranks[id_]) for id_ in order]


DEPTH = 100  # the best so many of each ranking are fused; beside words, so many are listed by meaning
