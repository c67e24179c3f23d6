"""Which reader takes which file: by its suffix, a final .gz aside. Readers are modules of `indexer.readers.formats`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from indexer.errors import InputError
from indexer.readers import formats, single
from indexer.readers.formats import jsonl
from indexer.readers.options import ReadOptions
from indexer.readers.source import File
from indexer.records import Document


def _formats() -> list[ModuleType]:
    """The readers, those of records first."""
    found = (import_module(f"{formats.__name__}.{one.name}") for one in iter_modules(formats.__path__))
    return sorted(found, key=lambda module: hasattr(module, "parse"))


FORMATS = {suffix: module for module in _formats() for suffix in module.SUFFIXES}
MAGIC: dict[str, bytes] = {suffix: m.MAGIC for suffix, m in FORMATS.items() if hasattr(m, "MAGIC")}


def is_known(file: File) -> bool:
    return file.suffix in FORMATS or file.is_pipe


def is_one_document(file: File) -> bool:
    """Whether a file of this suffix is one document; otherwise it holds records."""
    return hasattr(FORMATS.get(file.suffix), "parse")


def header_lines(file: File) -> int:
    """How many lines of a file of records are not records."""
    return int(getattr(FORMATS.get(file.suffix), "HEADER_LINES", 0))


def read_file(file: File, options: ReadOptions) -> Iterator[Document | InputError]:
    """The documents of one file. Raises InputError when the file, or the rest of it, is unusable."""
    reader = FORMATS.get(file.suffix, jsonl)  # standard input and pipes have no suffix: JSON Lines
    if is_one_document(file):
        yield single.document(file, reader.parse, options)
    else:
        yield from reader.read(file, options)
