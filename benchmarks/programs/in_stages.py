"""Index a file, or retrain, and print each stage when it begins, so that the process that kills this one knows where.

python -m benchmarks.programs.in_stages index SOURCE | retrain SECONDS, with the settings in the environment
"""

from __future__ import annotations

import sys
from typing import Any

from indexer.collection import Collection
from indexer.engines.elastic.generations import ElasticGenerations
from indexer.engines.local.generations import LocalGenerations
from trainer.retrain.report import RetrainOptions

DONE = "done"


class Stages:
    """A progress callback that prints what is new."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        name = stage.split(":")[0] + (", some done" if done else "")
        if name != self._last:
            self._last = name
            print(name, flush=True)


def announce_switch(kind: type[Any], stages: Stages) -> None:
    """Make the moment between the engine's switch and the catalog's a stage of its own."""
    switch = kind.switch

    def switched(generations: Any, number: int) -> None:
        switch(generations, number)
        stages("engine switched, catalog not", 0, None)

    kind.switch = switched


def main() -> None:
    what, argument = sys.argv[1:]
    stages = Stages()
    for generations in (LocalGenerations, ElasticGenerations):
        announce_switch(generations, stages)
    with Collection.open() as collection:
        if what == "index":
            collection.index([argument], progress=stages)
        else:
            report = collection.retrain(RetrainOptions(budget=float(argument), force=True), progress=stages)
            print(f"{report.verdict}: {report.reason}", file=sys.stderr)
    print(DONE, flush=True)


if __name__ == "__main__":
    main()
