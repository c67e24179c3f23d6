"""Worker processes with small parts, which can be made slow, and which some texts kill. Started by tests, as a program.

    fragile_worker.py prepare encode        looks after a process for each queue, as `indexer worker` does
    fragile_worker.py encode encode-1       is such a process

They look after things ten times as often as real ones: what waits in a test is the test.

FRAGILE_SECONDS: that encoding a batch takes. FRAGILE_STEPS: of a training, a fifth of a second each, with a
checkpoint after each; a slice lasts a second. FRAGILE_FIRST: a batch for which there is a message from the beginning.
FRAGILE_METRICS: port of the figures. A text with the word "killer" ends the process that encodes it at once, as a
crash in native code would; one with "tagkiller" the process that tags it.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path

from small_parts import PlainPreparer, WideHashEncoder

from indexer.catalog import Catalog
from indexer.settings import load_settings
from models.registry import Registry
from workers import maintenance, messages, process, retry, supervisor
from workers.metrics import serve_metrics
from workers.queues import QUEUES, processes


class FragileEncoder(WideHashEncoder):
    def encode(self, windows):
        time.sleep(float(os.environ.get("FRAGILE_SECONDS", "0")))
        if any("killer" in window.text.split() for window in windows):
            os._exit(139)
        return super().encode(windows)


class FragilePreparer(PlainPreparer):
    def prepare(self, documents):
        if any("tagkiller" in document.text.split() for document in documents):
            os._exit(139)
        return super().prepare(documents)


def candidates(live, snapshot, wanted, *, home, progress):
    """A training whose checkpoint is a file with a character for each step; its result is the untrained encoder."""
    checkpoint, steps = snapshot.parent / "steps", int(os.environ["FRAGILE_STEPS"])
    while (done := checkpoint.stat().st_size if checkpoint.exists() else 0) < steps:
        time.sleep(0.2)
        with checkpoint.open("a") as file:
            file.write(".")
        progress("train", done + 1, steps)
    yield Registry(home).get("minilm-base")


def with_small_trainings():
    import trainer.retrain.candidates
    import trainer.retrain.probe
    import workers.retrain_tasks

    trainer.retrain.candidates.candidates = candidates
    trainer.retrain.probe.Preparer = PlainPreparer
    trainer.retrain.probe.MIN_DOCUMENTS = 10
    workers.retrain_tasks.SLICE = 1.0


def main(arguments):
    if set(arguments) <= set(QUEUES):
        supervisor.FIRST_PAUSE = 0.05
        command = [sys.executable, str(Path(__file__))]
        threads = load_settings().threads or 1
        started = processes(arguments, None, threads, [])
        with serve_metrics(os.environ.get("FRAGILE_METRICS", "0")) as places:
            supervisor.Supervisor(started, places, command=command).run()
        return 0
    import indexer.text.pool
    import models.load

    messages.UNDERWAY = 1.0
    retry.FIRST_DELAY_S = 0.2
    process.ticking = partial(maintenance.ticking, every=0.5)

    models.load.load_encoder = lambda *args, **kwargs: FragileEncoder()
    indexer.text.pool.Preparer = FragilePreparer
    if first := os.environ.get("FRAGILE_FIRST"):
        settings = load_settings()
        with Catalog.open(settings.database) as catalog:
            messages.Sender(settings).send(catalog, messages.messages(arguments[0], "main", [first]))
    if arguments[0] == "train":
        with_small_trainings()
    return process.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
