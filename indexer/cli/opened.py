"""The collection as commands use it. Imports numpy and more: import it inside commands."""

from __future__ import annotations

import sys
from functools import cached_property

import click

from indexer.collection import Collection
from indexer.encoding import Encoder
from indexer.settings import Settings


class OpenedCollection(Collection):
    """Says so on the terminal when the encoder is going to measure this machine, which takes a while once."""

    @cached_property
    def encoder(self) -> Encoder:
        if sys.stderr.isatty() and not _is_measured(self.settings):
            click.echo(
                "Measuring which backend is fastest on this machine; once, about ten seconds.", err=True
            )
        return super().encoder


def _is_measured(settings: Settings) -> bool:
    from models.calibrate import remembered_results
    from models.hardware import physical_cores
    from models.registry import Registry

    if settings.backend != "auto":
        return True
    bundle = Registry(settings.home).get(settings.bundle)
    return remembered_results(bundle, settings.home, settings.threads or physical_cores()) is not None
