"""What the tasks share: where the data is, how many seeds, the encoder, and how a table is printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from indexer.cli.output import print_json, say

if TYPE_CHECKING:
    from indexer.protocols import Encoder
    from indexer.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


class EvaluationResult(Protocol):
    """What a task finds: one object for programs, a table for people."""

    def as_json(self) -> dict[str, Any]: ...

    def render(self) -> str: ...


def data_option(text: str) -> Callable[[F], F]:
    """Add ``--data``, one file that must be there."""
    kind = click.Path(exists=True, dir_okay=False, path_type=Path)
    return click.option("--data", type=kind, required=True, metavar="FILE", help=text)


def limit_option(noun: str) -> Callable[[F], F]:
    """Add ``--limit``."""
    text = f"Use a sample of N {noun}, the same each time.  [default: all]"
    return click.option("--limit", type=click.IntRange(1), metavar="N", help=text)


def seeds_option(function: F) -> F:
    """Add ``--seeds``."""
    return click.option(
        "--seeds", type=click.IntRange(1), default=5, metavar="N", show_default=True,
        help="How many times to start anew; mean and spread are printed.",
    )(function)  # fmt: skip


def encoder_of(settings: Settings, bundle: str = "") -> Encoder:
    """The encoder of a bundle, by default of the one that the settings name."""
    # Imported here: the help must not wait for it.
    from models.load import load_encoder

    return load_encoder(
        bundle or settings.bundle, home=settings.home, backend=settings.backend, threads=settings.threads
    )


def show(found: EvaluationResult, *, as_json: bool) -> None:
    """Print what was found."""
    if as_json:
        print_json(found.as_json())
    else:
        say(found.render())
