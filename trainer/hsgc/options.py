"""Options of `indexer train hs-gc`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from trainer.base.options import EncoderOptions, option

CLIP = 1e4  # no clipping: the small weights of the head have large gradients


@dataclass(frozen=True, kw_only=True)
class HSGCOptions(EncoderOptions):
    """Learn document vectors that fall into clusters (HS-GC, LREC-COLING 2024).

    Two views of a text should be similar, and so should the clusters that the texts form in both. Document vectors
    become the mean over all layers, or stay those of the encoder: the packaged one is better with --own-layers. The
    training starts from the encoder that --bundle names. Stopped, the same command resumes.

    \b
    Examples:
      indexer train hs-gc --corpus titles.jsonl --clusters 20 --bundle minilm-base --own-layers
      indexer index titles.jsonl --collection clustered --bundle hs-gc --topics documents
    """

    recipe: ClassVar[str] = "hs-gc"
    function: ClassVar[str] = "trainer.hsgc.train:train_hsgc"
    title: ClassVar[str] = "HS-GC"

    steps: int = 300
    clusters: int | None = option(None, "Number of clusters of the documents.  [default: chosen by silhouette]",
                                  metavar="K", minimum=2)  # fmt: skip
    all_layers: bool = option(
        True, "Make documents the mean over all layers, as in the paper, or keep the encoder's own.",
        flags="--all-layers/--own-layers",
    )  # fmt: skip
    learning_rate: float = 5e-5  # of the layers; the paper's 5e-6 is for some thousand steps
    warmup: int = 10
    eval_every: int = 50  # steps; the clusters are computed again as often

    def config(self, **changed: Any) -> Any:
        # Clusters and centres are computed again where a checkpoint is written: a run resumes only from there.
        return super().config(**{"clip_norm": CLIP, "anywhere": False, **changed})
