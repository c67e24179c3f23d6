"""The collection that commands open. Imports numpy and more: import it inside commands."""

from __future__ import annotations

import sys
from functools import cached_property

import click

from indexer.collection import Collection
from indexer.protocols import Encoder, Progress, no_progress
from indexer.settings import Settings


class OpenedCollection(Collection):
    """Reports when the encoder is loaded, which takes seconds, and ten more the first time on a machine."""

    progress: Progress = staticmethod(no_progress)

    @cached_property
    def encoder(self) -> Encoder:
        first = not _is_measured(self.settings)
        if self.progress is not no_progress:
            self.progress("measure" if first else "load", 0, None)
        elif first and sys.stderr.isatty():
            click.echo(
                "Measuring which backend is fastest on this machine; once, about ten seconds.", err=True
            )
        return super().encoder


def _is_measured(settings: Settings) -> bool:
    from models.calibrate import remembered_results
    from models.hardware import physical_cores
    from models.load import is_user_class
    from models.registry import Registry

    if settings.backend != "auto" or is_user_class(settings.bundle, settings.home):
        return True
    bundle = Registry(settings.home).get(settings.bundle)
    return remembered_results(bundle, settings.home, settings.threads or physical_cores()) is not None
