"""Search results and topics as files that other programs read: CSV, JSON Lines, Parquet. Rows go out as they come."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from indexer.errors import InputError, QueryError, is_installed, require
from indexer.export.serialize import growing
from indexer.records import Topic
from indexer.search.results import Hit
from indexer.search.trends import Trends

Row = Mapping[str, Any]

# What a person reads comes first.
FIRST_COLUMNS = ("title", "topics", "keyphrases", "beginning", "id")
LATER_COLUMNS = ("rank", "score", "found_by", "topic_ids", "absent_keyphrases", "source", "duplicate_of")
BEGINNING = 300  # characters of a text
GROWTH = ("since", "share_lately", "share_before", "growth", "clear")
TOPIC_COLUMNS = ("id", "label", "documents", "label_locked", "parent", "term", "phrases", *GROWTH)
OWN = "meta."  # before the names of the users' own fields
# What a spreadsheet would take for a formula, which can do more than count.
FORMULA = re.compile(r"[=+@\t\r]|-(?!\d+([.,]\d+)*$)")


def hit_rows(hits: Iterable[Hit], labels: Mapping[str, str], *, scored: bool) -> Iterator[Row]:
    """A row for each document that was found.

    Args:
        scored: Whether scores say something: those of joined rankings are made of ranks alone.
    """
    for hit in hits:
        document = hit.stored.document
        yield {
            "title": document.name,
            "topics": [labels.get(t.topic_id, t.topic_id) for t in hit.stored.topics],
            "keyphrases": [k.text for k in hit.stored.keyphrases if k.present],
            "beginning": beginning(document.text, BEGINNING),
            "id": document.id,
            "rank": hit.rank,
            "score": round(hit.score, 6) if scored and hit.found_by else None,
            "found_by": "both" if len(hit.found_by) > 1 else next(iter(hit.found_by), ""),
            "topic_ids": [t.topic_id for t in hit.stored.topics],
            "absent_keyphrases": [k.text for k in hit.stored.keyphrases if not k.present],
            "source": document.source,
            "duplicate_of": hit.stored.duplicate_of,
            **{OWN + name: value for name, value in document.meta.items()},
        }


def hit_columns(fields: Iterable[str], date: str = "") -> tuple[str, ...]:
    """Columns of found documents.

    Args:
        fields: Names of the users' own.
        date: The one with the date, which stands beside the title.
    """
    title, *first = FIRST_COLUMNS
    dates = [OWN + date] if date else []
    return (title, *dates, *first, *LATER_COLUMNS, *(OWN + name for name in fields if name != date))


def beginning(text: str, most: int) -> str:
    """How a text begins, in one line, cut at a word."""
    line = " ".join(text[: 4 * most].split())
    if len(line) <= most and len(text) <= 4 * most:
        return line
    return f"{line[:most].rpartition(' ')[0] or line[:most]} …"


def topic_rows(topics: Iterable[Topic], trends: Trends | None) -> Iterator[Row]:
    """A row for each topic, with how it grows."""
    return (growing(topic, trends) for topic in topics)


# -- writing -------------------------------------------------------------------------------------------------


def as_csv(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[bytes]:
    """CSV with a header; several values are joined by semicolons. What looks like a formula begins with a quote.

    It begins with the mark by which Excel knows UTF-8.
    """
    yield codecs.BOM_UTF8
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in columns])
        if stream.tell() > 1 << 16:
            yield _taken(stream)
    yield _taken(stream)


def _taken(stream: io.StringIO) -> bytes:
    text = stream.getvalue()
    stream.seek(0)
    stream.truncate()
    return text.encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = "; ".join(map(str, value))
    if isinstance(value, str):
        value = value.replace("\0", "")
        return f"'{value}" if FORMULA.match(value) else value
    return value


def as_jsonl(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[bytes]:
    """One JSON object on a line."""
    for row in rows:
        yield (json.dumps({n: row[n] for n in columns if n in row}, ensure_ascii=False) + "\n").encode(
            "utf-8", "backslashreplace"
        )


def as_parquet(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[bytes]:
    """Parquet, complete before its first part goes out. The users' own fields are text where values differ in type.

    Raises:
        PackageMissing: pyarrow is not installed.
    """
    require("pyarrow", extra="parquet", purpose="Parquet")
    from indexer.export import parquet

    return parquet.write(rows, columns, [name for name in columns if name.startswith(OWN)])


Writer = Callable[[Iterable[Row], Sequence[str]], Iterator[bytes]]
WRITERS: dict[str, Writer] = {"csv": as_csv, "jsonl": as_jsonl, "parquet": as_parquet}
KINDS = {
    "csv": "CSV",
    "jsonl": "JSON Lines",
    **({"parquet": "Parquet"} if is_installed("pyarrow") else {}),
}  # that can be


def writer_for(path: Path) -> Writer:
    """What writes a file of the kind that its name ends in.

    Raises:
        QueryError: The kind is unknown.
        PackageMissing: Its library is not installed.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in WRITERS:
        raise QueryError(f"{path} must end in {', '.join(f'.{known}' for known in WRITERS)}.")
    if kind == "parquet":
        require("pyarrow", extra="parquet", purpose="Parquet")
    return WRITERS[kind]


def save(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file; it appears when it is complete.

    Raises:
        InputError: It cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as stream:
            stream.writelines(parts)
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)
