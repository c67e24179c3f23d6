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
def working(app: App, *, resumable: bool = True, lines: bool = False) -> Iterator[Progress]:
    """Long work: gives it something to report its progress to.

    Args:
        resumable: Whether the same command, given again, goes on where it was stopped.
        lines: Whether it takes so long that a log should have a line now and then.
    """
    app.resumable = resumable
    if not sys.stderr.isatty():
        from indexer.cli.lines import Lines
        from indexer.progress import no_progress

        if lines:
            with Lines() as progress:
                yield progress
        else:
            yield no_progress
        return
    from indexer.cli.bars import bars

    with bars() as bar:
        app.progress = bar
        yield bar
        app.progress = None
