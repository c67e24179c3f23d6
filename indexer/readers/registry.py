"""Which reader takes which file: by its suffix, a final .gz aside."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from indexer.errors import InputError
from indexer.readers import (
    docx,
    html,
    jsonl,
    markdown,
    pdf,
    plain_text,
    single,
    tables,
)
from indexer.readers.options import ReadOptions
from indexer.readers.single import Parser
from indexer.readers.source import File
from indexer.records import Document

RecordReader = Callable[[File, ReadOptions], Iterator[Document | InputError]]

MANY: dict[str, RecordReader] = {  # files of records
    "jsonl": jsonl.read,
    "ndjson": jsonl.read,
    "csv": tables.read,
    "tsv": tables.read,
    "tab": tables.read,
}
ONE: dict[str, Parser] = {  # files that are one document
    "txt": plain_text.parse,
    "text": plain_text.parse,
    "md": markdown.parse,
    "markdown": markdown.parse,
    "html": html.parse,
    "htm": html.parse,
    "xhtml": html.parse,
    "pdf": pdf.parse,
    "docx": docx.parse,
}


def is_known(file: File) -> bool:
    return file.suffix in MANY or file.suffix in ONE or file.is_pipe


def read_file(file: File, options: ReadOptions) -> Iterator[Document | InputError]:
    """The documents of one file. Raises InputError when the file, or the rest of it, is unusable."""
    if file.suffix in ONE:
        yield single.document(file, ONE[file.suffix], options)
    else:  # standard input and pipes have no suffix: JSON Lines
        yield from MANY.get(file.suffix, jsonl.read)(file, options)
