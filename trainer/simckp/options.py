"""Options of `indexer train simckp`."""

# ruff: noqa: RUF009 (`option` returns a dataclass field)

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from trainer.base.options import Paths, TrainingOptions, option

if TYPE_CHECKING:
    from models.bundle import Bundle


@dataclass(frozen=True, kw_only=True)
class SimCKPOptions(TrainingOptions):
    """Learn keyphrases from documents that have some, in the text or not (SimCKP, EMNLP Findings 2023).

    Two small networks are put on the encoder that --bundle names; the encoder itself stays as it is, and so do the
    vectors. One ranks phrases of the document, the other phrases that other documents have and this one might. With
    --bart a BART is trained to rank and to write first, as in the paper, and the bundle carries it. Stopped, the same
    command resumes.

    \b
    Examples:
      indexer train simckp --data keyphrases.jsonl.gz --name ranked
      indexer train simckp --data articles.jsonl --silver --name by-title
      indexer train simckp --data keyphrases.jsonl.gz --bart bart-base/ --name written
    """

    recipe: ClassVar[str] = "simckp"
    function: ClassVar[str] = "trainer.simckp.train:train_simckp"
    title: ClassVar[str] = "SimCKP"
    sources: ClassVar[tuple[str, ...]] = ("data",)

    data: Paths = option((), "JSON Lines with id, title, text and keyphrases (a list); may be repeated.",
                         metavar="FILE", kind="file", required=True)  # fmt: skip
    silver: bool = option(
        False, "Take the phrases of the titles as keyphrases; none have to be given.", flags="--silver"
    )
    bart: Path | None = option(
        None, "A BART in safetensors, to be trained in place of the encoder: it writes keyphrases.",
        metavar="FOLDER", kind="folder",
    )  # fmt: skip
    steps: int = option(0, "Updates of the weights in each of the two stages.  [default: ten epochs at most]",
                        metavar="N", minimum=1, show_default=False)  # fmt: skip
    backend: str = "auto"  # of the encoder that is ranked over

    @staticmethod
    def scores(bundle: Bundle) -> dict[str, float]:
        return {stage: bundle.scores[f"{stage}_f1@5"] for stage in ("present", "absent")}

    @staticmethod
    def summary(bundle: Bundle) -> str:
        present, absent = SimCKPOptions.scores(bundle).values()
        return (
            f"F1 of the first five on documents held back: {present:.3f} in the text, {absent:.3f} not in it."
        )

    @staticmethod
    def warning(bundle: Bundle) -> str:
        if SimCKPOptions.scores(bundle)["absent"]:
            return ""
        return (
            "None of the first five that are not in the text was right: leave them out when you index "
            "(INDEXER_ABSENT_KEYPHRASES=0), or train on more documents."
        )
