"""From a record (a JSON object, a row of a table) to a document: which field is what, what meta may hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from typing import Any

from indexer.errors import InputError
from indexer.readers.options import ReadOptions
from indexer.readers.source import File, clean, hash_id
from indexer.records import Document, MetaValue

TEXT_FIELDS = ("text", "body", "content", "abstract")  # the first of these that a record has
TITLE_FIELDS = ("title",)
ID_FIELDS = ("id",)

MAX_DEPTH = 10  # objects inside objects in meta
MAX_ID_BYTES = 512  # what Elasticsearch allows
_LONGEST_INTEGER = 2**63

Record = dict[str, Any]


class Fields:
    """Which fields of a file's records are text, title and id."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.text_names = [name.strip() for name in options.text_field.split(",") if name.strip()]

    def document(self, record: Record, file: File, line: int) -> Document:
        """Make a document of a record. Takes the fields that it uses out of `record`.

        Raises:
            InputError: A field is missing or holds what it must not.
        """
        id_ = ""
        try:
            id_ = self._id(record)
            text = self._text(record)
            title = self._title(record)
            meta = flatten(record)
        except _Unusable as error:
            raise file.problem(str(error), line=line, hint=error.hint, document_id=id_ or None) from None
        check_size(title, text, file, self.options, line=line, document_id=id_ or None)
        document = Document(id_, text, title, meta, file.at(line))
        return document if id_ else with_content_id(document)

    def _id(self, record: Record) -> str:
        name = self.options.id_field or _usual(record, ID_FIELDS)
        value = _take(record, name) if name else None
        if value is None:
            if self.options.id_field:
                raise _Unusable(f"the id field {_quoted(name)} is missing. Found: {_names(record)}.")
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise _Unusable(f"the id must be text or a whole number, found {_kind(value)}.")
        id_ = str(value).strip()
        if not id_:
            raise _Unusable("the id is empty.")
        if not id_.isprintable():  # also catches NUL and lone surrogates: replaced, two ids could become one
            raise _Unusable(f"the id {ascii(id_)[:80]} has control characters or broken Unicode.")
        if len(id_.encode()) > MAX_ID_BYTES:
            raise _Unusable(f"the id has {len(id_.encode()):,} bytes; at most {MAX_ID_BYTES} are possible.")
        return id_

    def _text(self, record: Record) -> str:
        wanted = self.options.text_field
        if wanted and wanted not in record and len(self.text_names) > 1:
            found = [_take(record, name) for name in self.text_names]
            parts = [_text_of(value, name) for name, value in zip(self.text_names, found, strict=True)]
            if all(value is None for value in found):
                raise _Unusable(f"none of the text fields {wanted} is there. Found: {_names(record)}.")
            text = "\n\n".join(part for part in parts if part.strip())
            name = wanted
        else:
            name = wanted or _usual(record, TEXT_FIELDS) or ""
            if not name:
                raise _Unusable(
                    f"no text field. Expected one of {', '.join(TEXT_FIELDS)}; found: {_names(record)}.",
                    hint="Name the field that holds the text: --text-field NAME.",
                )
            value = _take(record, name)
            if value is None and not (wanted in record or _usual(record, (name,))) and wanted:
                raise _Unusable(f"the text field {_quoted(name)} is missing. Found: {_names(record)}.")
            text = _text_of(value, name)
        if not text.strip():
            raise _Unusable(f"{_quoted(name)} is empty.")
        return text

    def _title(self, record: Record) -> str:
        name = self.options.title_field or _usual(record, TITLE_FIELDS)
        return _text_of(_take(record, name), name) if name else ""


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


def with_content_id(document: Document) -> Document:
    return Document(content_id(document), document.text, document.title, document.meta, document.source)


def flatten(record: Record) -> dict[str, MetaValue]:
    """Meta as both engines can filter it: objects inside objects become dotted names, as in Elasticsearch.

    Null, NaN and empty values are left out. Dates become ISO text. Whatever stands in a list becomes text,
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


def _leaves(value: object, name: str, in_list: bool, depth: int) -> Iterator[tuple[str, object, bool]]:
    """Every plain value with its dotted name, and whether it stands in a list."""
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
        if not -_LONGEST_INTEGER <= value < _LONGEST_INTEGER:
            raise _Unusable(f"the number in {_quoted(name)} does not fit into 64 bits; write it as text.")
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise _Unusable(f"the number in {_quoted(name)} is infinite or too large.")
        return None if math.isnan(value) else value
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    raise _Unusable(f"the field {_quoted(name)} holds {_kind(value)}, which cannot be stored.")


def _word(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _usual(record: Record, usual: Iterable[str]) -> str | None:
    """The name in `record` that is the first of `usual`, in whatever case."""
    for name in usual:
        if name in record:
            return name
    by_lower = {name.strip().lower(): name for name in record}
    return next((by_lower[name] for name in usual if name in by_lower), None)


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
        raise _Unusable(f"{_quoted(name)} must be text, found {_kind(value)}.")
    return clean(value)


def _kind(value: object) -> str:
    kinds: dict[type, str] = {
        type(None): "null",
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "an object",
    }
    return kinds.get(type(value), type(value).__name__)


def kind_of_value(value: object) -> str:
    """A JSON value's kind in words, for messages."""
    return _kind(value)


def _quoted(name: str | None) -> str:
    shown = clean(name or "")
    return f'"{shown[:80]}{"…" if len(shown) > 80 else ""}"'


def _names(record: Record) -> str:
    """The names in a record, shortened, for messages."""
    names = [clean(str(name))[:40] for name in record]
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "") if names else "nothing else"


__all__ = ["Fields", "InputError", "check_size", "content_id", "flatten", "kind_of_value", "with_content_id"]
