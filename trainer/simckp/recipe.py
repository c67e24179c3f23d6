"""Both stages of SimCKP as one recipe: a dual encoder that puts keyphrases above the other candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from indexer.common import Floats
from indexer.errors import NotEnoughData
from indexer.keyphrases.ranker import TEMPERATURE, DualEncoder
from trainer.base.losses import span_contrast
from trainer.simckp.data import Example

DOCUMENTS = 8  # of a batch; the paper's
HIDDEN = 256
MIN_DOCUMENTS = 2 * DOCUMENTS
DROPPED = 0.1  # of the numbers of a vector
RANK = 5  # keyphrases that the dev score looks at


class DualRanker(nn.Module):
    """The layers of equation 2 over vectors that do not change, and the weights of the clues.

    Both layers start equal, so that the first scores are those of similarity.
    """

    def __init__(self, dims: int, clues: int) -> None:
        super().__init__()
        self.document = nn.Linear(dims, HIDDEN)
        self.phrase = nn.Linear(dims, HIDDEN)
        self.phrase.load_state_dict(self.document.state_dict())
        self.clues = nn.Parameter(torch.zeros(clues))

    def forward(self, vector: Tensor, phrases: Tensor, clues: Tensor) -> Tensor:
        """Scores of the candidates of one document: float [n], the cosine and what the clues add."""
        query = torch.tanh(self.document(vector))
        given = torch.tanh(self.phrase(phrases))
        return F.cosine_similarity(given, query.unsqueeze(0), dim=-1) + clues @ self.clues

    def frozen(self, threshold: float) -> DualEncoder:
        """The ranker for use."""
        parts = {
            "document": self.document.weight,
            "document_bias": self.document.bias,
            "phrase": self.phrase.weight,
            "phrase_bias": self.phrase.bias,
            "clues": self.clues,
        }
        arrays = {name: part.detach().cpu().numpy().astype(np.float32) for name, part in parts.items()}
        return DualEncoder(**arrays, threshold=threshold)


class RankingStage:
    """The recipe of one stage.

    Args:
        examples: To learn from; those without a keyphrase among the candidates are left out, as in the paper.
        held_back: For the dev score and the threshold.

    Raises:
        NotEnoughData: Too few examples are left.
    """

    def __init__(self, examples: Sequence[Example], held_back: Sequence[Example], *, seed: int) -> None:
        self._examples = [one for one in examples if one.right.any() and not one.right.all()]
        self._held_back = [one for one in held_back if one.keyphrases]
        self._seed = seed
        if len(self._examples) < MIN_DOCUMENTS:
            raise NotEnoughData(
                f"{len(self._examples)} documents have a keyphrase among their candidates; {MIN_DOCUMENTS} are needed.",
                hint="Give more documents.",
            )
        first = self._examples[0]
        torch.manual_seed(seed)
        self.network = DualRanker(len(first.vector), first.clues.shape[1])

    def __len__(self) -> int:
        return len(self._examples)

    def parameters(self) -> Iterable[nn.Parameter]:
        """All of the layers."""
        return self.network.parameters()

    def loss(self, step: int) -> Tensor:
        """Mean loss of the documents of one batch. Each document comes once in an epoch."""
        per_epoch = max(1, len(self._examples) // DOCUMENTS)
        epoch, at = divmod(step, per_epoch)
        order = np.random.default_rng([self._seed, epoch]).permutation(len(self._examples))
        losses = []
        for number in order[at * DOCUMENTS : (at + 1) * DOCUMENTS].tolist():
            one = self._examples[number]
            scores = self._scores(one, dropped=DROPPED)
            losses.append(span_contrast(scores / TEMPERATURE, torch.from_numpy(one.right)))
        return torch.stack(losses).mean()

    def score(self) -> float:
        """F1 of the first five on documents held back, mean over them."""
        found = []
        for one in self._held_back:
            best = np.argsort(-self._held_scores(one), kind="stable")[:RANK]
            found.append(2 * int(one.right[best].sum()) / (RANK + one.keyphrases))
        return float(np.mean(found)) if found else 0.0

    def threshold(self) -> float:
        """Mean of the thresholds that are best for each document held back (SimCKP, 5.4)."""
        best = [
            best_threshold(self._held_scores(one), one.right, one.keyphrases)
            for one in self._held_back
            if one.right.any()
        ]
        return float(np.mean(best)) if best else 0.0

    def _scores(self, one: Example, *, dropped: float = 0.0) -> Tensor:
        phrases = torch.from_numpy(one.phrases.astype(np.float32))
        vector = torch.from_numpy(one.vector)
        if dropped:
            phrases, vector = F.dropout(phrases, dropped), F.dropout(vector, dropped)
        scores: Tensor = self.network(vector, phrases, torch.from_numpy(one.clues))
        return scores

    def _held_scores(self, one: Example) -> Floats:
        with torch.inference_mode():
            found: Floats = self._scores(one).numpy()
        return found


def best_threshold(scores: Floats, right: np.ndarray, total: int) -> float:
    """From which score on candidates are taken so that F1 of a document is highest.

    Args:
        scores: float [n]. right: bool [n]. total: Number of keyphrases.

    Returns:
        The lowest score taken; of equally good ones the highest.
    """
    order = np.argsort(-scores, kind="stable")
    found = np.cumsum(right[order])
    f1 = 2 * found / (np.arange(1, len(order) + 1) + total)
    return float(scores[order[int(np.argmax(f1))]])
