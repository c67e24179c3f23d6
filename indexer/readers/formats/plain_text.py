"""Plain text: one document per file, unchanged."""

from __future__ import annotations

from indexer.readers.encoding import decode
from indexer.readers.options import ReadOptions
from indexer.readers.single import Page, all_bytes
from indexer.readers.source import File

SUFFIXES = ("txt", "text")


def parse(file: File, options: ReadOptions) -> Page:
    return Page(decode(all_bytes(file, options, options.max_bytes), file))
