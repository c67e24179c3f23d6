"""From a record (a JSON object, a row of a table) to a document: which field is what, what meta may hold."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time
from itertools import islice
from typing import Any

from indexer.readers.options import ReadOptions
from indexer.readers.source import File, clean, hash_id
from indexer.records import Document, MetaValue

TEXT_FIELDS = ("text", "body", "content", "abstract")  # the first of these that a record has
TITLE_FIELDS = ("title",)
ID_FIELDS = ("id", "_id")

MAX_DEPTH = 10  # objects inside objects in meta
MAX_ID_BYTES = 512  # what Elasticsearch allows
TEXT_GAP = "\n\n"  # between several text fields
_MAX_INTEGER_LENGTH = 2**63
_NAME_THE_TEXT = "Name the field that holds the text: --text-field NAME."
_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}

Record = dict[str, Any]


class Fields:
    """Which fields of a file's records are text, title and id."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._wanted = [name.strip() for name in options.text_field.split(",") if name.strip()]

    def claimed(self, names: Collection[str]) -> set[str]:
        """Those of `names` that are text, title or id, so no meta."""
        title, id_ = self._title_name(names), self._id_name(names)
        return {name for name in (*self._text_names(names), title, id_) if name}

    def check_names(self, names: Collection[str], file: File, line: int) -> None:
        """Raise InputError when a table with these columns has no text, or not the id or title asked for."""
        for wanted in (*self._text_names(names), self._title_name(names), self._id_name(names)):
            if wanted and wanted not in names:
                raise file.problem(f"no column {_quoted(wanted)}. Found: {_listed(names)}.", line=line)
        if not self._text_names(names):
            raise file.problem(_no_text(names), line=line, hint=_NAME_THE_TEXT)

    def document(self, record: Record, file: File, line: int) -> Document:
        """Make a document of a record. Takes the fields that it uses out of `record`.

        Raises:
            InputError: A field is missing or holds what it must not.
        """
        id_ = ""
        names = list(record)
        try:
            id_ = self._id(record, names)
            text = self._text(record, names)
            title_name = self._title_name(names)
            title = _text_of(_take(record, title_name), title_name) if title_name else ""
            if not text and not title.strip():
                fields = _quoted(", ".join(self._text_names(names)))
                raise _Unusable(f"the text {fields} is missing or empty. Found: {_listed(names)}.")
            meta = flatten(record)
        except _Unusable as error:
            raise file.problem(str(error), line=line, hint=error.hint, document_id=id_ or None) from None
        check_size(title, text, file, self._options, line=line, document_id=id_ or None)
        document = Document(id_, text, title, meta, file.at(line))
        return document if id_ else replace(document, id=content_id(document))

    def _id_name(self, names: Collection[str]) -> str:
        return self._options.id_field or _usual(names, ID_FIELDS)

    def _title_name(self, names: Collection[str]) -> str:
        return self._options.title_field or _usual(names, TITLE_FIELDS)

    def _text_names(self, names: Collection[str]) -> list[str]:
        if self._options.text_field and self._options.text_field in names:  # its name may have a comma
            return [self._options.text_field]
        usual = _usual(names, TEXT_FIELDS)
        return self._wanted or ([usual] if usual else [])

    def _id(self, record: Record, names: Collection[str]) -> str:
        name = self._id_name(names)
        value = _take(record, name) if name else None
        if value is None or value == "":
            if self._options.id_field:
                raise _Unusable(f"the id {_quoted(name)} is missing or empty. Found: {_listed(names)}.")
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise _Unusable(f"the id {_quoted(name)} must be text or a whole number, found {kind_of(value)}.")
        id_ = str(value).strip()
        # Broken Unicode is replaced elsewhere; here two ids could become one.
        if not id_ or not id_.isprintable():
            raise _Unusable(
                f"the id {ascii(value)[:80]} is blank, or has control characters or broken Unicode."
            )
        if len(id_.encode()) > MAX_ID_BYTES:
            raise _Unusable(f"the id has {len(id_.encode()):,} bytes; at most {MAX_ID_BYTES} are possible.")
        return id_

    def _text(self, record: Record, names: Collection[str]) -> str:
        text_names = self._text_names(names)
        if not text_names:
            raise _Unusable(_no_text(names), _NAME_THE_TEXT)
        parts = [_text_of(_take(record, name), name) for name in text_names]
        return TEXT_GAP.join(part for part in parts if part.strip())


class _Unusable(Exception):
    """What is wrong with a record; becomes an InputError where file and line are known."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def check_size(
    title: str,
    text: str,
    file: File,
    options: ReadOptions,
    *,
    line: int | None = None,
    document_id: str | None = None,
) -> None:
    """Raise InputError when title and text together are over the limit."""
    length = len(title) + len(text)
    if 4 * length <= options.max_bytes:  # cannot be over, whatever the characters
        return
    size = len(title.encode()) + len(text.encode())
    if size > options.max_bytes:
        raise file.problem(
            f"the document has {size:,} bytes of text; the limit is {options.max_bytes:,}.",
            line=line,
            document_id=document_id,
            hint="Split it into parts, or raise the limit (max_document_bytes).",
        )


def content_id(document: Document) -> str:
    """The id of a record that has none: the same title, text and meta always give the same one."""
    return hash_id(f"content:{document.content_hash}")


def flatten(record: Record) -> dict[str, MetaValue]:
    """Meta as both engines can filter it: objects inside objects become dotted names, as in Elasticsearch.

    Null, NaN and empty values are left out. Dates become ISO text. Items of a list become text,
    and the objects of a list are gathered by name: `{"authors": [{"name": "A"}, {"name": "B"}]}` gives
    `{"authors.name": ["A", "B"]}`.
    """
    meta: dict[str, MetaValue] = {}
    for name, value, in_list in _leaves(record, "", False, 0):
        stored = _scalar(value, name)
        if stored is None:
            continue
        if in_list:
            values = meta.setdefault(name, [])
            if not isinstance(values, list):
                raise _Unusable(f"the field {_quoted(name)} is there twice.")
            values.append(_word(stored))
        elif name in meta:
            raise _Unusable(f"the field {_quoted(name)} is there twice.")
        else:
            meta[name] = stored
    return meta


def flatten_loosely(record: Record) -> dict[str, MetaValue]:
    """Like `flatten`, but leaves out the fields that cannot be stored."""
    meta: dict[str, MetaValue] = {}
    for name, value in record.items():
        with suppress(_Unusable):
            meta |= flatten({name: value})
    return meta


def _leaves(value: object, name: str, in_list: bool, depth: int) -> Iterator[tuple[str, object, bool]]:
    """Every plain value with its dotted name, and whether it is in a list."""
    if depth > MAX_DEPTH:
        raise _Unusable(f"the field {_quoted(name)} is nested more than {MAX_DEPTH} deep.")
    if isinstance(value, dict):
        for key, inner in value.items():
            key = clean(str(key)).strip()
            if not all(part.strip() for part in key.split(".")):
                raise _Unusable(
                    f"a field has the name {_quoted(key)}; names and the parts of dotted names need letters."
                )
            yield from _leaves(inner, f"{name}.{key}" if name else key, in_list, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, name, True, depth + 1)
    else:
        yield name, value, in_list


def _scalar(value: object, name: str) -> str | int | float | bool | None:
    if isinstance(value, str):
        return clean(value) or None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -_MAX_INTEGER_LENGTH <= value < _MAX_INTEGER_LENGTH:
            raise _Unusable(f"the number in {_quoted(name)} does not fit into 64 bits; write it as text.")
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise _Unusable(f"the number in {_quoted(name)} is infinite or too large.")
        return None if math.isnan(value) else value
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    raise _Unusable(f"the field {_quoted(name)} holds {kind_of(value)}, which cannot be stored.")


def _word(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _usual(names: Collection[str], usual: Iterable[str]) -> str:
    """The first of `usual` that is among `names`, in whatever case; empty when none is."""
    for name in usual:
        if name in names:
            return name
    by_lower = {name.strip().lower(): name for name in names}
    return next((by_lower[name] for name in usual if name in by_lower), "")


def _take(record: Record, name: str) -> Any:
    """Take a field out, also by a dotted name ("article.body"). None when it is missing, null or NaN."""
    while name not in record and "." in name:
        head, _, rest = name.partition(".")
        inner = record.get(head)
        if not isinstance(inner, dict):
            return None
        record, name = inner, rest
    value = record.pop(name, None)
    return None if isinstance(value, float) and math.isnan(value) else value


def _text_of(value: object, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Unusable(f"{_quoted(name)} must be text, found {kind_of(value)}.")
    return clean(value)


def _no_text(names: Collection[str]) -> str:
    return f"no text. Expected one of {', '.join(TEXT_FIELDS)}; found: {_listed(names)}."


def kind_of(value: object) -> str:
    """What a JSON value is, in words, for messages."""
    return _KINDS.get(type(value), type(value).__name__)


def _quoted(name: str) -> str:
    shown = clean(name)
    return f'"{shown[:80]}{"…" if len(shown) > 80 else ""}"'


def _listed(names: Collection[str]) -> str:
    """The names of a record, shortened, for messages."""
    shown = [clean(name)[:40] for name in islice(names, 10)]
    return ", ".join(shown) + (", …" if len(names) > 10 else "") or "nothing"
