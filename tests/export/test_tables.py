"""Files for other programs, row by row."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from indexer.errors import InputError, PackageMissing, QueryError
from indexer.export import tables

ROWS = [
    {"id": "a", "label": "x, \"y\"\nz", "documents": 2, "label_locked": True, "parent": "p", "term": "k",
     "phrases": ["sea ice", "tides"],
     "since": "2019", "share_lately": 0.4, "share_before": 0.1, "growth": 3.0, "clear": True},
    {"id": "b", "label": "-5", "documents": 1, "label_locked": False, "parent": None, "term": None, "phrases": [],
     "since": None, "share_lately": None, "share_before": None, "growth": None, "clear": None},
]  # fmt: skip


def test_csv_is_read_back():
    text = b"".join(tables.as_csv(ROWS, tables.TOPIC_COLUMNS)).decode("utf-8-sig")
    assert list(csv.reader(io.StringIO(text))) == [
        list(tables.TOPIC_COLUMNS),
        ["a", 'x, "y"\nz', "2", "True", "p", "k", "sea ice; tides", "2019", "0.4", "0.1", "3.0", "True"],
        ["b", "-5", "1", "False", "", "", "", "", "", "", "", ""],
    ]


@pytest.mark.parametrize(
    ("value", "cell"),
    [("=1+1", "'=1+1"), ("@A1", "'@A1"), ("+x", "'+x"), ("-x", "'-x"), ("\tx", "'\tx"), ("-1.5", "-1.5"), ("- a", "'- a"),
     ("a=b", "a=b"), (-3, "-3"), (None, ""), (["=a", "b"], "'=a; b"), ("a\0b", "ab")],
)  # fmt: skip
def test_what_a_spreadsheet_would_run_begins_with_a_quote(value, cell):
    text = b"".join(tables.as_csv([{"x": value}], ["x", "y"])).decode("utf-8-sig")
    assert list(csv.reader(io.StringIO(text)))[1] == [cell, ""]


def test_csv_begins_with_the_mark_of_utf_8_and_nothing_else_does():
    assert next(iter(tables.as_csv(ROWS, ["id"]))) == b"\xef\xbb\xbf"
    assert next(iter(tables.as_jsonl(ROWS, ["id"]))).startswith(b"{")


def test_columns_for_people_come_first():
    assert tables.hit_columns(["subject", "published"], "published") == (
        "title", "meta.published", "topics", "keyphrases", "beginning", "id",
        "rank", "score", "found_by", "topic_ids", "absent_keyphrases", "source",
        "duplicate_of", "meta.subject",
    )  # fmt: skip


def test_the_beginning_of_a_text_is_a_line_cut_at_a_word():
    assert tables.beginning("Sea ice\n\nmelts.", 20) == "Sea ice melts."
    assert tables.beginning("Sea ice melts in summer.", 16) == "Sea ice melts …"
    assert tables.beginning("ice" * 100, 10) == "iceiceicei …"


def test_json_lines_have_what_there_is():
    lines = b"".join(tables.as_jsonl([{"a": 1, "b": "ä"}, {"a": 2}], ["a", "b"])).decode().splitlines()
    assert [json.loads(line) for line in lines] == [{"a": 1, "b": "ä"}, {"a": 2}]


def test_rows_are_not_held():
    """A part goes out before the last row has come."""
    seen = []

    def rows():
        for i in range(10_000):
            seen.append(i)
            yield {"x": "y" * 100}

    parts = iter(tables.as_csv(rows(), ["x"]))
    assert [next(parts), next(parts)][0] == b"\xef\xbb\xbf"
    assert 0 < len(seen) < 1_000


def test_parquet_keeps_types_and_makes_text_of_mixed_fields():
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {"id": "a", "score": 0.5, "topics": ["x"], "meta.year": 2014},
        {"id": "b", "meta.year": ["p", "q"]},
    ]
    columns = ("id", "score", "topics", "meta.year")
    table = parquet.read_table(io.BytesIO(b"".join(tables.as_parquet(rows, columns))))
    assert table.to_pylist() == [
        {"id": "a", "score": 0.5, "topics": ["x"], "meta.year": "2014"},
        {"id": "b", "score": None, "topics": None, "meta.year": "p; q"},
    ]
    topics = parquet.read_table(io.BytesIO(b"".join(tables.as_parquet(ROWS, tables.TOPIC_COLUMNS))))
    assert topics.to_pylist() == ROWS


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        ([2020, None, -3], "int64", [2020, None, -3]),
        ([2020, 0.5], "double", [2020.0, 0.5]),
        ([True, None, False], "bool", [True, None, False]),
        ([["a", "b"], [], None], "list<element: string>", [["a", "b"], [], None]),
        (["2020", None], "string", ["2020", None]),
        ([None, None], "string", [None, None]),
        ([2020, "x", True, 0.5, ["a", "b"]], "string", ["2020", "x", "true", "0.5", "a; b"]),
        ([1, True], "string", ["1", "true"]),
        ([2**62, 1], "int64", [2**62, 1]),
        ([2**62 + 1, 0.5], "string", ["4611686018427387905", "0.5"]),  # no float is that number
        ([2**70, 1], "string", ["1180591620717411303424", "1"]),
    ],
)
def test_parquet_keeps_the_type_that_all_values_of_a_field_have(values, kind, read):
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = ({"id": str(i), "meta.x": value} for i, value in enumerate(values))
    table = parquet.read_table(io.BytesIO(b"".join(tables.as_parquet(rows, ["id", "meta.x"]))))
    assert str(table.schema.field("meta.x").type) == kind
    assert table.column("meta.x").to_pylist() == read


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(PackageMissing, match="pyarrow") as caught:
        tables.as_parquet([], ["a"])
    assert caught.value.hint == 'In the folder of the program: make install, or pip install ".[parquet]"'
    with pytest.raises(PackageMissing, match="pyarrow"):
        tables.writer_for(Path("a.parquet"))


def test_a_file_appears_when_it_is_complete(tmp_path):
    def parts():
        yield b"half"
        raise KeyError

    with pytest.raises(KeyError):
        tables.save(tmp_path / "a.csv", parts())
    assert list(tmp_path.iterdir()) == []
    tables.save(tmp_path / "a.csv", [b"all", b" of it"])
    assert (tmp_path / "a.csv").read_text() == "all of it"
    with pytest.raises(InputError, match="cannot be written"):
        tables.save(tmp_path / "no" / "a.csv", [])


def test_kinds_are_told_by_the_name():
    assert tables.writer_for(Path("A.CSV")) is tables.as_csv
    with pytest.raises(QueryError, match=r"must end in \.csv, \.jsonl, \.parquet"):
        tables.writer_for(Path("a.xlsx"))
