"""A training job: a folder in which a killed one resumes, the loop with checkpoints and a curve, and the new bundle."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Protocol

import torch
from safetensors.numpy import save_file
from torch import nn

from indexer.errors import InputError
from indexer.protocols import Progress
from indexer.readers import ReadOptions, read
from indexer.records import Document
from models.bundle import ADAPTER, TRAINING, Bundle, write_bundle
from models.hardware import physical_cores
from models.registry import Registry
from models.torch.network import Network
from trainer.base.adapters import Tensors, add_lora, only_layers
from trainer.base.curve import draw
from trainer.base.loop import Recipe, Step, TrainConfig, train
from trainer.base.options import TrainingOptions

Curve = list[dict[str, float | None]]


class NetworkRecipe(Recipe, Protocol):
    """A recipe that owns its network."""

    @property
    def network(self) -> nn.Module:
        """Everything with weights."""
        ...


class TrainingJob:
    """One training of a bundle by a recipe's options.

    Args:
        base: The bundle that is trained.
        home: The program's folder; the job's own is ``training/NAME-FINGERPRINT`` in it.
        sources: What identifies the texts, e.g. `stamp` of each file.
    """

    def __init__(
        self, base: Bundle, options: TrainingOptions, sources: object, *, home: Path, progress: Progress
    ) -> None:
        version = metadata.version("indexer")
        self.options = options
        self.fingerprint = hashed([base.fingerprint, options.recorded(), sources, version])
        self.folder = home / "training" / f"{options.name}-{self.fingerprint}"
        self._registry = Registry(home)
        self._progress = progress

    def finished(self) -> Bundle | None:
        """The bundle that the same job has registered, if it has."""
        name = self.options.name
        if name not in self._registry.list():
            return None
        bundle = self._registry.get(name)
        return bundle if bundle.training.get("asked") == self.fingerprint else None

    def start(self) -> None:
        """Set threads and seed, and make the folder; a killed job finds its own again."""
        torch.set_num_threads(self.options.threads or physical_cores())
        torch.manual_seed(self.options.seed)
        self.folder.mkdir(parents=True, exist_ok=True)

    def train(self, recipe: Recipe, network: nn.Module, config: TrainConfig, stage: str = "") -> Curve:
        """Train with a checkpoint at each dev score, and keep the curve next to it. The last weights stay.

        Args:
            stage: Of several trainings in one job; empty for the only one.
        """
        return self._train(recipe, network, config, stage, best=None)

    def train_best(self, recipe: NetworkRecipe, config: TrainConfig, stage: str) -> Curve:
        """The same, but the weights with the best dev score stay."""
        best = self.folder / f"{stage}-best.pt"
        curve = self._train(recipe, recipe.network, config, stage, best=best)
        recipe.network.load_state_dict(torch.load(best, weights_only=True))
        return curve

    def _train(
        self, recipe: Recipe, network: nn.Module, config: TrainConfig, stage: str, best: Path | None
    ) -> Curve:
        prefix, label = (f"{stage}-", f"train {stage}") if stage else ("", "train")
        curve, checkpoint = self.folder / f"{prefix}curve.json", self.folder / f"{prefix}checkpoint.pt"
        log: Curve = json.loads(curve.read_text()) if curve.exists() else []
        resumed = checkpoint.exists()
        with closing(train(recipe, network, config, checkpoint)) as steps:
            try:
                for step in steps:
                    if resumed:
                        self._progress(
                            f"note: Resumes a training at step {step.number} of {step.of}.", 0, None
                        )
                        resumed = False
                    log = [*log[: step.number - 1], _entry(step)]
                    if best and step.is_best:
                        torch.save(network.state_dict(), best)
                    if step.score is not None:
                        curve.write_text(json.dumps(log))
                    self._progress(f"{label}: loss {step.loss:.3f}", step.number, step.of)
            finally:
                curve.write_text(
                    json.dumps(log)
                )  # the checkpoint of one that is stopped here is of this step
        if resumed:
            self._progress(f"note: Resumes a training whose {log[-1]['step']} steps are complete.", 0, None)
        return log

    def register(
        self,
        base: Bundle,
        changed: Bundle,
        weights: Tensors,
        curve: Curve,
        add_files: Callable[[Path], object] = lambda folder: None,
    ) -> Bundle:
        """Write a bundle and put it into the home; the job's folder is removed.

        Args:
            base: What was trained.
            changed: The same with what the training has changed.
            weights: Of the adapter, by name.
            add_files: Writes more files into the bundle's folder.
        """
        folder = self.folder / "bundle"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        save_file(weights, folder / ADAPTER)
        (folder / ADAPTER).chmod(0o644)  # safetensors writes it for its owner alone
        write_bundle(self._described(base, changed), folder)
        add_files(folder)
        (folder / "curve.json").write_text(json.dumps(curve) + "\n")
        draw(curve, folder / "curve.png")
        record = {
            "asked": self.fingerprint,
            "base": f"{base.name}@{base.fingerprint[:8]}",
            **self.options.recorded(),
            "versions": {name: metadata.version(name) for name in ("indexer", "torch", "transformers")},
        }
        (folder / TRAINING).write_text(json.dumps(record, indent=2, default=str) + "\n")
        registered = self._registry.add(folder)
        shutil.rmtree(self.folder)
        return registered

    def _described(self, base: Bundle, changed: Bundle) -> Bundle:
        options = self.options
        return replace(
            changed,
            name=options.name,
            about=f"{options.title} on {base.name}: {', '.join(path.name for path in options.paths())}.",
            licence=options.licence or base.licence,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def open_network(bundle: Bundle, lora: int) -> Network:
    """The network of a bundle on the GPU, if there is one; its layers, or LoRA of this rank, are trainable."""
    network = Network(bundle)
    if lora:
        add_lora(network, lora)
    else:
        only_layers(network)
    return network.to("cuda" if torch.cuda.is_available() else "cpu")


def documents_of(path: Path) -> Iterator[Document]:
    """The documents of a source; unreadable ones are left out, as `indexer index` reports."""
    for item in read([path], ReadOptions()):
        if not isinstance(item, InputError):
            yield item


def hashed(value: object) -> str:
    """The first 12 hexadecimal digits of the hash of a value as JSON."""
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()[:12]


def stamp(path: Path) -> list[list[object]]:
    """Names, times and sizes of a file, or of all files of a folder."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [[str(file.resolve()), file.stat().st_mtime, file.stat().st_size] for file in files]


def _entry(step: Step) -> dict[str, float | None]:
    return {
        "step": step.number,
        "loss": round(step.loss, 5),
        "seconds": round(step.seconds, 1),
        "score": step.score,
    }
