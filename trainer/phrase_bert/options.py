"""Options of `indexer train phrase-bert`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from trainer.base.options import PhraseOptions


@dataclass(frozen=True, kw_only=True)
class PhraseBertOptions(PhraseOptions):
    """Learn vectors for phrases without a context (Phrase-BERT, EMNLP 2021).

    A phrase should be nearer to a paraphrase (a short form, another name, the same words in another order) than to
    another phrase, and nearer to a sentence that it was cut from than to another sentence. The training starts from the
    encoder that --bundle names. Stopped, the same command resumes.

    \b
    Examples:
      indexer train phrase-bert --corpus articles.jsonl --budget 20m
      indexer train phrase-bert --corpus terms/ --name terms --lora 16
      indexer evaluate phrases --data bird.jsonl.gz --bundle phrase-bert
    """

    recipe: ClassVar[str] = "phrase-bert"
    function: ClassVar[str] = "trainer.phrase_bert.train:train_phrase_bert"
    title: ClassVar[str] = "Phrase-BERT"

    steps: int = 1_000
    learning_rate: float = 5e-5  # the paper's is 2e-5, for twelve times as many steps
    warmup: int = 0  # 0 = a tenth of the steps

    def config(self, **changed: Any) -> Any:
        return super().config(**{"warmup": self.warmup or max(1, self.steps // 10), **changed})
