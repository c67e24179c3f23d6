"""Encoders that must not take over, and what the gate says to each of them.

    python -m benchmarks.gate
    python -m benchmarks.gate --data abstracts.jsonl.gz --documents 2000

Indexes documents with the shipped encoder, spoils it in several ways, and judges each as `indexer retrain --candidate
NAME --dry-run` does. Prints every figure, and the sentences of the refusals. Exits with 1 when one is let through.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from benchmarks.corpus import SHIPPED, write_sample
from benchmarks.table import table
from indexer.collection import Collection
from models.bundle import ADAPTER, Bundle, write_bundle
from models.registry import Registry
from models.torch.network import Network
from models.weights import HEADS, read_heads
from trainer.base.adapters import adapter_of
from trainer.retrain.gate import Report
from trainer.retrain.report import RetrainOptions
from trainer.uctopic.options import UCTopicOptions
from trainer.uctopic.train import train_uctopic

LIVE, UNTRAINED = "minilm-phrases", "minilm-base"
TOO_FAST = UCTopicOptions(steps=30, learning_rate=2e-3, warmup=1)  # twenty times the rate that is right
ONE_DOCUMENT = UCTopicOptions(steps=60, learning_rate=3e-4, warmup=5)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=SHIPPED)
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=list(SPOILT), help=",".join(SPOILT)
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "documents.jsonl")
        write_sample(options.data, options.documents, file)
        home = Path(folder, "home")
        with Collection.open(home=home, bundle=LIVE) as collection:
            collection.index([file])
            reports = {name: judged(collection, SPOILT[name](name, home, file)) for name in options.only}
    show(reports)
    sys.exit(any(report.accepted for report in reports.values()))


def judged(collection: Collection, bundle: str) -> Report:
    report = collection.retrain(RetrainOptions(candidate=bundle, dry_run=True))
    return report.judged[bundle]


def show(reports: dict[str, Report]) -> None:
    """One row for each figure, one column for each encoder; then the sentences."""
    rows: dict[str, dict[str, object]] = {}
    for name, report in reports.items():
        for check in report.checks:
            row = rows.setdefault(
                check.name, {"": check.name, "limit": check.limit, "live": formatted(check.old)}
            )
            row[name] = f"{formatted(check.new)}{'!' if check.verdict == 'worse' else ' '}"
    print(table(list(rows.values())))
    for name, report in reports.items():
        print(f"\n{name}: {'MAY TAKE OVER' if report.accepted else 'refused'}")
        for reason in report.reasons:
            print(f"  {reason}")


def formatted(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


# -- spoilt encoders ----------------------------------------------------------------------------------------


def same(name: str, home: Path, file: Path) -> str:
    """Nothing is changed: a new generation would be work for nothing."""
    return spoilt(name, home, lambda key, weights: weights + 1e-6)


def untrained(name: str, home: Path, file: Path) -> str:
    return UNTRAINED


def shuffled(name: str, home: Path, file: Path) -> str:
    """The weights of each layer in another order."""
    draw = np.random.default_rng(0)
    return spoilt(name, home, lambda key, weights: draw.permuted(weights, axis=-1))


def collapsed(name: str, home: Path, file: Path) -> str:
    """All tokens nearly equal: each layer adds a large common vector."""
    direction = np.random.default_rng(0).normal(size=Registry(home).get(LIVE).dims).astype(np.float32)

    def bend(key: str, weights: np.ndarray) -> np.ndarray:
        return weights + direction if key.endswith("output.LayerNorm.bias") else weights

    return spoilt(name, home, bend)


def diverged(name: str, home: Path, file: Path) -> str:
    """What a training leaves behind whose loss became NaN."""
    return spoilt(
        name, home, lambda key, weights: weights * np.float32("nan") if key.endswith(".bias") else weights
    )


def too_fast(name: str, home: Path, file: Path) -> str:
    """Trained on the right texts at far too high a rate."""
    return trained(name, home, file, TOO_FAST)


def one_document(name: str, home: Path, file: Path) -> str:
    """Trained on a single document, again and again."""
    alone = file.with_name("one.jsonl")
    alone.write_text(file.read_text(encoding="utf-8").split("\n")[0] + "\n", encoding="utf-8")
    return trained(name, home, alone, ONE_DOCUMENT)


SPOILT: dict[str, Callable[[str, Path, Path], str]] = {
    "same": same,
    "untrained": untrained,
    "shuffled": shuffled,
    "collapsed": collapsed,
    "diverged": diverged,
    "too-fast": too_fast,
    "one-document": one_document,
}


def spoilt(name: str, home: Path, change: Callable[[str, np.ndarray], np.ndarray]) -> str:
    """The live encoder with other weights in its layers."""
    live = Registry(home).get(LIVE)
    network = Network(live)
    with torch.no_grad():
        for key, parameter in network.base_parameters().items():
            if ".layer." in key:
                changed = np.ascontiguousarray(change(key, parameter.numpy().copy()), np.float32)
                parameter.copy_(torch.from_numpy(changed))
    return written(network, live, name, home)


def written(network: Network, live: Bundle, name: str, home: Path) -> str:
    folder = home / "bundles" / name
    folder.mkdir(parents=True)
    heads = {HEADS + head: value for head, value in read_heads(live).items()}
    save_file({**adapter_of(network, live), **heads}, folder / ADAPTER)
    write_bundle(replace(live, name=name, adapter={"scale": 1.0}), folder)
    return name


def trained(name: str, home: Path, file: Path, options: UCTopicOptions) -> str:
    options = replace(options, name=name, corpus=(file,))
    return train_uctopic(Registry(home).get(LIVE), options, home=home).name


if __name__ == "__main__":
    main()
