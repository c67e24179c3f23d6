"""Which reader takes which file: by its suffix, a final .gz aside.

Readers are the modules of `indexer.readers.formats`, and users' own ones, named by the setting `reader`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from indexer.common import import_object
from indexer.errors import InputError, SettingsError
from indexer.readers import formats, single
from indexer.readers.formats import jsonl, plain_text
from indexer.readers.options import ReadOptions
from indexer.readers.parser_process import ParserProcess
from indexer.readers.source import File
from indexer.records import Document

FORMATS: dict[str, Any] = {}  # suffix ► reader
MAGIC: dict[str, bytes] = {}  # suffix ► how a file begins


def register(path: str) -> None:
    """Read files with the user's own reader from now on in this process, even where another reader knows the suffix.

    Args:
        path: Dotted path of a module or class that declares what a module of `indexer.readers.formats` does.

    Raises:
        SettingsError: It cannot be imported, or is not a reader.
    """
    reader = import_object(path)
    suffixes = getattr(reader, "SUFFIXES", ())
    if not suffixes or isinstance(suffixes, str) or hasattr(reader, "parse") == hasattr(reader, "read"):
        raise SettingsError(
            f"'{path}' is not a reader: it must declare SUFFIXES, a tuple such as ('rst',), and either parse or read.",
            hint="The documentation of readers has an example.",
        )
    _add(reader)


def _add(reader: Any) -> None:
    for suffix in reader.SUFFIXES:
        FORMATS[suffix] = reader
        MAGIC.pop(suffix, None)
        if hasattr(reader, "MAGIC"):
            MAGIC[suffix] = reader.MAGIC


def _add_own() -> None:
    """Register the modules of `formats`; those that read records come first in messages."""
    found = (import_module(f"{formats.__name__}.{one.name}") for one in iter_modules(formats.__path__))
    for reader in sorted(found, key=lambda module: hasattr(module, "parse")):
        _add(reader)


_add_own()


def is_known(file: File) -> bool:
    return file.suffix in FORMATS or file.is_pipe


def is_one_document(file: File) -> bool:
    """Whether a file of this suffix is one document; otherwise it holds records."""
    return hasattr(FORMATS.get(file.suffix), "parse")


def header_lines(file: File) -> int:
    """How many lines of a file of records are not records."""
    return int(getattr(FORMATS.get(file.suffix), "HEADER_LINES", 0))


def read_file(file: File, options: ReadOptions, apart: ParserProcess) -> Iterator[Document | InputError]:
    """The documents of one file. Raises InputError when the file, or the rest of it, is unusable.

    Args:
        apart: Parses files that are one document, except plain text.
    """
    reader = FORMATS.get(file.suffix, jsonl)  # standard input and pipes have no suffix: JSON Lines
    if is_one_document(file):
        parse = reader.parse if reader is plain_text or file.is_pipe else partial(apart.parse, reader.parse)
        yield single.document(file, parse, options)
    else:
        yield from reader.read(file, options)
