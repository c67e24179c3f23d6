"""What readers of one-document files share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from indexer.readers.fields import check_size
from indexer.readers.options import ReadOptions
from indexer.readers.source import File, clean
from indexer.records import Document, MetaValue


@dataclass(frozen=True)
class Page:
    """What a reader found in a file."""

    text: str
    title: str = ""
    meta: Mapping[str, MetaValue] = field(default_factory=dict)


Parser = Callable[[File, ReadOptions], Page]


def document(file: File, parse: Parser, options: ReadOptions) -> Document:
    """Read a file that is one document.

    The time of the last change is not in meta: it would make a document count as changed after a mere copy.

    Raises:
        InputError: The file cannot be read, or is empty or too long.
    """
    page = parse(file, options)
    text = clean(page.text)
    if not text.strip():
        raise file.problem("the file has no text.", document_id=file.id)
    title = " ".join(clean(page.title).split())
    check_size(title, text, file, options, document_id=file.id)
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
        data = stream.read(most + 1)
    if len(data) > most:
        raise file.problem(
            f"the file has more than {most:,} bytes; "
            f"the limit for the text of one document is {options.max_bytes:,}.",
            document_id=file.id,
            hint="Split it into parts, or raise the limit (max_document_bytes).",
        )
    return data
