"""UCTopic and its second stage, CCL, from texts to a bundle."""

from __future__ import annotations

from pathlib import Path

from indexer.protocols import Progress, no_progress
from models.bundle import Bundle
from trainer.base.loop import Recipe
from trainer.base.phrase_training import RecipeInput, train_phrases
from trainer.base.sources import pair_sampler
from trainer.uctopic.ccl import ClusterContrast
from trainer.uctopic.options import UCTopicOptions
from trainer.uctopic.recipe import UCTopic


def train_uctopic(
    base: Bundle,
    options: UCTopicOptions,
    *,
    home: Path,
    mined: Path | None = None,
    progress: Progress = no_progress,
) -> Bundle:
    """Train on pairs, or with `options.ccl` on the clusters of the last source; see `train_phrases`."""

    def recipe(given: RecipeInput) -> Recipe:
        network, words, mix = given.network, given.words, given.mix
        if options.ccl:
            last, budget = mix.sources[-1], options.budget
            return ClusterContrast(network, words, last, options.ccl, seed=given.seed, budget=budget)
        pairs = pair_sampler(mix, words, given.seed)
        return UCTopic(network, words, pairs, given.kept_texts(), seed=given.seed)

    return train_phrases(base, options, recipe, home=home, mined=mined, progress=progress)
