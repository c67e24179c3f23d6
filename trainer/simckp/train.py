"""SimCKP from documents with keyphrases to a bundle that ranks: read, encode, stage 1, stage 2, register."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file

from indexer.keyphrases.ranker import Ranker, Recombined
from indexer.protocols import Encoder, Progress, no_progress
from indexer.records import Document
from models.bundle import Bundle
from models.encoder import WindowEncoder
from models.load import run_bundle
from models.ranker import VOCABULARY, ranker_heads, vocabulary_json
from models.tokens import TokenizerFile
from models.torch.backend import TorchBackend
from models.torch.generator import Generator
from models.weights import HEADS
from trainer.base.adapters import Tensors
from trainer.base.job import Curve, TrainingJob
from trainer.base.loop import TrainConfig
from trainer.simckp.data import (
    KeyphraseDocument,
    absent_examples,
    label_counts,
    label_vocabulary,
    read_examples,
    read_labelled,
)
from trainer.simckp.joint import MODEL, Joint, bart_bundle, open_bart
from trainer.simckp.options import SimCKPOptions
from trainer.simckp.recipe import DOCUMENTS, RankingStage

RATE = 1e-3  # of layers that begin at random; the paper's are for whole encoders
BART_RATE = 5e-5  # the paper's
EPOCHS = 10  # at most; the paper's
HELD_BACK = 500  # documents, at most, and a tenth of all
SCORED = 200  # steps between two dev scores
PATIENCE = 5  # dev scores without a better one

Generate = Callable[[Document], Sequence[Recombined]]


def train_simckp(
    base: Bundle, options: SimCKPOptions, *, home: Path, progress: Progress = no_progress
) -> Bundle:
    """Learn to rank keyphrases over the vectors of an encoder, and put the bundle into the home.

    The encoder stays as it is, so documents that are indexed with the bundle have the same vectors and take the same
    pass. A bundle that the same options have made of the same files is returned as it is. The same call again resumes a
    killed training from its checkpoints.

    Raises:
        InputError: A line of the data is invalid.
        NotEnoughData: Too few documents have keyphrases.
        LossDiverged: The loss became infinite.
    """
    read = [*options.data, *([options.bart / "model.safetensors"] if options.bart else [])]
    files = [hashlib.sha256(path.read_bytes()).hexdigest() for path in read]
    job = TrainingJob(base, options, files, home=home, progress=progress)
    if made := job.finished():
        return made
    progress("read", 0, None)
    labelled = read_labelled(options.data, tagger=options.tagger, silver=options.silver)
    job.start()
    first: Curve = []
    if options.bart:
        base, first = _joint(options.bart, labelled, job)
        encoder = WindowEncoder(base, TorchBackend(base, "torch-fp32", torch.get_num_threads()))
        ranker, curve, scores = _learned(labelled, encoder, Generator(base), job, progress)
    else:
        base_encoder = run_bundle(base, home=home, backend=options.backend, threads=options.threads)
        ranker, curve, scores = _learned(labelled, base_encoder, _generate_nothing, job, progress)
    changed = replace(
        base,
        adapter=base.adapter or {"scale": 1.0},
        trained_on=job.fingerprint,
        scores={**base.scores, **scores},
        heads=tuple(sorted({*base.heads, *ranker_heads(ranker)})),
    )

    def add_files(folder: Path) -> None:
        if changed.base.get("folder") == MODEL:  # the bundle carries it
            shutil.copytree(base.base_folder, folder / MODEL)
        (folder / VOCABULARY).write_text(vocabulary_json(ranker), encoding="utf-8")

    return job.register(base, changed, _weights(base, ranker), joined(first, curve), add_files)


def _learned(
    labelled: Sequence[KeyphraseDocument],
    encoder: Encoder,
    generate: Generate,
    job: TrainingJob,
    progress: Progress,
) -> tuple[Ranker, Curve, dict[str, float]]:
    """Both stages. The documents held back are the same for both, and no vocabulary has their keyphrases."""
    seed = job.options.seed
    shuffled = np.random.default_rng(seed).permutation(len(labelled)).tolist()
    size = min(HELD_BACK, len(labelled) // 10)
    held, learned = [labelled[i] for i in shuffled[:size]], [labelled[i] for i in shuffled[size:]]
    counts = label_counts(learned)
    chance = np.random.default_rng([seed, 1])
    examples, encoded = read_examples(learned, encoder, counts, chance, generate, progress)
    held_examples, held_encoded = read_examples(held, encoder, counts, None, generate, progress)
    present = RankingStage(examples, held_examples, seed=seed)
    curve = job.train_best(present, _config(present, job, RATE), "present")
    known, sums = label_vocabulary(learned, encoded, encoder)
    absent = RankingStage(
        absent_examples(learned, encoded, known, sums, chance),
        absent_examples(held, held_encoded, known, None, None),
        seed=seed,
    )
    second = job.train_best(absent, _config(absent, job, RATE), "absent")
    ranker = Ranker(
        present.network.frozen(present.threshold()), absent.network.frozen(absent.threshold()), counts, known
    )
    scores = {"present_f1@5": round(present.score(), 4), "absent_f1@5": round(absent.score(), 4)}
    return ranker, joined(curve, second), scores


def _generate_nothing(_: Document) -> Sequence[Recombined]:
    return ()


def _joint(folder: Path, labelled: Sequence[KeyphraseDocument], job: TrainingJob) -> tuple[Bundle, Curve]:
    """Train a BART to rank and to write, and make a bundle of it."""
    tokenizer = folder / "tokenizer.json"
    model = open_bart(folder)
    recipe = Joint(model, TokenizerFile(tokenizer), labelled, seed=job.options.seed)
    curve = job.train_best(recipe, _config(recipe, job, BART_RATE), "joint")
    return bart_bundle(model, tokenizer, job.folder / "joint", licence=job.options.licence), curve


def _config(recipe: RankingStage | Joint, job: TrainingJob, rate: float) -> TrainConfig:
    """One stage: ten epochs, unless the options name a number of steps."""
    steps = job.options.steps or EPOCHS * max(1, len(recipe) // DOCUMENTS)
    every = min(SCORED, steps)
    return TrainConfig(
        steps=steps,
        learning_rate=rate,
        warmup=min(50, steps // 10),
        eval_every=every,
        patience=PATIENCE * every,
        seed=job.options.seed,
    )


def joined(first: Curve, second: Curve) -> Curve:
    """Both curves; steps and seconds of the second continue those of the first."""
    if not first:
        return second
    steps, seconds = (first[-1][name] or 0 for name in ("step", "seconds"))
    return first + [
        {**entry, "step": (entry["step"] or 0) + steps, "seconds": (entry["seconds"] or 0) + seconds}
        for entry in second
    ]


def _weights(base: Bundle, ranker: Ranker) -> Tensors:
    """The base's adapter, and the matrices of the ranker in place of those that it had, which have the same names."""
    adapter = load_file(base.adapter_file) if base.adapter_file else {}
    return {**adapter, **{HEADS + name: head for name, head in ranker_heads(ranker).items()}}
