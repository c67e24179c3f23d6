"""The generations of the collection, for the commands of this group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indexer.cli.app import App
    from indexer.engines.generations import Generations


@contextmanager
def opened(app: App) -> Iterator[Generations]:
    """For reading, whatever encoder the settings name: it need not fit the live generation."""
    from indexer.engines.opening import open_generations

    with closing(open_generations(app.existing())) as generations:
        yield generations
