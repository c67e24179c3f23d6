"""The embedded engine by itself: files, processes, threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_rows import DIMS

from indexer.engines.local import LocalEngine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "collection"


@pytest.fixture
def engine(folder: Path) -> Iterator[LocalEngine]:
    engine = LocalEngine(folder, DIMS)
    yield engine
    engine.close()
