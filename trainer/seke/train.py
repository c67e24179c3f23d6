"""SEKE from texts to a bundle."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from indexer.protocols import Progress, no_progress
from models.bundle import Bundle
from models.weights import KEYPHRASES
from trainer.base.adapters import Tensors
from trainer.base.phrase_training import RecipeInput, train_phrases
from trainer.seke.options import SEKEOptions
from trainer.seke.recipe import KeyphraseContrast


def train_seke(base: Bundle, options: SEKEOptions, *, home: Path, progress: Progress = no_progress) -> Bundle:
    """Train the weights of phrases in their text, and the encoder with them; see `train_phrases`."""

    def recipe(given: RecipeInput) -> KeyphraseContrast:
        return KeyphraseContrast(
            given.network,
            given.words,
            given.mix.sources,
            length=given.base.window_tokens,
            encoder=options.encoder,
            seed=given.seed,
        )

    def heads(recipe: KeyphraseContrast) -> Tensors:
        return {KEYPHRASES: recipe.weights.detach().cpu().numpy().astype(np.float16)}

    return train_phrases(base, options, recipe, home=home, progress=progress, heads_of=heads)
