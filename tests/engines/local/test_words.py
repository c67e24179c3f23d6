"""The word index of the embedded engine: BM25F by hand, and the postings behind it."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from unittest.mock import Mock

import pytest
from contract_asking import words
from contract_rows import DIMS, document

from indexer.engines.base import Clause, SearchRequest, WordQuery
from indexer.engines.local import LocalEngine
from indexer.engines.local import words as words_module
from indexer.engines.local.words import _numbers
from indexer.records import Document


@pytest.fixture
def engine(tmp_path):
    with closing(LocalEngine(tmp_path / "collection", DIMS)) as engine:
        yield engine


def pumps() -> list[Document]:
    return [
        Document("title", "", "A note on the heat pump"),
        Document("both", "The pump moves heat. Each pump needs a pump.", "Pumps"),
        *(Document(f"other{i}", "Nothing of the kind is in this text.", "Something else") for i in range(6)),
    ]


def test_the_best_of_many_are_the_first_of_all_with_ties_by_id(engine):
    # Longer texts score lower; of each length there are ten. NumPy sorts a few hundred scores where more are parted.
    texts = {f"d{7 * number % 1000:03}": "wind " + "calm " * (number // 10) for number in range(1000)}
    engine.store([Document(id_, texts[id_]) for id_ in sorted(texts)])
    expected = tuple(sorted(texts, key=lambda id_: (len(texts[id_]), id_)))
    for limit in (1, 10, 333, 600, 999, 1000, 1001):
        found = engine.search(SearchRequest(words=words("wind"), limit=limit)).words
        assert (found.ids, found.total) == (expected[:limit], 1000)


def test_scores_by_hand(engine):
    engine.store(pumps())
    found = engine.search(SearchRequest(words=words("pump"))).words
    # Lengths are 9 + 3 * 1 = 12, 3 * 6 = 18, and 8 + 3 * 2 = 14 for each of the others: the mean is 14.25.
    rarity = math.log(1 + (8 - 2 + 0.5) / (2 + 0.5))
    expected = [
        rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / 14.25))
        for count, length in ((3 * 1 + 3, 12), (3 * 1, 18))
    ]
    assert found.ids == ("both", "title")
    assert found.scores == pytest.approx(expected)


def test_lengths_looked_up_one_by_one_are_those_of_the_table(engine, monkeypatch):
    engine.store(pumps())
    some = engine.search(SearchRequest(words=words("pump", "heat", "note", require_all=False))).words
    monkeypatch.setattr("indexer.engines.local.words.FEW", 0)
    assert engine.search(SearchRequest(words=words("pump", "heat", "note", require_all=False))).words == some


def test_a_word_that_is_asked_for_twice_counts_twice(engine):
    engine.store(pumps())
    once, twice = (
        engine.search(SearchRequest(words=words(*["pump"] * times, require_all=False))).words
        for times in (1, 2)
    )
    assert twice.scores == pytest.approx([2 * score for score in once.scores])


def test_letters_of_which_sqlite_makes_no_word_are_ignored_beside_others(engine):
    """A vowel sign of New Tai Lue is a letter for Python, and a mark for the tokenizer."""
    engine.store(pumps())
    assert set(engine.search(SearchRequest(words=words("\u19b0", "pump"))).words.ids) == {"both", "title"}
    assert engine.search(SearchRequest(words=words("\u19b0"))).words.total == 0
    excluding = WordQuery((Clause("pump"), Clause("\u19b0", negated=True)))
    assert engine.search(SearchRequest(words=excluding)).words.total == 2


def test_what_has_changed_is_read_again(engine):
    engine.store(pumps())
    assert engine.search(SearchRequest(words=words("pump"))).words.total == 2
    engine.store([document("new", "one more pump")])
    assert set(engine.search(SearchRequest(words=words("pump"))).words.ids) == {"both", "title", "new"}
    engine.delete(["both"])
    assert set(engine.search(SearchRequest(words=words("pump"))).words.ids) == {"title", "new"}


def test_frequent_words_are_read_ahead_and_not_again(engine, monkeypatch):
    engine.store(pumps())
    monkeypatch.setattr("indexer.engines.local.words.OFTEN", 2)  # documents: "pump" has two, "note" one
    asked = [SearchRequest(words=words(word)) for word in ("pump", "note")]
    before = [engine.search(request).words for request in asked]
    engine.store([document("new", "one more pump")])
    engine.read_ahead()
    listed = Mock(side_effect=words_module._listed)
    monkeypatch.setattr(words_module, "_listed", listed)
    pump, note = (engine.search(request).words for request in asked)
    assert [pump.total, note.total] == [before[0].total + 1, before[1].total]
    assert [call.args[3] for call in listed.call_args_list] == [["note"]]


def test_numbers_of_any_length_as_sqlite_writes_them():
    # 1; 127; 128 = 1 * 128 + 0; 16,385 = 1 * 16,384 + 0 * 128 + 1
    assert _numbers(bytes([1, 127, 0x81, 0, 0x81, 0x80, 1])).tolist() == [1, 127, 128, 16_385]


def test_the_sizes_of_fts5_are_read_as_it_means_them(tmp_path):
    """The format of its tables is documented, and this says so when a version of SQLite changes it."""
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(title, text)")
        connection.execute("INSERT INTO words VALUES ('a b', ?)", (" ".join(["c"] * 300),))
        connection.execute("INSERT INTO words VALUES ('', 'c')")
        connection.commit()
        sizes = [
            _numbers(sz).tolist() for (sz,) in connection.execute("SELECT sz FROM words_docsize ORDER BY id")
        ]
        (averages,) = connection.execute("SELECT block FROM words_data WHERE id = 1").fetchone()
    assert sizes == [[2, 300], [0, 1]]
    assert _numbers(averages).tolist() == [2, 2, 301]
