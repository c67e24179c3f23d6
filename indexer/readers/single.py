"""What readers of one-document files share."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import IO

from indexer.errors import InputError
from indexer.readers.fields import check_size, content_id
from indexer.readers.options import ReadOptions
from indexer.readers.source import File, clean
from indexer.records import Document, MetaValue


@dataclass(frozen=True)
class Page:
    """What a reader found in a file."""

    text: str
    title: str = ""
    meta: Mapping[str, MetaValue] = field(default_factory=dict)


def page(blocks: Iterable[str], title: str, meta: Mapping[str, MetaValue]) -> Page:
    """Paragraphs with blank lines between them, without the one that repeats the title."""
    kept = [block for block in (block.strip() for block in blocks) if block]
    title = " ".join(title.split())
    if title:
        same = (number for number, block in enumerate(kept) if " ".join(block.split()) == title)
        first = next(same, len(kept))
        del kept[first : first + 1]
    return Page("\n\n".join(kept), title, meta)


Parser = Callable[[File, ReadOptions], Page]


def document(file: File, parse: Parser, options: ReadOptions) -> Document:
    """Read a file that is one document.

    The time of the last change is not in meta: it would make a document count as changed after a mere copy.

    Raises:
        InputError: The file cannot be read, or is empty or too long. Its facts have the document's id, so
            that a document that could be read yesterday is not taken for one that is gone.
    """
    try:
        page = parse(file, options)
        text = clean(page.text)
        title = " ".join(clean(page.title).split())
        if not text.strip():
            raise file.problem("the file has no text.")
        check_size(title, text, file, options)
    except InputError as error:
        error.facts["document_id"] = file.id
        raise
    if file.is_pipe:  # has no path that could be an id
        nameless = Document("", text, title, page.meta, file.name)
        return replace(nameless, id=content_id(nameless))
    meta: dict[str, MetaValue] = {**page.meta, "file": clean(file.path.name)}
    if file.folder:
        meta["folder"] = file.folder
    if file.suffix:
        meta["extension"] = clean(file.suffix)
    return Document(file.id, text, title, meta, file.name)


def all_bytes(file: File, options: ReadOptions, most: int) -> bytes:
    """The bytes of a file that may have at most `most` of them.

    Raises:
        InputError: It has more, or cannot be read.
    """
    with file.opened() as stream:
        return _at_most(stream, file, options, most)


@contextmanager
def seekable(file: File, options: ReadOptions) -> Iterator[IO[bytes]]:
    """The bytes of a file for a parser that jumps about in it."""
    with file.opened() as stream:
        if isinstance(stream, gzip.GzipFile):
            stream = io.BytesIO(_at_most(stream, file, options, 20 * options.longest_line))
        yield stream


def keywords(text: str) -> list[str]:
    """The words of a "keywords" property, which are separated by commas or semicolons."""
    return [word for word in (" ".join(part.split()) for part in re.split("[,;]", text)) if word]


def _at_most(stream: IO[bytes], file: File, options: ReadOptions, most: int) -> bytes:
    data = stream.read(most + 1)
    if len(data) > most:
        raise file.problem(
            f"the file has more than {most:,} bytes; "
            f"the limit for the text of one document is {options.max_bytes:,}.",
            hint="Split it into parts, or raise the limit (max_document_bytes).",
        )
    return data
