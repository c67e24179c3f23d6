"""Options of `indexer train keyphrases`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trainer.base.options import PhraseOptions, option


@dataclass(frozen=True, kw_only=True)
class SEKEOptions(PhraseOptions):
    """Learn which phrases, taken together, represent a text (SEKE 2022).

    The phrases of a text are weighted so that their sum is nearer to it than the most similar other texts are. The
    training starts from the encoder that --bundle names. Stopped, the same command resumes.

    \b
    Examples:
      indexer train keyphrases --corpus articles.jsonl --budget 10m
      indexer train keyphrases --corpus articles.jsonl --no-encoder --name weighed
    """

    recipe: ClassVar[str] = "seke"
    function: ClassVar[str] = "trainer.seke.train:train_seke"
    title: ClassVar[str] = "SEKE"
    keeps_documents: ClassVar[bool] = False  # it moves them on purpose

    encoder: bool = option(True, "Train the encoder too, or only the weights of phrases in their text.",
                           flags="--encoder/--no-encoder")  # fmt: skip
    learning_rate: float = 1e-5  # the paper's
