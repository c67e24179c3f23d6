"""Phrase-BERT from texts to a bundle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from indexer.protocols import Progress, no_progress
from models.bundle import Bundle
from trainer.base.phrase_training import RecipeInput, train_phrases
from trainer.phrase_bert.data import TripletSampler
from trainer.phrase_bert.options import PhraseBertOptions
from trainer.phrase_bert.recipe import PhraseBert

TRIPLES = 16  # of each kind in a batch; the paper's


def train_phrase_bert(
    base: Bundle, options: PhraseBertOptions, *, home: Path, progress: Progress = no_progress
) -> Bundle:
    """Train vectors of phrases without a context; see `train_phrases`."""

    def recipe(given: RecipeInput) -> PhraseBert:
        triplets = TripletSampler(
            given.mix.sources,
            given.mix.shares,
            given.words,
            size=TRIPLES,
            specials=given.base.pooling.phrase_specials,
            seed=given.seed,
        )
        return PhraseBert(given.network, given.words, triplets, given.kept_texts(), seed=given.seed)

    return train_phrases(_pooled_as_texts(base), options, recipe, home=home, progress=progress)


def _pooled_as_texts(base: Bundle) -> Bundle:
    """The bundle with phrases pooled as texts are: a mean over the last layer, as in the paper."""
    pooling = base.pooling
    return replace(
        base,
        pooling=replace(
            pooling, span_layers=pooling.document_layers, phrase_specials=pooling.document_specials
        ),
    )
