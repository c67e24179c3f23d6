"""HS-GC from texts to a bundle whose document vectors fall into clusters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from indexer.protocols import Progress, no_progress
from models.bundle import Bundle
from models.tokens import TokenizerFile
from models.weights import DOCUMENTS, HEADS, read_heads
from trainer.base.adapters import adapter_of
from trainer.base.job import TrainingJob, documents_of, open_network, stamp
from trainer.hsgc.data import Ints
from trainer.hsgc.options import HSGCOptions
from trainer.hsgc.recipe import GlobalContrast


def holistic(base: Bundle) -> Bundle:
    """The bundle with HS-GC's document vectors: the mean over all layers, without the head that others were fitted to."""
    config = base.base_config
    number = config.get("num_hidden_layers") or config.get("n_layers") or config["encoder_layers"]
    return replace(base, pooling=replace(base.pooling, document_layers=tuple(range(1, int(number) + 1))))


def train_hsgc(base: Bundle, options: HSGCOptions, *, home: Path, progress: Progress = no_progress) -> Bundle:
    """Train an encoder on unlabelled documents, and put it into the home's bundles.

    A bundle that the same options have made of the same files is returned as it is. The same call again resumes a
    killed training.

    Raises:
        NotEnoughData: The sources have too few texts.
        LossDiverged: The learning rate is too high.
    """
    files = [stamp(path) for path in options.corpus]
    job = TrainingJob(base, options, files, home=home, progress=progress)
    if made := job.finished():
        return made
    job.start()
    whole = holistic(base) if options.all_layers else base
    network = open_network(whole, options.lora)
    if options.all_layers:
        with torch.no_grad():
            network.documents.copy_(torch.eye(network.dims))
    network.documents.requires_grad = False
    words = TokenizerFile(base.base_folder / "tokenizer.json")
    progress("read", 0, None)
    texts = list(_texts(options.corpus, words, base.window_tokens))
    again = options.eval_every
    recipe = GlobalContrast(network, words, texts, options.clusters, again=again, seed=options.seed)
    curve = job.train(recipe, network, options.config())
    heads = read_heads(base)
    if options.all_layers:
        heads.pop(DOCUMENTS, None)
    changed = replace(
        whole,
        base=base.base_beside,
        adapter={"scale": 1.0},
        heads=tuple(sorted(heads)),
        trained_on=_fingerprint(texts),
        scores={
            "held_back": round(curve[-1]["score"] or 0.0, 4),
            "steps": curve[-1]["step"] or 0,
            "clusters": recipe.clusters,
        },
    )
    weights = {**adapter_of(network.cpu(), whole), **{HEADS + name: head for name, head in heads.items()}}
    return job.register(base, changed, weights, curve)


def _texts(corpus: Sequence[Path], words: TokenizerFile, length: int) -> Iterator[Ints]:
    """Token ids of the beginning of each document, its title first."""
    for path in corpus:
        for document in documents_of(path):
            [ids] = words.ids([f"{document.title}\n{document.text}".strip()])
            yield ids[:length]


def _fingerprint(texts: Sequence[Ints]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.tobytes())
    return digest.hexdigest()[:32]
