"""Texts cut at their marks, and pictures as numbers; by hand."""

from __future__ import annotations

import numpy as np
import pytest

from indexer.records import Keyphrase, MentionRow, Place
from indexer.search.timeline import Period, Timeline
from indexer.web.pages.charts import bars, rounded_up, shares, shortened, spark
from indexer.web.pages.highlighting import Span, TextSpan, highlighted, in_context, phrases_of, text_spans
from indexer.web.pages.rendering import Address


def test_a_text_is_cut_at_its_marks():
    assert text_spans("the sea ice melts", [Span(4, 11, "keyphrase", "sea ice")]) == [
        TextSpan("the "),
        TextSpan("sea ice", "keyphrase", "sea ice"),
        TextSpan(" melts"),
    ]
    assert highlighted("ab", [(0, 1), (1, 2)]) == [TextSpan("a", "found"), TextSpan("b", "found")]
    assert text_spans("", []) == []


def test_of_marks_that_overlap_the_first_given_counts():
    given = [Span(2, 4, "keyphrase"), Span(0, 3, "mention"), Span(4, 6, "mention"), Span(5, 9, "mention")]
    assert [(p.text, p.kind) for p in text_spans("abcdefg", given)] == [
        ("ab", ""), ("cd", "keyphrase"), ("ef", "mention"), ("g", ""),
    ]  # fmt: skip


def test_marks_outside_of_the_text_are_left_out():
    """A text that is shown in part has marks behind its end."""
    assert text_spans("abc", [Span(1, 9, "found"), Span(2, 2, "found"), Span(-1, 1, "found")]) == [
        TextSpan("abc")
    ]


def test_keyphrases_come_before_other_phrases_and_longer_ones_before_shorter():
    keyphrases = [
        Keyphrase("1", "ice", 1, (Place("text", 4, 7),)),
        Keyphrase("2", "sea ice", 1, (Place("text", 0, 7), Place("title", 3, 9))),
    ]
    row = MentionRow(
        "d", "3", "sea ice shelf", "sea ice shelf", 1, (Place("text", 0, 13),), "", np.zeros(1, np.float32)
    )
    found = phrases_of("text", keyphrases, [row])
    assert [(span.start, span.end, span.kind) for span in found] == [
        (0, 7, "keyphrase"), (4, 7, "keyphrase"), (0, 13, "mention"),
    ]  # fmt: skip


def years(*numbers, first=2000):
    periods = (Period(str(first + i), str(first + i), str(first + i + 1), n) for i, n in enumerate(numbers))
    return Timeline("date", "year", tuple(periods))


@pytest.mark.parametrize(
    ("text", "phrase", "context"),
    [
        ("Ice melts. The sea ice, e.g. of lakes, is thin. It floats.", "sea ice",
         "The [[sea ice]], e.g. of lakes, is thin."),
        ("The sea\nice is thin", "sea\nice", "The [[sea ice]] is thin"),
        ("A heading\n\nSea ice [[is]] thin.", "Sea ice", "[[Sea ice]] [is] thin."),
        ("word " * 200 + "sea ice" + " word" * 200, "sea ice", "word " * 59 + "[[sea ice]]" + " word" * 59),
    ],
)  # fmt: skip
def test_a_phrase_has_the_sentence_around_it(text, phrase, context):
    start = text.index(phrase)
    cut = text_spans(text, [Span(start, start + len(phrase), "mention", phrase)])
    found = in_context(text, cut)
    assert [piece.context for piece in found if piece.kind] == [context]
    assert [piece.text for piece in found] == [piece.text for piece in cut]


def test_bars_by_hand():
    one, two = bars(years(2, 4), width=100, height=50)
    assert (one.x, one.width, one.height, one.documents) == (0, 48, 25, 2)
    assert (two.x, two.height, two.first, two.last) == (50, 50, "2001", "2001")


def test_bars_of_a_share():
    """10 of 40, 0 of 20, 2 of 2: one year with two documents neither sets the height nor is it drawn like the others."""
    own = Timeline("date", "year", (years(10).periods[0], years(2, first=2002).periods[0]))
    found, top = shares(own, years(40, 20, 2), width=90, height=60)
    assert top == 0.5
    assert [(bar.name, bar.share, bar.height, bar.documents, bar.few) for bar in found] == [
        ("2000", 0.25, 30, 10, False), ("2001", 0, 0, 0, False), ("2002", 1, 60, 2, True),
    ]  # fmt: skip


def test_shares_of_few_documents_are_drawn_when_there_is_nothing_else():
    found, top = shares(years(1, 1), years(2, 4), width=90, height=60)
    assert (top, [(bar.height, bar.few) for bar in found]) == (0.5, [(60, True), (30, True)])


def test_an_axis_ends_where_it_is_easily_read():
    assert [rounded_up(share) for share in (0, 0.003, 0.05, 0.051, 0.12, 0.6, 1)] == pytest.approx(
        [1, 0.005, 0.05, 0.1, 0.2, 1, 1]
    )


def test_a_small_picture_of_shares():
    """20 of 40, 10 of 40; a third year with a single document is left out."""
    assert spark([20, 10, 1], [40, 40, 1]) == "M0.0 18v-18.0h20.3V18zM21.3 18v-9.0h20.3V18z"
    assert spark([0, 0], [40, 40]) == ""


def test_a_bar_of_a_decade_ends_with_its_last_year():
    decade = Timeline("date", "decade", (Period("2010s", "2010", "2020", 3),))
    (bar,) = bars(decade, width=10, height=10)
    assert (bar.first, bar.last) == ("2010", "2019")


def test_names_are_cut_at_a_word():
    assert shortened("short") == "short"
    assert shortened("a name that is much too long for a map", 20) == "a name that is much…"
    assert shortened("x" * 40, 10) == "x" * 9 + "…"


def test_an_address_keeps_what_it_is_not_told():
    here = Address("/", [("q", "sea ice"), ("topic", "a"), ("topic", "b"), ("page", "2"), ("empty", "")])
    assert str(here.put(page=None)) == "/?q=sea+ice&topic=a&topic=b"
    assert str(here.put(page=3, q="x&y").drop("topic", "a")) == "/?topic=b&page=3&q=x%26y"
    assert str(here.to("/export")) == "/export?q=sea+ice&topic=a&topic=b&page=2"
    assert str(Address("/")) == "/"
