"""Small classifiers of pairs of vectors as paraphrases or not, trained on one part, chosen on another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats

PARTS = ("train", "dev", "test")
HIDDEN = 256  # as in Phrase-BERT, and in Yu and Ettinger 2020
EPOCHS = 30  # at most
BATCH = 200  # pairs per update
PATIENCE = 5  # epochs without a better dev accuracy
DECAY = 1.0  # L2 penalty of the network on `features`
PENALTIES = (1e-3, 1e-2)  # inverse strengths tried with logistic regression

Accuracies = tuple[float, float]  # on dev and test, 0 to 1


@dataclass(frozen=True)
class Pairs:
    """Pairs of phrases in vectors, with a label each.

    Attributes:
        a, b: float32 [n, dims], unit length.
        label: int [n], 1 = paraphrases, 0 = not.
    """

    a: Floats
    b: Floats
    label: NDArray[np.intp]

    @property
    def cosine(self) -> Floats:
        """float32 [n]."""
        cosines: Floats = np.sum(self.a * self.b, axis=1)
        return cosines

    @property
    def both(self) -> Floats:
        """Both vectors, concatenated: float32 [n, 2 dims]."""
        return np.hstack([self.a, self.b])

    @property
    def features(self) -> Floats:
        """Both vectors, their absolute difference and their product: float32 [n, 4 dims]."""
        return np.hstack([self.a, self.b, np.abs(self.a - self.b), self.a * self.b])


def by_threshold(parts: Mapping[str, Pairs]) -> float:
    """Accuracy on ``test``, 0 to 1, of the cosine threshold that is best on ``train``."""
    threshold = best_threshold(parts["train"].cosine, parts["train"].label)
    return float(np.mean((parts["test"].cosine >= threshold) == parts["test"].label))


def best_threshold(cosines: Floats, label: NDArray[np.intp]) -> float:
    """The cosine threshold with the highest accuracy, in the middle of a gap.

    Args:
        cosines: float [n]. label: int [n], 0 or 1.
    """
    order = np.argsort(-cosines, kind="stable")
    ranked = cosines[order].astype(np.float64)
    gained = np.r_[0, np.cumsum(2 * label[order] - 1)]  # [n + 1]: with the first 0 to n predicted as 1
    edges = np.r_[ranked[0] + 1, (ranked[1:] + ranked[:-1]) / 2, ranked[-1] - 1]
    possible = np.r_[True, ranked[1:] < ranked[:-1], True]  # equal cosines cannot be separated
    return float(edges[np.argmax(np.where(possible, gained, gained.min() - 1))])


def as_published(parts: Mapping[str, Pairs], seeds: Sequence[int]) -> list[float]:
    """Accuracy on ``test`` of one hidden layer on both vectors, 0 to 1; its epoch is the best one on ``dev``."""
    spaces = _scaled({name: part.both for name, part in parts.items()})
    return [_best(_network(spaces, parts, seed, decay=1e-4)) for seed in seeds]


def by_classifier(parts: Mapping[str, Pairs], seeds: Sequence[int]) -> list[float]:
    """Accuracy on ``test`` of the classifier on `Pairs.features` that is best on ``dev``, 0 to 1.

    The candidates are logistic regression, which has no seed, and a network with one hidden layer after each epoch.
    """
    spaces = _scaled({name: part.features for name, part in parts.items()})
    regressions = list(_regressions(spaces, parts))
    return [_best([*regressions, *_network(spaces, parts, seed, decay=DECAY)]) for seed in seeds]


def _best(tried: Iterable[Accuracies]) -> float:
    """The test accuracy of the highest dev accuracy, the first of equals."""
    return max(tried, key=lambda accuracies: accuracies[0])[1]


def _regressions(spaces: Mapping[str, Floats], parts: Mapping[str, Pairs]) -> Iterator[Accuracies]:
    from sklearn.linear_model import LogisticRegression

    for penalty in PENALTIES:
        model = LogisticRegression(C=penalty, max_iter=500)
        model.fit(spaces["train"], parts["train"].label)
        yield _accuracies(model, spaces, parts)


def _network(
    spaces: Mapping[str, Floats], parts: Mapping[str, Pairs], seed: int, *, decay: float
) -> Iterator[Accuracies]:
    """Accuracies after each epoch, until dev has not improved for `PATIENCE` epochs."""
    from sklearn.neural_network import MLPClassifier

    rows = len(spaces["train"])
    model = MLPClassifier(
        (HIDDEN,), alpha=decay, batch_size=min(BATCH, rows), random_state=seed
    )  # ReLU, Adam
    best, waited = -1.0, 0
    for _ in range(EPOCHS):
        model.partial_fit(spaces["train"], parts["train"].label, classes=(0, 1))
        dev, test = _accuracies(model, spaces, parts)
        yield dev, test
        best, waited = (dev, 0) if dev > best else (best, waited + 1)
        if waited >= PATIENCE:
            return


def _scaled(spaces: Mapping[str, Floats]) -> dict[str, Floats]:
    """The spaces, each column scaled to mean 0 and deviation 1 on train."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(spaces["train"])
    return {name: scaler.transform(space) for name, space in spaces.items()}


def _accuracies(model: Any, spaces: Mapping[str, Floats], parts: Mapping[str, Pairs]) -> Accuracies:
    dev, test = (float(np.mean(model.predict(spaces[name]) == parts[name].label)) for name in ("dev", "test"))
    return dev, test
