"""DOCX: one document per file, the text of paragraphs, lists and tables in the order of the file."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import IO, Any

from indexer.readers.options import ReadOptions
from indexer.readers.single import Page, keywords, page, seekable
from indexer.readers.source import File
from indexer.readers.third_party import borrowed
from indexer.records import MetaValue

SUFFIXES = ("docx",)
MAGIC = b"PK\x03\x04"  # the first bytes of such a file

_OLE = b"\xd0\xcf\x11\xe0"  # what Word's old format and its encrypted files begin with
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_TITLE_STYLES = {"Title", "Heading 1"}


def parse(file: File, options: ReadOptions) -> Page:
    with seekable(file, options) as stream, borrowed(file, "DOCX"):
        import docx

        _refuse_other(stream, file, options)
        document = docx.Document(stream)
        paragraphs = [(text, element) for element, text in _paragraphs(document.element.body)]
        title = (document.core_properties.title or "").strip() or next(
            (text for text, element in paragraphs if _style(element, document) in _TITLE_STYLES), ""
        )
        return page((text for text, _ in paragraphs), title, _meta(document.core_properties))


def _refuse_other(stream: IO[bytes], file: File, options: ReadOptions) -> None:
    """Say what a file is that is not DOCX, and keep a small file from unpacking to gigabytes."""
    start = stream.read(4)
    stream.seek(0)
    if start == _OLE:
        raise file.problem(
            "not DOCX, but an encrypted file or one of Word's old format.",
            hint="Open it in Word or LibreOffice, remove the password, and save it as .docx.",
        )
    with zipfile.ZipFile(stream) as parts:
        size = sum(part.file_size for part in parts.infolist())
    stream.seek(0)
    if size > 20 * options.longest_line:
        raise file.problem(
            f"the file unpacks to {size:,} bytes; at most {20 * options.longest_line:,} are read.",
            hint="Remove its images, or raise the limit (max_document_bytes).",
        )


def _paragraphs(body: Any) -> Iterator[tuple[Any, str]]:
    """All paragraphs with their text, also those in tables, text boxes and content controls.

    `docx.Document.paragraphs` has only those directly in the body, and no tracked insertions.
    """
    for paragraph in body.iter(f"{_W}p"):
        if next(paragraph.iterancestors(_FALLBACK), None) is not None:
            continue  # the same text box once more, for old programs
        text = "".join(_pieces(paragraph)).strip()
        if text:
            yield paragraph, text


def _pieces(paragraph: Any) -> Iterator[str]:
    for element in paragraph.iter(f"{_W}t", *_SIGNS):
        if element.tag == f"{_W}tab" and element.getparent().tag != f"{_W}r":
            continue  # a tab stop, not a tab
        if next(element.iterancestors(f"{_W}p")) is paragraph:  # not that of a text box inside
            yield _SIGNS.get(element.tag) or element.text or ""


def _style(element: Any, document: Any) -> str:
    from docx.text.paragraph import Paragraph

    style = Paragraph(element, document).style
    return (style.name or "") if style is not None else ""


def _meta(properties: Any) -> dict[str, MetaValue]:
    meta: dict[str, MetaValue] = {}
    if author := (properties.author or "").strip():
        meta["author"] = author
    if properties.created:
        meta["created"] = properties.created.isoformat()
    if words := keywords(properties.keywords or ""):
        meta["keywords"] = words
    return meta
