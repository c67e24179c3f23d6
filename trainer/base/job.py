"""What all trainings share: reading texts, a run with checkpoints and a curve, and the bundle that comes out of it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from safetensors.numpy import save_file

from indexer.errors import InputError
from indexer.protocols import Progress
from indexer.readers import ReadOptions, read
from indexer.records import Document
from models.bundle import ADAPTER, TRAINING, Bundle, write_bundle
from models.torch.network import Network
from trainer.base.adapters import Tensors
from trainer.base.curve import draw
from trainer.base.loop import (
    Recipe,
    Step,
    TrainConfig,
    train,
)

FEW = 30  # steps, which hardly change an encoder


def documents_of(path: Path) -> Iterator[Document]:
    """The documents of a source; what cannot be read is left out, as `indexer index` would tell."""
    for item in read([path], ReadOptions()):
        if not isinstance(item, InputError):
            yield item


def hashed(said: object) -> str:
    return hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()[:12]


def stamp(path: Path) -> list[list[object]]:
    """Names, times and sizes of a file, or of all files of a folder."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [[str(file.resolve()), file.stat().st_mtime, file.stat().st_size] for file in files]


def run(
    recipe: Recipe, network: Network, config: TrainConfig, work: Path, progress: Progress
) -> list[dict[str, float | None]]:
    """Train with a checkpoint at each dev score, and keep the curve beside it. The last weights stay."""
    curve, checkpoint = work / "curve.json", work / "checkpoint.pt"
    log: list[dict[str, float | None]] = json.loads(curve.read_text()) if curve.exists() else []
    resumed = checkpoint.exists()
    with closing(train(recipe, network, config, checkpoint)) as steps:
        try:
            for step in steps:
                if resumed:
                    progress(f"note: Goes on with a training at step {step.number} of {step.of}.", 0, None)
                    resumed = False
                log = [*log[: step.number - 1], _entry(step)]
                if step.score is not None:
                    curve.write_text(json.dumps(log))
                progress(f"train: loss {step.loss:.3f}", step.number, step.of)
        finally:
            curve.write_text(json.dumps(log))  # the checkpoint of one that is stopped here is of this step
    if resumed:
        progress(f"note: Goes on with a training whose {log[-1]['step']} steps are made.", 0, None)
    return log


def _entry(step: Step) -> dict[str, float | None]:
    return {
        "step": step.number,
        "loss": round(step.loss, 5),
        "seconds": round(step.seconds, 1),
        "score": step.score,
    }


def write(
    weights: Tensors,
    bundle: Bundle,
    said: dict[str, object],
    steps: list[dict[str, float | None]],
    work: Path,
) -> Path:
    folder = work / "bundle"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    save_file(weights, folder / ADAPTER)
    (folder / ADAPTER).chmod(0o644)  # written for its owner alone
    write_bundle(bundle, folder)
    (folder / "curve.json").write_text(json.dumps(steps) + "\n")
    draw(steps, folder / "curve.png")
    (folder / TRAINING).write_text(json.dumps(said, indent=2) + "\n")
    return folder
