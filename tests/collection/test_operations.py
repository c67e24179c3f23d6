"""Random operations leave the collection as it must be."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from fuzzing import examples
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from operations import Actor, Operations, check
from small_reports import OTHERS, SUBJECTS, opened


class OneProcess(Operations):
    """One process, and a new collection for each example."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        collection = opened(self.folder / "home")
        texts = [*SUBJECTS.values(), *OTHERS]
        self.actor = Actor(collection, 0, self.folder / "p0.jsonl", texts)
        self.actor.add(self.actor.fewest)
        self.actor.index(topics=4)

    def teardown(self) -> None:
        try:
            check(self.collection, {id_: one["text"] for id_, one in self.actor.documents.items()})
        finally:
            self.collection.close()
            shutil.rmtree(self.folder)


def test_any_operations_leave_the_collection_as_it_must_be():
    run_state_machine_as_test(
        OneProcess,
        settings=settings(
            max_examples=examples(2),
            stateful_step_count=10,
            deadline=None,
            phases=[Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
