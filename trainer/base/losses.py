"""Losses: tensors in, one number out. The recipe chooses the texts of the rows."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

TEMPERATURE = 0.05
MARGIN = 0.5  # of squared distances between unit vectors, which are 0 to 4


def info_nce(
    anchors: Tensor, positives: Tensor, allowed: Tensor | None = None, *, temperature: float = TEMPERATURE
) -> Tensor:
    """Symmetric InfoNCE with in-batch negatives (UCTopic, ACL 2022, equation 1; both directions averaged).

    Row i of `anchors` should be nearest to row i of `positives` among all rows, and the reverse.

    Args:
        anchors, positives: float [batch, dims]; scaled to unit length here.
        allowed: bool [batch, batch]; False where positives[j] is not a negative of anchors[i]. The diagonal always is.
        temperature: Divisor of the cosines.

    Returns:
        float [].
    """
    scores = F.normalize(anchors, dim=-1) @ F.normalize(positives, dim=-1).T / temperature  # [batch, batch]
    if allowed is not None:
        own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
        scores = scores.masked_fill(~(allowed | own), -torch.inf)
    target = torch.arange(len(scores), device=scores.device)
    return (F.cross_entropy(scores, target) + F.cross_entropy(scores.T, target)) / 2


def cluster_contrast(
    anchors: Tensor,
    positives: Tensor,
    negatives: Tensor,
    allowed: Tensor,
    *,
    temperature: float = TEMPERATURE,
) -> Tensor:
    """Contrast with one negative of every other cluster (UCTopic, ACL 2022, equation 3).

    Args:
        anchors, positives: float [batch, dims]; row i of both is of one cluster. Scaled to unit length here.
        negatives: float [clusters, dims], one mention of each cluster.
        allowed: bool [batch, clusters]; False where the negative is of the anchor's own cluster.

    Returns:
        float [].
    """
    anchors, positives, negatives = (F.normalize(t, dim=-1) for t in (anchors, positives, negatives))
    right = (anchors * positives).sum(dim=1, keepdim=True) / temperature  # [batch, 1]
    wrong = (anchors @ negatives.T / temperature).masked_fill(~allowed, -torch.inf)  # [batch, clusters]
    target = torch.zeros(len(anchors), dtype=torch.long, device=anchors.device)
    return F.cross_entropy(torch.cat([right, wrong], dim=1), target)


def different_phrases(phrases: Sequence[tuple[str, str]]) -> Tensor:
    """Which pairs of rows may be negatives of each other: not those where one phrase contains the other.

    Args:
        phrases: Of each row, the phrase of its anchor and of its positive, in lower case.

    Returns:
        bool [batch, batch].
    """
    padded = [[f" {phrase} " for phrase in pair] for pair in phrases]
    return torch.tensor(
        [[not any(a in b or b in a for a in mine for b in others) for others in padded] for mine in padded],
        dtype=torch.bool,
    ).reshape(len(phrases), len(phrases))


def kept_as_before(vectors: Tensor, before: Tensor) -> Tensor:
    """How far vectors have moved from where they were: 1 - cosine, mean over rows.

    Args:
        vectors, before: float [batch, dims].

    Returns:
        float [], 0 when nothing has moved.
    """
    return (1 - F.cosine_similarity(vectors, before, dim=-1)).mean()


def span_contrast(scores: Tensor, right: Tensor) -> Tensor:
    """Contrast of keyphrases with all other candidates of their document (SimCKP 2023, equation 3).

    Each keyphrase is compared with the wrong candidates alone, not with the other keyphrases, and their losses add up.

    Args:
        scores: float [candidates], similarity to the document divided by the temperature.
        right: bool [candidates], which are keyphrases; at least one.

    Returns:
        float []; right * ln(1 + wrong) when all scores are equal.
    """
    wrong = torch.logsumexp(scores[~right], dim=0)  # -inf where there is none
    return (torch.logaddexp(scores[right], wrong) - scores[right]).sum()


def triplet(anchors: Tensor, positives: Tensor, negatives: Tensor, *, margin: float = MARGIN) -> Tensor:
    """How far each positive is from being nearer than each negative, by a margin (SEKE 2022, equation 8).

    Args:
        anchors, positives: float [batch, dims].
        negatives: float [batch, n, dims], those of each anchor.

    Returns:
        float [], mean over all pairs of an anchor and a negative; squared distances.
    """
    near = (anchors - positives).square().sum(dim=-1)  # [batch]
    far = (anchors.unsqueeze(1) - negatives).square().sum(dim=-1)  # [batch, n]
    return F.relu(near.unsqueeze(1) - far + margin).mean()


def triplet_by_distance(
    anchors: Tensor, positives: Tensor, negatives: Tensor, *, margin: float = 1.0
) -> Tensor:
    """How far each positive is from being nearer than its negative, by a margin (Phrase-BERT, EMNLP 2021, equation 1).

    Args:
        anchors, positives, negatives: float [batch, dims].
        margin: In the unit of the vectors, whose length counts.

    Returns:
        float [], mean over rows; Euclidean distances.
    """
    near = (anchors - positives).norm(dim=-1)  # [batch]
    far = (anchors - negatives).norm(dim=-1)
    return F.relu(near - far + margin).mean()


def nt_xent(one: Tensor, other: Tensor, *, temperature: float) -> Tensor:
    """Row i of each view against all other rows of both views (NT-Xent; HS-GC 2024, equations 3 to 5, and 10 and 11).

    Args:
        one, other: float [batch, dims], two views of the same things; scaled to unit length here.
        temperature: Divisor of the cosines.

    Returns:
        float [], mean over the 2 * batch rows; ln(2 * batch - 1) when all rows are equal.
    """
    both = F.normalize(torch.cat([one, other]), dim=-1)  # [2 * batch, dims]
    scores = both @ both.T / temperature
    scores = scores.masked_fill(torch.eye(len(both), dtype=torch.bool, device=both.device), -torch.inf)
    target = torch.arange(len(both), device=both.device).roll(len(one))  # the other view of each row
    return F.cross_entropy(scores, target)


def local_centres(vectors: Tensor, labels: Tensor, number: int) -> Tensor:
    """Centres of the clusters in one batch (HS-GC 2024, equations 6 and 7).

    Args:
        vectors: float [batch, dims]. labels: int [batch], 0 to `number` - 1.

    Returns:
        float [number, dims], unit length; 0 for a cluster that the batch does not have.
    """
    sums = torch.zeros(number, vectors.shape[1], dtype=vectors.dtype, device=vectors.device)
    return F.normalize(sums.index_add(0, labels, vectors), dim=-1)


def global_centres(before: Tensor, local: Tensor, *, momentum: float) -> Tensor:
    """Centres as the batches so far have left them, a little nearer to those of this one (HS-GC 2024, equation 9).

    Args:
        before: float [clusters, dims]. local: float [clusters, dims], from `local_centres`.

    Returns:
        float [clusters, dims]; a cluster that the batch does not have stays where it was.
    """
    there = local.detach().abs().sum(dim=-1, keepdim=True) > 0  # [clusters, 1]
    return torch.where(there, momentum * before + (1 - momentum) * local, before)
