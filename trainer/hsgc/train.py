"""From texts to a bundle whose document vectors fall into clusters (HS-GC). Killed, the same call goes on."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import torch

from indexer.protocols import Progress, no_progress
from models.bundle import Bundle
from models.hardware import physical_cores
from models.registry import Registry
from models.tokens import TokenizerFile
from models.torch.network import Network
from models.weights import DOCUMENTS, HEADS, read_heads
from trainer.base.adapters import adapter_of, add_lora, only_layers
from trainer.base.job import (
    documents_of,
    hashed,
    run,
    stamp,
    write,
)
from trainer.base.loop import TrainConfig
from trainer.hsgc.data import Ints
from trainer.hsgc.recipe import GlobalContrast

RATE = 5e-5  # of the layers; the paper's 5e-6 is for some thousand steps
STEPS = 300
EVAL_EVERY = 50  # steps; the clusters are found anew as often
CLIP = 1e4  # none: the small weights of the head have large gradients


@dataclass(frozen=True)
class HSGCOptions:
    """What is wanted.

    Attributes:
        name: Of the new bundle.
        clusters: How many; None chooses by silhouette.
        all_layers: Whether documents become the mean over all layers, as in the paper, or keep those of the base.
        lora: Rank of LoRA; 0 trains the layers whole.
        licence: Of the texts, for the card.
    """

    name: str
    clusters: int | None = None
    all_layers: bool = True
    steps: int = STEPS
    budget_s: float = 0.0
    learning_rate: float = RATE
    lora: int = 0
    licence: str = ""
    seed: int = 0
    threads: int = 0

    def config(self) -> TrainConfig:
        """For the loop."""
        return TrainConfig(
            steps=self.steps,
            budget_s=self.budget_s,
            learning_rate=self.learning_rate,
            warmup=10,
            clip_norm=CLIP,
            eval_every=EVAL_EVERY,
            anywhere=False,  # the clusters and their centres are found anew where a checkpoint is written
            seed=self.seed,
        )


def holistic(base: Bundle) -> Bundle:
    """The bundle with HS-GC's document vectors: the mean over all layers, and no head that was fitted to others."""
    layers = tuple(range(1, max(layers_of(base)) + 1))
    return replace(base, pooling=replace(base.pooling, document_layers=layers))


def layers_of(bundle: Bundle) -> range:
    """The layers of a bundle's base model, from 1."""
    config = bundle.base_config
    number = config.get("num_hidden_layers") or config.get("n_layers") or config["encoder_layers"]
    return range(1, int(number) + 1)


def train_documents(
    base: Bundle,
    corpus: Sequence[Path],
    order: HSGCOptions,
    *,
    home: Path,
    progress: Progress = no_progress,
) -> Bundle:
    """Train an encoder on unlabelled documents, and put it into the home's bundles.

    What was trained already, by the same order on the same files, is returned as it is.

    Raises:
        NotEnoughData: The sources have too few texts.
        LossDiverged: The learning rate is too high.
    """
    registry = Registry(home)
    files = [stamp(path) for path in corpus]
    asked = hashed(["hs-gc", base.fingerprint, asdict(order), files, metadata.version("indexer")])
    if order.name in registry.list() and registry.get(order.name).training.get("asked") == asked:
        return registry.get(order.name)
    torch.set_num_threads(order.threads or physical_cores())
    torch.manual_seed(order.seed)
    work = home / "training" / f"{order.name}-{asked}"  # a killed run goes on in the same place
    work.mkdir(parents=True, exist_ok=True)
    whole = holistic(base) if order.all_layers else base
    network = Network(whole)
    if order.lora:
        add_lora(network, order.lora)
    else:
        only_layers(network)
    if order.all_layers:
        with torch.no_grad():
            network.documents.copy_(torch.eye(network.dims))
    network.documents.requires_grad = False
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    words = TokenizerFile(base.base_folder / "tokenizer.json")
    progress("read", 0, None)
    texts = list(_texts(corpus, words, base.window_tokens))
    recipe = GlobalContrast(network, words, texts, order.clusters, again=EVAL_EVERY, seed=order.seed)
    steps = run(recipe, network, order.config(), work, progress)
    heads = read_heads(base)
    if order.all_layers:
        heads.pop(DOCUMENTS, None)
    bundle = replace(
        whole,
        name=order.name,
        base=base.base_beside,
        about=f"HS-GC on {base.name}: {', '.join(path.name for path in corpus)}.",
        licence=order.licence or base.licence,
        adapter={"scale": 1.0},
        heads=tuple(sorted(heads)),
        trained_on=_fingerprint(texts),
        scores={
            "held_back": round(steps[-1]["score"] or 0.0, 4),
            "steps": steps[-1]["step"] or 0,
            "clusters": recipe.clusters,
        },
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    said = {
        "asked": asked,
        "base": f"{base.name}@{base.fingerprint[:8]}",
        **asdict(order),
        "versions": {name: metadata.version(name) for name in ("indexer", "torch", "transformers")},
    }
    weights = {**adapter_of(network.cpu(), whole), **{HEADS + name: head for name, head in heads.items()}}
    registered = registry.add(write(weights, bundle, said, steps, work))
    shutil.rmtree(work)
    return registered


def _texts(corpus: Sequence[Path], words: TokenizerFile, pieces: int) -> Iterator[Ints]:
    """Word pieces of the beginning of each document, its title first."""
    for path in corpus:
        for document in documents_of(path):
            [ids] = words.ids([f"{document.title}\n{document.text}".strip()])
            yield ids[:pieces]


def _fingerprint(texts: Sequence[Ints]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.tobytes())
    return digest.hexdigest()[:32]
