"""Commands that work for a while: progress on a terminal, and what Ctrl-C says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indexer.cli.app import App
    from indexer.progress import Progress


@contextmanager
def working(app: App, *, resumable: bool = True) -> Iterator[Progress]:
    """Long work: gives it something to report its progress to.

    Args:
        resumable: Whether the same command, given again, goes on where it was stopped.
    """
    app.resumable = resumable
    if not sys.stderr.isatty():
        from indexer.progress import no_progress

        yield no_progress
        return
    from indexer.cli.bars import bars

    with bars() as progress:
        app.progress = progress
        yield progress
        app.progress = None
