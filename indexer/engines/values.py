"""Values of the user's fields as all engines compare and count them, and the check of what can be stored.

Shared, so that all engines accept and refuse the same documents.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

from indexer.records import Document, MetaValue, MinedDocument, Refinement

ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")  # of ISO 8601, to the day or finer


class Value(NamedTuple):
    """One value of a field: its compared text, its displayed text, and its number if it is numeric."""

    text: str
    display: str
    number: float | int | None = None


def to_value(item: Any) -> Value | None:
    """Return a comparable value; None for anything but text, numbers and booleans."""
    if isinstance(item, bool):
        text = "true" if item else "false"
        return Value(text, text)
    if isinstance(item, str):
        return Value(item, item)
    if isinstance(item, int | float):
        if isinstance(item, float) and math.isnan(item):
            return None
        if isinstance(item, float) and item.is_integer() and abs(item) < 2**53:
            item = int(item)  # 3.0 and 3 are the same value
        return Value(str(item), str(item), _storable(item))
    return None


def _storable(number: float | int) -> float | int | None:
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        try:
            return float(number)
        except OverflowError:
            return None
    return number


def read_number(text: str) -> float | int | None:
    """Parse a number; None when the text is not one."""
    try:
        value = to_value(json.loads(text))
    except ValueError:
        return None
    return value.number if value else None


MAX_LENGTH = 200_000_000  # characters of a title or text; SQLite takes 10^9 bytes to a row

_JSON = json.JSONEncoder(ensure_ascii=False)


def meta_json(meta: Mapping[str, MetaValue]) -> str:
    """Serialize the user's fields, to be read with `json.loads`."""
    return _JSON.encode(dict(meta))


def bindable(text: str) -> str:
    """Return a query text without lone surrogates, which cannot be bound and occur in no stored text."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unencodable(text: str) -> str:
    """Return the reason that a text cannot be stored; empty when it can.

    Lone surrogates, halves of a UTF-16 character, come from broken JSON and from file names, and have no UTF-8 form.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"a lone surrogate (U+{ord(text[error.start]):04X}) at {error.start}, which is not a character"
    return ""


def unstorable(document: Document) -> str:
    """Return the reason that this document cannot be stored; empty when it can."""
    if not document.id or "\0" in document.id:
        return "the id is empty or has a NUL character in it"
    try:
        meta = meta_json(document.meta)
    except (TypeError, ValueError) as error:
        return f"its fields cannot be written as JSON: {error}"
    parts: dict[str, Any] = {
        "id": document.id,
        "title": document.title,
        "text": document.text,
        "meta": meta,
        "source": document.source,
    }
    for name, content in parts.items():
        if len(content) > MAX_LENGTH:
            return f"{name} has {len(content):,} characters, more than {MAX_LENGTH:,}"
        reason = unencodable(content)
        if reason:
            return f"{name} has {reason}"
    return ""


def unstorable_mined(row: MinedDocument | Refinement) -> str:
    """Return the reason that one of its texts cannot be stored; empty when all can."""
    parts = [row.run]
    for keyphrase in row.keyphrases:
        parts += (keyphrase.phrase_id, keyphrase.text)
    parts += [topic.topic_id for topic in row.topics]
    if isinstance(row, MinedDocument):
        parts.append(row.bundle)
        for mention in row.mentions:
            parts += (
                mention.phrase_id,
                mention.phrase,
                mention.surface,
                mention.sentence,
                mention.topic or "",
            )
    else:
        parts += [topic for topic in row.mention_topics.values() if topic]
    reason = unencodable("\n".join(parts))
    return f"what was mined has {reason}" if reason else ""


def without_nuls(title: str, text: str) -> tuple[str, str, str | None]:
    """Return title and text with spaces for NULs, at which word indices stop, and the NULs' offsets as JSON (or None)."""
    if "\0" not in title and "\0" not in text:
        return title, text, None
    offsets = [[at for at, char in enumerate(field) if char == "\0"] for field in (title, text)]
    return title.replace("\0", " "), text.replace("\0", " "), json.dumps(offsets)


def restored(title: str, text: str, nuls: str | None) -> tuple[str, str]:
    """Put NUL characters back at their offsets."""
    if nuls is None:
        return title, text
    fields = []
    for field, offsets in zip((title, text), json.loads(nuls), strict=True):
        chars = list(field)
        for at in offsets:
            chars[at] = "\0"
        fields.append("".join(chars))
    return fields[0], fields[1]


def has_words(text: str) -> bool:
    """Return whether a tokenizer may find a word: SQLite's accepts letters, digits and private-use characters."""
    return any(char.isalnum() or unicodedata.category(char) in ("Co", "Nl", "No") for char in text)
