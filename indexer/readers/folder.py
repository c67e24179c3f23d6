"""Folders: all files below, in a fixed order, without the hidden ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from indexer.errors import InputError
from indexer.readers.source import File, clean, shown


def walk(source: Path) -> Iterator[File | InputError]:
    """The regular files below a folder, sorted by name, folder by folder.

    Names that begin with a dot and Word's lock files (`~$report.docx`) are passed over. Links to files are
    followed, links to folders are not, since they may lead in a circle.
    """
    root = os.path.basename(os.path.abspath(source))
    waiting = [(source, root, True)]
    while waiting:
        path, folder, is_folder = waiting.pop()
        if not is_folder:
            yield File(path, shown(path), clean(folder))
            continue
        try:
            with os.scandir(path) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield File(path, shown(path)).problem(f"the folder cannot be read: {error.strerror}.")
            continue
        wanted = []
        for entry in found:
            try:
                if _wanted(entry):
                    wanted.append(entry)
            except OSError as error:  # a link to itself, or into a closed folder
                problem = f"the link cannot be followed: {error.strerror}."
                yield File(path / entry.name, shown(path / entry.name)).problem(problem)
        # A stack, not a recursion: folders may be nested deeper than Python's calls.
        for entry in reversed(wanted):
            is_folder = entry.is_dir(follow_symlinks=False)
            waiting.append((path / entry.name, f"{folder}/{entry.name}" if is_folder else folder, is_folder))


def _wanted(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith((".", "~$")):
        return False
    return entry.is_dir(follow_symlinks=False) or entry.is_file()
