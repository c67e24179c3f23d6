"""PDF: one document per file, the text of all pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from indexer.readers.fields import check_size
from indexer.readers.options import ReadOptions
from indexer.readers.single import Page, keywords, seekable
from indexer.readers.source import File, plural
from indexer.readers.third_party import borrowed
from indexer.records import MetaValue

if TYPE_CHECKING:
    from pypdf import PdfReader

SUFFIXES = ("pdf",)
MAGIC = b"%PDF-"  # the first bytes of such a file

_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
_HYPHENATED = re.compile(r"(?<=[^\W\d_])(?:-|\u00ad)[ \t]*\n(?=[^\W\d_A-Z])")
_NO_TITLE = re.compile(
    r"untitled.*|microsoft word\b.*|.*\.(?:docx?|odt|rtf|tex|dvi|indd|pdf|pptx?|qxd|ps|eps|html?)",
    re.IGNORECASE,
)


def parse(file: File, options: ReadOptions) -> Page:
    with seekable(file, options) as stream, borrowed(file, "PDF", "pypdf"):
        from pypdf import PdfReader
        from pypdf.errors import DependencyError

        try:
            reader = PdfReader(stream)
            if reader.is_encrypted and not reader.decrypt(""):
                raise file.problem(
                    "the PDF is encrypted: it opens only with a password.",
                    hint="Remove the password: qpdf --decrypt --password=… IN OUT",
                )
            text = "\n\n".join(_pages(reader, file, options))
            pages = len(reader.pages)
        except DependencyError as error:
            raise file.problem(
                "the PDF is encrypted with AES, which needs one more package.",
                hint="pip install cryptography",
            ) from error
        if not text.strip():
            raise file.problem(
                f"no text in {plural(pages, 'page')}: probably a scan.",
                hint="Recognise its text first, for example: ocrmypdf IN OUT",
            )
        return Page(text, _title(reader), {**_meta(reader), "pages": pages})


def _pages(reader: PdfReader, file: File, options: ReadOptions) -> Iterator[str]:
    size = 0
    for page in reader.pages:
        text = _readable(page.extract_text())
        size += len(text)
        if size > options.max_bytes:  # stop early; the exact size does not matter any more
            check_size("", " " * size, file, options)
        if text:
            yield text


def _readable(text: str) -> str:
    """Undo what typesetting did to words: ligatures, and hyphens at line ends before a small letter."""
    return _HYPHENATED.sub("", text.translate(_LIGATURES)).strip()


def _title(reader: PdfReader) -> str:
    title = str((reader.metadata and reader.metadata.title) or "").strip()
    return "" if _NO_TITLE.fullmatch(title) else title


def _meta(reader: PdfReader) -> dict[str, MetaValue]:
    info = reader.metadata
    meta: dict[str, MetaValue] = {}
    if not info:
        return meta
    if author := str(info.author or "").strip():
        meta["author"] = author
    if created := _created(reader):
        meta["created"] = created.isoformat()
    if words := keywords(str(info.get("/Keywords") or "")):
        meta["keywords"] = words
    return meta


def _created(reader: PdfReader) -> datetime | None:
    try:
        return reader.metadata.creation_date if reader.metadata else None
    except ValueError:  # many programs write dates of their own making
        return None
