"""Markdown: one document per file, as the plain text that a reader would see, without code blocks."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from indexer.readers.encoding import decode
from indexer.readers.fields import flatten_loosely
from indexer.readers.options import ReadOptions
from indexer.readers.single import Page, all_bytes, page
from indexer.readers.source import File
from indexer.readers.third_party import borrowed
from indexer.records import MetaValue

if TYPE_CHECKING:
    from markdown_it.token import Token

SUFFIXES = ("md", "markdown")

_FRONT_MATTER = re.compile(
    r"(---|\+\+\+)[ \t]*\r?\n(.*?)(?:^|\r?\n)\1[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_PAIR = re.compile(r"([\w.-]+)[ \t]*:(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")


def parse(file: File, options: ReadOptions) -> Page:
    source = decode(all_bytes(file, options, options.longest_line), file)
    with borrowed(file, "Markdown", "markdown_it"):
        meta, body = _front_matter(source)
        blocks = list(_blocks(_tokens(body)))
    title = str(meta.pop("title", "")) or next((text for text, is_heading in blocks if is_heading), "")
    return page((text for text, _ in blocks), title, meta)


def _tokens(body: str) -> list[Token]:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").parse(body)


def _blocks(tokens: Iterable[Token]) -> Iterator[tuple[str, bool]]:
    """Paragraphs, headings, list items and table rows, each with whether it is a heading."""
    is_heading = False
    row: list[str] | None = None
    for token in tokens:
        if token.type == "heading_open":
            is_heading = True
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row is not None:
            yield "\t".join(row).strip(), False
            row = None
        elif token.type == "inline":
            text = _inline(token.children or [])
            if row is not None:
                row.append(text)
            elif text:
                yield text, is_heading
            is_heading = False


def _inline(tokens: Iterable[Token]) -> str:
    """The text of a line: words, code and descriptions of images; HTML tags are left out."""
    parts = []
    for token in tokens:
        if token.type in {"text", "text_special", "code_inline"}:
            parts.append(token.content)
        elif token.type == "image":
            parts.append(_inline(token.children or []))
        elif token.type in {"softbreak", "hardbreak"}:
            parts.append(" " if token.type == "softbreak" else "\n")
    return "".join(parts).strip()


def _front_matter(source: str) -> tuple[dict[str, MetaValue], str]:
    """Split off what stands between `---` (YAML) or `+++` (TOML) at the very beginning."""
    match = _FRONT_MATTER.match(source)
    if not match:
        return {}, source
    fence, inside = match[1], match[2]
    body = source[match.end() :]
    if fence == "---":
        pairs = _simple_yaml(inside)
        # Without a single pair the fence was a horizontal rule.
        return (flatten_loosely(pairs), body) if pairs or not inside.strip() else ({}, source)
    try:
        return flatten_loosely(tomllib.loads(inside.replace("\r\n", "\n"))), body
    except tomllib.TOMLDecodeError:
        return {}, source


def _simple_yaml(text: str) -> dict[str, object]:
    """The YAML of front matter: `key: value`, lists in brackets or by dashes. The rest is left out."""
    found: dict[str, object] = {}
    open_list: list[object] | None = None
    for line in text.splitlines():
        item = _ITEM.fullmatch(line)
        if item and open_list is not None:
            open_list.append(_scalar(item[1]))
            continue
        pair = _PAIR.fullmatch(line.rstrip())
        if not pair:
            continue
        key, value = pair[1], (pair[2] or "").strip()
        open_list = None
        if not value:
            open_list = []
            found[key] = open_list
        elif value.startswith("[") and value.endswith("]"):
            found[key] = [_scalar(part) for part in value[1:-1].split(",") if part.strip()]
        elif value[0] not in "{|>&*!":
            found[key] = _scalar(value)
    return found


def _scalar(text: str) -> object:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if re.fullmatch(r"[+-]?(0|[1-9][0-9]{0,17})", text):
        return int(text)
    if re.fullmatch(r"[+-]?[0-9]{1,15}\.[0-9]{1,15}", text):
        return float(text)
    return None if text in {"", "~", "null"} else text
