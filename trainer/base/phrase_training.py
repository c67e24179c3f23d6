"""From sources to a bundle, for all recipes that learn from phrases: mine, train, align documents, register."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from indexer.protocols import Progress, no_progress
from models.bundle import Bundle
from models.tokens import TokenizerFile
from models.torch.network import Network
from models.weights import DOCUMENTS, HEADS, RANKER, read_heads
from trainer.base import sources
from trainer.base.adapters import Tensors, adapter_of
from trainer.base.alignment import align_documents
from trainer.base.job import TrainingJob, open_network, stamp
from trainer.base.loop import Recipe
from trainer.base.options import PhraseOptions
from trainer.base.pairs import Mix

ALIGNMENT_SHARE = 0.15  # of a budget
ALIGNED_BY = 3  # every third of the kept texts; each is encoded twice

R = TypeVar("R", bound=Recipe)


@dataclass(frozen=True)
class RecipeInput:
    """What a recipe is made from.

    Attributes:
        base: The bundle of the network.
        mix: Mined sources, those of the targets last.
    """

    base: Bundle
    network: Network
    words: TokenizerFile
    mix: Mix
    seed: int

    def kept_texts(self) -> list[list[int]]:
        """Token ids of texts whose document vectors should stay."""
        return sources.kept_texts(self.mix, self.words, self.seed)


def train_phrases(
    base: Bundle,
    options: PhraseOptions,
    make_recipe: Callable[[RecipeInput], R],
    *,
    home: Path,
    mined: Path | None = None,
    progress: Progress = no_progress,
    heads_of: Callable[[R], Tensors] = lambda recipe: {},
) -> Bundle:
    """Train an encoder on unlabelled text, and put it into the home's bundles.

    A bundle that the same options have made of the same files is returned as it is. The same call again resumes a
    killed training.

    Args:
        mined: A folder where mined sources stay, for other options on the same sources; None removes them at the end.
        heads_of: What a recipe has trained next to the layers.

    Raises:
        NotEnoughData: The sources have no phrases.
        LossDiverged: The learning rate is too high.
    """
    began = time.perf_counter()
    stamps = [[stamp(path) for path in getattr(options, name)] for name in options.sources]
    job = TrainingJob(base, options, stamps, home=home, progress=progress)
    if made := job.finished():
        return made
    job.start()
    mix = sources.mine_sources(options, mined or job.folder / "mined", progress)
    words = TokenizerFile(base.base_folder / "tokenizer.json")
    network = open_network(base, options.lora)
    progress("prepare", 0, None)
    given = RecipeInput(base, network, words, mix, options.seed)
    recipe = make_recipe(given)
    config = options.config()
    if options.budget:  # which is for everything, mining too
        left = (1 - ALIGNMENT_SHARE) * options.budget - (time.perf_counter() - began)
        config = replace(config, budget_s=max(1.0, left))
    curve = job.train(recipe, network, config)
    if options.keeps_documents:
        _align(given, ALIGNMENT_SHARE * options.budget, progress)
    # A ranker of keyphrases was trained on vectors that have changed: it is left out.
    lasting = {name: head for name, head in read_heads(base).items() if not name.startswith(RANKER)}
    heads = {**lasting, **_document_head(network), **heads_of(recipe)}
    changed = replace(
        base,
        base=base.base_beside,
        adapter={"scale": 1.0},
        trained_on=sources.fingerprint(mix),
        scores={
            "held_back": round(curve[-1]["score"] or 0.0, 4),  # of the weights that are kept: the last
            "steps": curve[-1]["step"] or 0,
        },
        heads=tuple(sorted(heads)),
    )
    weights = {**adapter_of(network.cpu(), base), **{HEADS + name: head for name, head in heads.items()}}
    return job.register(base, changed, weights, curve)


def _align(given: RecipeInput, seconds: float, progress: Progress) -> None:
    """Bring the document vectors back to where they were, as far as a matrix can."""
    progress("align", 0, None)
    kept = given.kept_texts()[::ALIGNED_BY]
    texts = [*kept, *sources.windows(given.mix, given.words, given.base.window_tokens)]
    before = Network(given.base).to(given.network.documents.device)
    padding = given.words.padding
    align_documents(given.network, before, texts, padding=padding, seconds=seconds, progress=progress)


def _document_head(network: Network) -> Tensors:
    """The matrix of document vectors, where it is not the identity."""
    documents = network.documents.detach().cpu().numpy().astype(np.float16)
    return {} if np.array_equal(documents, np.eye(len(documents))) else {DOCUMENTS: documents}
