"""Every engine goes through the same tests. To add one, add a function that opens it to `ENGINES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from contract_rows import DIMS

from indexer.engines.base import Engine
from indexer.engines.local import LocalEngine


def _local(folder: Path) -> Engine:
    return LocalEngine(folder / "collection", DIMS)


ENGINES: dict[str, Callable[[Path], Engine]] = {"local": _local}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty collection."""
    engine = ENGINES[request.param](tmp_path)
    yield engine
    engine.close()
