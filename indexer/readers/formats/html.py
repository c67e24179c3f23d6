"""HTML: one document per file, the main text of the page without menus, footers and advertisements."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from indexer.readers.encoding import decode
from indexer.readers.options import ReadOptions
from indexer.readers.single import Page, all_bytes, keywords, page
from indexer.readers.source import File
from indexer.readers.third_party import borrowed
from indexer.records import MetaValue

SUFFIXES = ("html", "htm", "xhtml")

_CHARSET = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE
)
_BESIDE_SITE = re.compile(r"\s+[-–—|·:»]\s+")
_BESIDE = ("nav", "footer", "aside")
_BEFORE_SIGN = re.compile(r"(?<=\w) (?=[.,;:!?](?:\s|$))")  # stands where an element ended
_DATES = (
    "article:published_time",
    "datepublished",
    "dc.date",
    "dc.date.issued",
    "dcterms.date",
    "date",
    "pubdate",
)


def parse(file: File, options: ReadOptions) -> Page:
    data = all_bytes(file, options, options.longest_line)
    markup = decode(data, file, declared=_declared(data))
    with borrowed(file, "HTML", "trafilatura", "htmldate", "courlan", "justext", "charset_normalizer"):
        from lxml import html  # type: ignore[import-untyped]

        if not markup.strip():
            return Page("")
        # As bytes, because lxml refuses a str with an XML declaration.
        parser = html.HTMLParser(encoding="utf-8")
        tree = html.document_fromstring(
            markup.encode("utf-8", "replace"), parser=parser, ensure_head_body=True
        )
        title, heading = _text(tree.find(".//title")), _text(tree.find(".//h1"))
        if not title or heading in _BESIDE_SITE.split(title):  # "Heat pumps - My site"
            title = heading
        text = _main_text(markup) or _all_text(tree)
        return page(text.split("\n"), title, _meta(tree))


def _declared(data: bytes) -> str:
    match = _CHARSET.search(data[:4096])
    name = match[1].decode("ascii").lower() if match else ""
    return "cp1252" if name in {"iso-8859-1", "latin1", "ascii", "us-ascii"} else name  # as all browsers do


def _main_text(markup: str) -> str:
    """The main text, one block per line; empty when the page is too small to have a main part."""
    import trafilatura

    found = trafilatura.bare_extraction(markup, include_comments=False)
    return (found.text or "") if found else ""


def _all_text(tree: Any) -> str:
    """Everything that can be seen, without menus unless there is nothing else.

    Written out again first, so that a fragment has become a whole page.
    """
    import trafilatura
    from lxml import html

    whole = html.tostring(tree, encoding="unicode")
    for element in list(tree.iter(*_BESIDE)):
        element.drop_tree()
    for markup in (html.tostring(tree, encoding="unicode"), whole):
        if text := str(trafilatura.html2txt(markup) or ""):
            return _BEFORE_SIGN.sub("", text)
    return ""


def _text(element: Any) -> str:
    return " ".join(element.text_content().split()) if element is not None else ""


def _meta(tree: Any) -> dict[str, MetaValue]:
    tags: dict[str, str] = {}
    for element in tree.iter("meta"):
        name = element.get("name") or element.get("property") or element.get("itemprop") or ""
        content = " ".join((element.get("content") or "").split())
        if content:
            tags.setdefault(name.strip().lower(), content)
    meta: dict[str, MetaValue] = {}
    if author := tags.get("author") or tags.get("article:author") or tags.get("dc.creator"):
        meta["author"] = author
    if description := tags.get("description") or tags.get("og:description"):
        meta["description"] = description
    if date := next((tags[name] for name in _DATES if name in tags and _is_date(tags[name])), ""):
        meta["date"] = date
    if words := keywords(tags.get("keywords", "")):
        meta["keywords"] = words
    if language := (tree.get("lang") or "").strip():
        meta["language"] = language
    return meta


def _is_date(text: str) -> bool:
    """Whether this is a date as both engines understand it."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return "-" in text
