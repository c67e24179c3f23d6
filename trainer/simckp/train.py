"""From documents with keyphrases to a bundle that ranks: read, encode, stage 1, stage 2, write."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from indexer.keyphrases.ranker import Ranker, Recombined
from indexer.protocols import Encoder, Progress, no_progress
from indexer.records import Document
from models.bundle import ADAPTER, Bundle, write_bundle
from models.encoder import WindowEncoder
from models.hardware import physical_cores
from models.ranker import VOCABULARY, ranker_heads, vocabulary_json
from models.registry import Registry
from models.tokens import TokenizerFile
from models.torch.backend import TorchBackend
from models.torch.generator import Generator
from models.weights import HEADS, RANKER
from trainer.base.curve import draw
from trainer.base.loop import Step, TrainConfig, train
from trainer.simckp.data import (
    KeyphraseDocument,
    absent_examples,
    label_counts,
    label_vocabulary,
    read_examples,
    read_labelled,
)
from trainer.simckp.joint import MODEL, Joint, bart_bundle, open_bart
from trainer.simckp.recipe import DOCUMENTS, RankingStage

RATE = 1e-3  # of layers that begin at random; the paper's are for whole encoders
BART_RATE = 5e-5  # the paper's
EPOCHS = 10  # at most; the paper's
HELD_BACK = 500  # documents, at most, and a tenth of all
SCORED = 200  # steps between two dev scores
PATIENCE = 5  # dev scores without a better one
TRAINING = "training.json"

Curve = list[dict[str, float | None]]
Generate = Callable[[Document], Sequence[Recombined]]


@dataclass(frozen=True)
class SimCKPOptions:
    """What is wanted.

    Attributes:
        name: Of the new bundle.
        silver: Whether titles are the labels.
        bart: Folder of a BART that is trained first, and whose vectors and decoder are then used; None takes the base.
        steps: Of each stage, at most; 0 = `EPOCHS` epochs.
        licence: Of the texts, for the card.
    """

    name: str
    silver: bool = False
    bart: Path | None = None
    steps: int = 0
    seed: int = 0
    licence: str = ""
    tagger: str = "auto"
    threads: int = 0


def train_simckp(
    base: Bundle,
    encoder: Callable[[], Encoder],
    data: Sequence[Path],
    order: SimCKPOptions,
    *,
    home: Path,
    progress: Progress = no_progress,
) -> Bundle:
    """Learn to rank keyphrases over the vectors of an encoder, and put the bundle into the home.

    The encoder stays as it is, so what is indexed with the bundle has the same vectors and takes the same pass. Killed
    and called again, the training goes on from its checkpoints. What was trained already is returned as it is.

    Raises:
        InputError: A line of the data is not as it should be.
        NotEnoughData: Too few documents have keyphrases.
        LossDiverged: The loss became infinite.
    """
    registry = Registry(home)
    asked = _asked(base, data, order)
    if order.name in registry.list() and _trained(registry.get(order.name)) == asked:
        return registry.get(order.name)
    torch.set_num_threads(order.threads or physical_cores())
    work = home / "training" / f"{order.name}-{asked}"
    progress("read", 0, None)
    labelled = read_labelled(data, tagger=order.tagger, silver=order.silver)
    work.mkdir(parents=True, exist_ok=True)
    generate: Generate = _nothing
    joint: Curve = []
    if order.bart:
        base, joint = _joint(order.bart, labelled, order, work, progress)
        generate = Generator(base)
        backend = TorchBackend(base, "torch-fp32", torch.get_num_threads())
        ranker, curve, scores = _learned(
            labelled, WindowEncoder(base, backend), generate, order, work, progress
        )
    else:
        ranker, curve, scores = _learned(labelled, encoder(), generate, order, work, progress)
    curve = [*joint, *_after(joint, curve)] if joint else curve
    bundle = replace(
        base,
        name=order.name,
        about=f"SimCKP on {base.name}: {', '.join(path.name for path in data)}.",
        licence=order.licence or base.licence,
        adapter=base.adapter or {"scale": 1.0},
        trained_on=asked,
        scores={**base.scores, **scores},
        heads=tuple(sorted({*base.heads, *ranker_heads(ranker)})),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    registered = registry.add(_write(base, bundle, ranker, curve, {"asked": asked, **asdict(order)}, work))
    shutil.rmtree(work)
    return registered


def _learned(
    labelled: Sequence[KeyphraseDocument],
    encoder: Encoder,
    generate: Generate,
    order: SimCKPOptions,
    work: Path,
    progress: Progress,
) -> tuple[Ranker, Curve, dict[str, float]]:
    """Both stages. The documents held back are the same for both, and no vocabulary knows their keyphrases."""
    shuffled = np.random.default_rng(order.seed).permutation(len(labelled)).tolist()
    size = min(HELD_BACK, len(labelled) // 10)
    held, learned = [labelled[i] for i in shuffled[:size]], [labelled[i] for i in shuffled[size:]]
    counts = label_counts(learned)
    chance = np.random.default_rng([order.seed, 1])
    examples, encoded = read_examples(learned, encoder, counts, chance, generate, progress)
    held_examples, held_encoded = read_examples(held, encoder, counts, None, generate, progress)
    present = RankingStage(examples, held_examples, seed=order.seed)
    curve = _run(present, order, work, "present", progress)
    known, sums = label_vocabulary(learned, encoded, encoder)
    absent = RankingStage(
        absent_examples(learned, encoded, known, sums, chance),
        absent_examples(held, held_encoded, known, None, None),
        seed=order.seed,
    )
    second = _run(absent, order, work, "absent", progress)
    ranker = Ranker(
        present.network.frozen(present.threshold()), absent.network.frozen(absent.threshold()), counts, known
    )
    scores = {"present_f1@5": round(present.score(), 4), "absent_f1@5": round(absent.score(), 4)}
    return ranker, [*curve, *_after(curve, second)], scores


def _nothing(_: Document) -> Sequence[Recombined]:
    """Writes no candidates."""
    return ()


def _joint(
    folder: Path, labelled: Sequence[KeyphraseDocument], order: SimCKPOptions, work: Path, progress: Progress
) -> tuple[Bundle, Curve]:
    """Train a BART to rank and to write, and make a bundle of it."""
    tokenizer = folder / "tokenizer.json"
    model = open_bart(folder)
    recipe = Joint(model, TokenizerFile(tokenizer), labelled, seed=order.seed)
    curve = _run(recipe, order, work, "joint", progress, rate=BART_RATE)
    return bart_bundle(model, tokenizer, work / "joint", licence=order.licence), curve


def _run(
    recipe: RankingStage | Joint,
    order: SimCKPOptions,
    work: Path,
    stage: str,
    progress: Progress,
    *,
    rate: float = RATE,
) -> Curve:
    """Train one stage; the weights with the best dev score stay."""
    steps = order.steps or EPOCHS * max(1, len(recipe) // DOCUMENTS)
    every = min(SCORED, steps)
    config = TrainConfig(
        steps=steps,
        learning_rate=rate,
        warmup=min(50, steps // 10),
        eval_every=every,
        patience=PATIENCE * every,
        seed=order.seed,
    )
    log_file, best_file, ended = work / f"{stage}.json", work / f"{stage}.pt", work / f"{stage}.ended"
    log: Curve = json.loads(log_file.read_text()) if log_file.exists() else []
    for step in (
        () if ended.exists() else train(recipe, recipe.network, config, work / f"{stage}-checkpoint.pt")
    ):
        log = [*log[: step.number - 1], _entry(step)]
        if step.is_best:
            torch.save(recipe.network.state_dict(), best_file)
        if step.score is not None:
            log_file.write_text(json.dumps(log))
        progress(f"train {stage}: loss {step.loss:.3f}", step.number, step.of)
    ended.touch()
    recipe.network.load_state_dict(torch.load(best_file, weights_only=True))
    return log


def _entry(step: Step) -> dict[str, float | None]:
    return {
        "step": step.number,
        "loss": round(step.loss, 5),
        "seconds": round(step.seconds, 1),
        "score": step.score,
    }


def _after(first: Curve, second: Curve) -> Curve:
    """The second curve, its steps and seconds counted on from the first."""
    steps, seconds = (first[-1][name] or 0 for name in ("step", "seconds"))
    return [
        {**entry, "step": (entry["step"] or 0) + steps, "seconds": (entry["seconds"] or 0) + seconds}
        for entry in second
    ]


def _write(
    base: Bundle, bundle: Bundle, ranker: Ranker, curve: Curve, said: dict[str, object], work: Path
) -> Path:
    """The base's adapter with the ranker's matrices beside it."""
    folder = work / "bundle"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    adapter = load_file(base.adapter_file) if base.adapter_file else {}
    kept = {name: value for name, value in adapter.items() if not name.startswith(HEADS + RANKER)}
    save_file(kept | {HEADS + name: head for name, head in ranker_heads(ranker).items()}, folder / ADAPTER)
    (folder / ADAPTER).chmod(0o644)  # written for its owner alone
    write_bundle(bundle, folder)
    if bundle.base.get("folder") == MODEL:  # it travels with the bundle
        shutil.copytree(base.base_folder, folder / MODEL)
    (folder / VOCABULARY).write_text(vocabulary_json(ranker), encoding="utf-8")
    (folder / "curve.json").write_text(json.dumps(curve) + "\n")
    draw(curve, folder / "curve.png")
    versions = {name: metadata.version(name) for name in ("indexer", "torch", "transformers")}
    said = {**said, "base": f"{base.name}@{base.fingerprint[:8]}", "versions": versions}
    (folder / TRAINING).write_text(json.dumps(said, indent=2, default=str) + "\n")
    return folder


def _trained(bundle: Bundle) -> str:
    """What a bundle was trained on by which order; empty when it was trained otherwise."""
    file = bundle.folder / TRAINING
    return str(json.loads(file.read_text())["asked"]) if file.exists() else ""


def _asked(base: Bundle, data: Sequence[Path], order: SimCKPOptions) -> str:
    """Changes with the order, the base, the files and the version of the program."""
    read = [*data, *([order.bart / "model.safetensors"] if order.bart else [])]
    files = [hashlib.sha256(path.read_bytes()).hexdigest() for path in read]
    said = json.dumps([base.fingerprint, asdict(order), files, metadata.version("indexer")], default=str)
    return hashlib.sha256(said.encode()).hexdigest()[:12]
