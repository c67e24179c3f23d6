"""indexer backup, restore: everything of a home in one file, and back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import show_result, working
from indexer.export.formatting import count, size

if TYPE_CHECKING:
    from indexer.runs.backup import Backup
    from indexer.settings import Settings


@command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
@pass_app
def backup(app: App, file: Path, as_json: bool) -> None:
    """Write a home into one tar FILE, while it is in use.

    In it: all collections of the embedded engine, the catalog, encoders, and uploads that wait. FILE is compressed when
    its name ends in .gz or .xz, which takes ten times as long. Elasticsearch has snapshots, PostgreSQL has pg_dump: take
    those first, this last.

    \b
    Examples:
      indexer backup home.tar
      indexer backup /mnt/backups/home.tar.gz
    """
    from indexer.runs.backup import back_up

    settings = app.settings()
    replaced = file.exists()
    with working(app, resumable=False) as progress:
        done = back_up(settings.home, file, progress=progress)
    where = f"{file}, which is replaced," if replaced else str(file)
    text = f"{_about(done)} written to {where} in {done.seconds:,.1f} s"
    show_result(_public(done), "\n".join([text, *_elsewhere(settings)]), as_json=as_json)


@command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@pass_app
def restore(app: App, file: Path, as_json: bool) -> None:
    """Unpack a backup FILE into an empty home.

    All of FILE is checked before the home has anything of it. What was being indexed when the backup was written is
    mined by `indexer retry`.

    \b
    Examples:
      indexer restore home.tar
    """
    from indexer.runs.backup import restore as unpack
    from indexer.runs.repair import settle

    settings = app.settings()
    with working(app, resumable=False) as progress:
        done = unpack(file, settings.home, progress=progress)
    waiting = settle(settings, done.collections)
    lines = [f"{_about(done)} of {done.created} restored into {settings.home}"]
    lines += [
        f"{name}: {count(number, 'document')} to be mined: {app.again('retry', collection=name)}"
        for name, number in waiting.items()
        if number
    ]
    show_result({**_public(done), "waiting": waiting}, "\n".join(lines), as_json=as_json)


def _about(done: Backup) -> str:
    return (
        f"{count(len(done.collections), 'collection')}, {count(len(done.files), 'file')}, {size(done.bytes)}"
    )


def _public(done: Backup) -> dict[str, object]:
    return {name: value for name, value in asdict(done).items() if name != "files"}


def _elsewhere(settings: Settings) -> list[str]:
    """What of this installation is not in the file."""
    from indexer.engines.registry import is_elasticsearch

    found = []
    if is_elasticsearch(settings):
        found.append("not in it: the indices; take a snapshot of them on the server")
    if not settings.database.startswith("sqlite"):
        found.append("not in it: the catalog; take a dump of it with the tools of the database")
    return found
