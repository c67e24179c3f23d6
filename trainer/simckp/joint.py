"""Stage 1 of SimCKP on an encoder-decoder: rank the phrases of a text, and write the keyphrases that it lacks.

One model learns both (equation 5): its encoder puts present keyphrases above all other spans of the text, its decoder
writes the absent ones as one sequence. What was trained becomes the base model of a bundle, on whose vectors the ranker
is then trained as on any other.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from indexer.errors import BundleIncompatible, NotEnoughData
from indexer.keyphrases.ranker import TEMPERATURE
from indexer.text import stemmed
from models.bundle import Bundle, Pooling, write_bundle
from models.pooling import touched
from models.tokens import TokenizerFile
from models.torch.generator import BETWEEN, FAMILY, MAX_SEQUENCE_LENGTH, MAX_TEXT_LENGTH, load_bart
from trainer.base.losses import span_contrast
from trainer.simckp.data import KeyphraseDocument

DOCUMENTS = 8  # of a batch; the paper's
CONTRAST = 0.3  # lambda, the weight of ranking relative to writing; the paper's
IGNORED = -100  # a label that is not counted
MODEL = "model"  # folder of the base model inside the bundle


@dataclass(frozen=True)
class TrainingExample:
    """A text in tokens.

    Attributes:
        ids: Special ones included.
        spans: First and last + 1 token of each candidate's first occurrence.
        right: bool [spans], which are present keyphrases.
        labels: Tokens of the absent keyphrases as one sequence; empty where there is none.
    """

    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    right: Tensor
    labels: tuple[int, ...]


class SpanScorer(nn.Module):
    """Equation 2: the start token and the sum over each span, through a layer each."""

    def __init__(self, dims: int) -> None:
        super().__init__()
        self.document = nn.Linear(dims, dims)
        self.phrase = nn.Linear(dims, dims)

    def forward(self, hidden: Tensor, spans: Sequence[tuple[int, int]]) -> Tensor:
        """Cosines of spans to their text.

        Args:
            hidden: float [length, dims], the encoder's last states.

        Returns:
            float [spans].
        """
        summed = torch.stack([hidden[first:last].sum(dim=0) for first, last in spans])
        query, given = torch.tanh(self.document(hidden[0])), torch.tanh(self.phrase(summed))
        return F.cosine_similarity(given, query.unsqueeze(0), dim=-1)


class Joint:
    """The recipe.

    Raises:
        NotEnoughData: No document has a present keyphrase.
    """

    def __init__(
        self, model: Any, words: TokenizerFile, labelled: Sequence[KeyphraseDocument], *, seed: int
    ) -> None:
        torch.manual_seed(seed)
        self.network = nn.ModuleDict({"bart": model, "scorer": SpanScorer(model.config.d_model)})
        self._words = words
        self._seed = seed
        longest = min(MAX_TEXT_LENGTH, model.config.max_position_embeddings - words.specials)
        examples = [_training_example(one, words, longest) for one in labelled]
        self._examples = [one for one in examples if one.right.any() and not one.right.all()]
        if not self._examples:
            raise NotEnoughData(
                "No document has a keyphrase among its phrases.", hint="Give documents with keyphrases."
            )

    def __len__(self) -> int:
        return len(self._examples)

    def parameters(self) -> Iterable[nn.Parameter]:
        """Of model and scorer."""
        return self.network.parameters()

    def loss(self, step: int) -> Tensor:
        """Writing and ranking of one batch."""
        draw = np.random.default_rng([self._seed, step])
        size = min(DOCUMENTS, len(self._examples))
        writing, ranking = self._losses(draw.choice(len(self._examples), size, replace=False).tolist())
        return writing + CONTRAST * ranking

    def score(self) -> float:
        """Score of the first examples: 1 / (1 + loss of ranking)."""
        _, ranking = self._losses(list(range(min(DOCUMENTS, len(self._examples)))))
        return float(1 / (1 + ranking))

    def _losses(self, chosen: Sequence[int]) -> tuple[Tensor, Tensor]:
        examples = [self._examples[at] for at in chosen]
        ids = _padded([one.ids for one in examples], self._words.padding)
        mask = _padded([[1] * len(one.ids) for one in examples], 0)
        labels = _padded([one.labels or (IGNORED,) for one in examples], IGNORED)
        found = self.network["bart"](input_ids=ids, attention_mask=mask, labels=labels)
        hidden = found.encoder_last_hidden_state  # [batch, length, dims]
        ranking = torch.stack(
            [
                span_contrast(self.network["scorer"](hidden[row], one.spans) / TEMPERATURE, one.right)
                for row, one in enumerate(examples)
            ]
        ).mean()
        nothing = bool((labels == IGNORED).all())  # to write: the mean over no token is NaN
        return (torch.zeros(()) if nothing else found.loss), ranking


def _training_example(one: KeyphraseDocument, words: TokenizerFile, longest: int) -> TrainingExample:
    [tokens] = words.split([one.document.content])
    ids = (*words.prefix, *tokens.ids[:longest].tolist(), *words.suffix)
    mentions = sorted((*one.prepared.mentions, *one.prepared.parts), key=lambda m: (m.start, m.end))
    places = touched(tokens, [(m.start, m.end) for m in mentions])
    first: dict[str, tuple[int, int]] = {}
    for mention, (begin, end) in zip(mentions, places, strict=True):
        stem = stemmed(one.document.content[mention.start : mention.end])
        if stem and begin < end <= longest:
            first.setdefault(stem, (len(words.prefix) + begin, len(words.prefix) + end))
    present, absent = one.present(), one.absent()
    text = BETWEEN.join(given for stem, given in one.keyphrases.items() if stem in absent)
    labels: tuple[int, ...] = ()
    if text:
        [written] = words.ids([text])
        labels = (*words.prefix, *written[: MAX_SEQUENCE_LENGTH - words.specials].tolist(), *words.suffix)
    return TrainingExample(
        ids,
        tuple(first.values()),
        torch.tensor([stem in present for stem in first], dtype=torch.bool),
        labels,
    )


def _padded(rows: Sequence[Sequence[int]], padding: int) -> Tensor:
    length = max(map(len, rows))
    return torch.tensor([[*row, *[padding] * (length - len(row))] for row in rows])


def open_bart(folder: Path) -> Any:
    """Load the BART of a folder.

    Raises:
        BundleIncompatible: It is not a BART in safetensors.
    """
    try:
        family = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type")
    except (OSError, ValueError) as error:
        raise BundleIncompatible(f"{folder} is not a model: {error}.") from error
    if family != FAMILY:
        raise BundleIncompatible(
            f"The model in {folder} is of the kind '{family}'; only BART can write keyphrases.",
            hint="Leave --bart out: the packaged encoder finds absent keyphrases in the collection.",
        )
    for name in ("model.safetensors", "tokenizer.json"):
        if not (folder / name).is_file():
            raise BundleIncompatible(f"{folder} has no {name}.", hint="Save the model with save_pretrained.")
    return load_bart(folder)


def bart_bundle(model: Any, tokenizer: Path, folder: Path, *, licence: str) -> Bundle:
    """Write a trained model as a bundle that carries its base model with it."""
    inside = folder / MODEL
    shutil.rmtree(inside, ignore_errors=True)
    model.save_pretrained(inside, safe_serialization=True)
    shutil.copy(tokenizer, inside / "tokenizer.json")
    last = model.config.encoder_layers
    pooling = Pooling(span_layers=(last,), document_layers=(last,), attention_layers=(last,))
    window = min(128, model.config.max_position_embeddings - 2)
    return write_bundle(
        Bundle(name="joint", base={"folder": MODEL}, pooling=pooling, window_tokens=window, licence=licence),
        folder,
    )
