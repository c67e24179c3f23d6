"""Columns, wrapping, marks, numbers."""

from __future__ import annotations

import pytest

from indexer.cli import output
from indexer.export import formatting


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")


@pytest.fixture
def coloured(monkeypatch):
    monkeypatch.setattr(output, "colours", lambda: True)


def test_wrap_breaks_at_spaces_and_keeps_line_breaks():
    assert output.wrap("one two three\nfour", 8) == ["one two", "three", "four"]


def test_wrap_leaves_a_word_that_is_too_long_whole():
    assert output.wrap("a pneumonoultramicroscopic b", 6) == ["a", "pneumonoultramicroscopic", "b"]


def test_wrap_does_not_count_styles():
    assert output.wrap(output.bold("one") + " " + output.bold("two"), 7) == [
        f"{output.bold('one')} {output.bold('two')}"
    ]


def test_cells_of_wide_and_combining_characters():
    assert output.cells("日本") == 4
    assert output.cells("e\u0301") == 1
    assert output.cells(output.bold("ab")) == 2


def test_table_aligns_and_wraps_the_last_column(narrow):
    rows = [("a", "1", "x " * 30), ("bbb", "1,000", "y")]
    assert output.table(rows, head=("name", "n", "text"), right=(1,)).splitlines() == [
        f"{output.dim('name')}      {output.dim('n')}  {output.dim('text')}",
        "a         1  " + " ".join("x" * 24),
        "             " + " ".join("x" * 6),
        "bbb   1,000  y",
    ]


def test_table_of_nothing_is_nothing():
    assert output.table([], head=("a", "b")) == ""


def test_marks_are_brackets_without_colours():
    assert output.marked("the thin membrane", [(4, 8), (9, 17)]) == "the [[thin]] [[membrane]]"


def test_marks_are_styles_with_colours(coloured):
    assert output.marked("a membrane", [(2, 10)]) == "a \x1b[32m\x1b[1mmembrane\x1b[0m"


def test_a_mark_colours_words_and_not_the_margin(coloured):
    assert output.mark("two words").count("\x1b[0m") == 2


@pytest.mark.parametrize(
    ("spans", "shown"),
    [
        ([(0, 3), (0, 7)], "[[one two]] three"),  # the longer of two that begin together
        ([(0, 7), (4, 13)], "[[one two]] three"),  # the earlier of two that overlap
        ([(4, 4), (8, 99)], "one two three"),  # empty, and beyond the end
    ],
)
def test_overlapping_and_impossible_marks(spans, shown):
    assert output.marked("one two three", spans) == shown


def test_control_characters_do_not_reach_the_terminal():
    assert formatting.clean("a\x1b[2Jb\u202ec\n") == "a [2Jb c "
    assert output.marked("x\x1b]0;title\x07y\nz", []) == "x ]0;title y\nz"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (41.4, "41 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_duration(seconds, shown):
    assert formatting.duration(seconds) == shown


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 bytes"), (999, "999 bytes"), (12_345_678, "12.3 MB"), (5e12, "5.0 TB")]
)
def test_size(number, shown):
    assert formatting.size(number) == shown


def test_count_knows_one_and_many():
    assert [formatting.count(n, "topic") for n in (0, 1, 1200)] == ["0 topics", "1 topic", "1,200 topics"]


def test_paths_below_the_current_folder_are_shown_as_typed(tmp_path):
    assert output.near(f"{tmp_path}/a.jsonl:3: bad") == "a.jsonl:3: bad"
    assert output.near("/elsewhere/a.jsonl") == "/elsewhere/a.jsonl"


def test_parts_of_the_last_column_that_fit_into_a_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    rows = [
        ("a" * 38, "one; two; three and four"),
        ("b", "a long first part of it; two"),
    ]  # 40, and 20 are left
    assert output.table(rows, parts="; ").splitlines() == [
        f"{'a' * 38}  one; two", "b",
    ]  # fmt: skip
