"""From sources to a bundle in the home: mine, train, write. The same call again goes on where a killed one stopped."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from indexer.errors import InputError
from indexer.progress import Progress, no_progress
from indexer.readers import ReadOptions, read
from indexer.records import Document
from models.bundle import ADAPTER, Bundle, write_bundle
from models.hardware import physical_cores
from models.network import Network
from models.registry import Registry
from models.tokens import WordPieces
from trainer.adapters import adapter_of, add_lora, only_layers
from trainer.ccl import ClusterContrast
from trainer.curve import draw
from trainer.loop import Recipe, Step, TrainConfig, train
from trainer.mining import Mined, found_in, given_mentions, mine
from trainer.pairs import Mix, PairSampler
from trainer.uctopic import UCTopic

BATCH = 96  # pairs
CCL_RATE = 1e-5  # learning rate; the paper's
TARGET_SHARE = 0.5  # of the batches, when there is a target
KEPT_WINDOWS = 2_000  # texts whose document vectors should stay
KEPT_PIECES = 62  # of each, without the special ones


@dataclass(frozen=True)
class Sources:
    """What is learned from.

    Attributes:
        corpus: Files and folders as `indexer index` takes them: general text.
        target: The same: what the encoder is wanted for. Half of the batches come from here.
        mentions: JSON Lines with sentence, start, end (types are not read): a target whose mentions are known.
    """

    corpus: tuple[Path, ...] = ()
    target: tuple[Path, ...] = ()
    mentions: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Order:
    """What is wanted.

    Attributes:
        name: Of the new bundle.
        clusters: 0 for pre-training on pairs; otherwise CCL with so many clusters.
        lora: Rank of LoRA; 0 trains the layers whole.
        licence: Of the texts, for the card.
    """

    name: str
    config: TrainConfig
    clusters: int = 0
    lora: int = 0
    licence: str = ""
    tagger: str = "auto"
    threads: int = 0


def train_uctopic(
    base: Bundle, sources: Sources, order: Order, *, home: Path, progress: Progress = no_progress
) -> Bundle:
    """Train an encoder for phrases in context on unlabelled text, and put it into the home's bundles.

    By pairs (`trainer.uctopic`), or by the clusters of the last source (`trainer.ccl`).

    Raises:
        NotEnoughData: The sources have no phrases.
        LossDiverged: The learning rate is too high.
    """
    torch.set_num_threads(order.threads or physical_cores())
    torch.manual_seed(order.config.seed)
    work = home / "training" / _key(base, sources, order)
    work.mkdir(parents=True, exist_ok=True)
    mix, fingerprint = _mix(sources, work, order.tagger, progress)
    words = WordPieces(base.base_folder / "tokenizer.json")
    network = Network(base)
    if order.lora:
        add_lora(network, order.lora)
    else:
        only_layers(network)
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    recipe = _recipe(network, words, mix, order)
    steps = _run(recipe, network, order.config, work, progress)
    bundle = replace(
        base,
        name=order.name,
        about=f"UCTopic{', CCL' if order.clusters else ''} on {base.name}: {_named(sources)}.",
        licence=order.licence or base.licence,
        adapter={"scale": 1.0},
        trained_on=fingerprint,
        scores={"pairs": round(steps[-1]["score"] or 0.0, 4)},  # of the weights that are kept: the last
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    made = _write(network.cpu(), base, bundle, work, steps, order)
    registered = Registry(home).add(made)
    shutil.rmtree(work)
    return registered


def _recipe(network: Network, words: WordPieces, mix: Mix, order: Order) -> UCTopic | ClusterContrast:
    seed = order.config.seed
    if order.clusters:
        return ClusterContrast(network, words, mix.sources[-1], order.clusters, seed=seed)
    pairs = PairSampler(mix, words, size=BATCH, seed=seed)
    return UCTopic(network, words, pairs, _windows(mix, words, seed), seed=seed)


def _key(base: Bundle, sources: Sources, order: Order) -> str:
    """Names the work folder: the same order on the same files goes on in the same place."""
    files = [path for part in (sources.corpus, sources.target, sources.mentions) for path in part]
    said = [base.fingerprint, asdict(order.config), order.lora, order.clusters, order.name]
    said += [[str(path.resolve()), path.stat().st_mtime, path.stat().st_size] for path in files]
    return f"{order.name}-{hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()[:12]}"


def _mix(sources: Sources, work: Path, tagger: str, progress: Progress) -> tuple[Mix, str]:
    """Mine what is not mined yet; half of the batches from the target."""
    parts: list[tuple[str, float]] = []
    has_target = bool(sources.target or sources.mentions)
    if sources.corpus:
        parts.append(("corpus", 1 - TARGET_SHARE if has_target else 1.0))
    targets = [name for name in ("target", "mentions") if getattr(sources, name)]
    parts += [(name, (TARGET_SHARE if sources.corpus else 1.0) / len(targets)) for name in targets]
    mined = []
    for name, _ in parts:
        folder = work / name
        if not (folder / "done").exists():
            paths: Sequence[Path] = getattr(sources, name)
            progress("mine", 0, None)
            found = (
                given_mentions(paths) if name == "mentions" else found_in(_documents(paths), tagger=tagger)
            )
            mine(found, folder)
            (folder / "done").touch()
        mined.append(Mined.open(folder))
    fingerprint = hashlib.sha256("".join(m.fingerprint for m in mined).encode()).hexdigest()[:32]
    return Mix(mined, [share for _, share in parts]), fingerprint


def _documents(paths: Sequence[Path]) -> Iterator[Document]:
    """Documents of all sources; what cannot be read is left out, as `indexer index` would tell."""
    for item in read(paths, ReadOptions()):
        if not isinstance(item, InputError):
            yield item


def _windows(mix: Mix, words: WordPieces, seed: int) -> list[list[int]]:
    """Word pieces of some texts, three neighbouring sentences each."""
    draw = np.random.default_rng([seed, 2])
    each = KEPT_WINDOWS // len(mix.sources)
    texts = [
        " ".join(source.sentence(at + more) for more in range(3) if at + more < source.size)
        for source in mix.sources
        for at in draw.choice(source.size, min(each, source.size), replace=False).tolist()
    ]
    return [[*words.prefix, *ids[:KEPT_PIECES].tolist(), *words.suffix] for ids in words.ids(texts)]


def _run(
    recipe: Recipe, network: Network, config: TrainConfig, work: Path, progress: Progress
) -> list[dict[str, float | None]]:
    """Train with a checkpoint at each dev score, and keep the curve beside it. The last weights stay."""
    curve = work / "curve.json"
    log: list[dict[str, float | None]] = json.loads(curve.read_text()) if curve.exists() else []
    for step in train(recipe, network, config, work / "checkpoint.pt"):
        log = [*log[: step.number - 1], _entry(step)]
        if step.score is not None:
            curve.write_text(json.dumps(log))
        progress(f"train: loss {step.loss:.3f}", step.number, step.of)
    return log


def _entry(step: Step) -> dict[str, float | None]:
    return {
        "step": step.number,
        "loss": round(step.loss, 5),
        "seconds": round(step.seconds, 1),
        "score": step.score,
    }


def _write(
    network: Network,
    base: Bundle,
    bundle: Bundle,
    work: Path,
    steps: list[dict[str, float | None]],
    order: Order,
) -> Path:
    folder = work / "bundle"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    save_file(adapter_of(network, base), folder / ADAPTER)
    write_bundle(bundle, folder)
    (folder / "curve.json").write_text(json.dumps(steps) + "\n")
    draw(steps, folder / "curve.png")
    (folder / "training.json").write_text(
        json.dumps(
            {
                "recipe": "ccl" if order.clusters else "uctopic",
                "base": f"{base.name}@{base.fingerprint[:8]}",
                "config": asdict(order.config),
                "lora": order.lora,
                "clusters": order.clusters,
                "batch": BATCH,
                "versions": {name: metadata.version(name) for name in ("indexer", "torch", "transformers")},
            },
            indent=2,
        )
        + "\n"
    )
    return folder


def _named(sources: Sources) -> str:
    return ", ".join(
        path.name for part in (sources.corpus, sources.target, sources.mentions) for path in part
    )
