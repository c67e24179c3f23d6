"""For all tests: none of the developer's own settings, no hub, and one thread for each process of the run."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

for name in [*os.environ]:
    if name.startswith("INDEXER_") and not name.startswith("INDEXER_TEST_"):
        del os.environ[name]

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # read when numpy and torch are loaded; the run has a process per core


@pytest.fixture
def few_texts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny network's documents are held by as few texts: thousands would be most of a training's time."""
    monkeypatch.setattr("trainer.train.KEPT_TEXTS", 120)
    monkeypatch.setattr("trainer.train.WINDOWS", 40)


settings.register_profile("project", deadline=None)  # a busy machine is no error
settings.load_profile("project")
