"""Options of `indexer train uctopic`."""

# ruff: noqa: RUF009 (`option` returns a dataclass field)

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from trainer.base.options import Paths, PhraseOptions, option

CCL_RATE = 1e-5  # learning rate of CCL; the paper's
PAIRS_RATE = 1e-4


@dataclass(frozen=True, kw_only=True)
class UCTopicOptions(PhraseOptions):
    """Learn vectors for phrases in their context (UCTopic, ACL 2022).

    Two sentences with the same phrase are a positive pair: their vectors for it should be similar, and different from
    those of other phrases. With --ccl, the clusters that the texts' phrases form are the pseudo-labels: that adapts a
    trained encoder to a small collection. The training starts from the encoder that --bundle names. Stopped, the same
    command resumes.

    \b
    Examples:
      indexer train uctopic --corpus articles.jsonl --budget 30m
      indexer train uctopic --corpus general.jsonl.gz --target mine/ --name mine --lora 16
    """

    function: ClassVar[str] = "trainer.uctopic.train:train_uctopic"

    target: Paths = option((), "Texts that the encoder is for: up to half of the batches come from them.",
                           metavar="SOURCE", kind="source")  # fmt: skip
    mentions: Paths = option((), "A target whose phrases are known: JSON Lines with sentence, start, end.",
                             metavar="FILE", kind="source")  # fmt: skip
    ccl: int | None = option(None, "Learn from the K clusters of the texts themselves instead of from pairs.",
                             metavar="K", minimum=2)  # fmt: skip
    learning_rate: float = 0.0  # 0 = that of pairs or of CCL

    @property
    def recipe(self) -> str:  # type: ignore[override]
        """Which of the two stages it is."""
        return "ccl" if self.ccl else "uctopic"

    @property
    def title(self) -> str:  # type: ignore[override]
        """As the card names it."""
        return "UCTopic, CCL" if self.ccl else "UCTopic"

    def config(self, **changed: Any) -> Any:
        rate = self.learning_rate or (CCL_RATE if self.ccl else PAIRS_RATE)
        return super().config(**{"learning_rate": rate, **changed})
