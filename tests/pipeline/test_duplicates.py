"""Near duplicates: which documents are found, and which of them is the original."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hash_encoder import HashEncoder

from indexer.catalog import Catalog
from indexer.collection import Collection
from indexer.engines.base import NO_DUPLICATES
from indexer.pipeline.duplicates import first_date, originals_of, without_duplicates
from indexer.records import Document
from indexer.text import Preparer

PUMP = (
    "A heat pump moves heat from the cold ground into a warm house, and needs electric power for its compressor. "
    "Its efficiency falls in winter, when the ground is colder and the radiators of the house have to be hotter."
)
EDITED = PUMP.replace("electric power", "current").replace("colder", "frozen")
OTHER = (
    "Whoever replaces an old boiler asks about noise, price and grants; neighbours have complained about fans, "
    "and electricians are booked out for months in most towns of the country."
)


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Collection.open(
        home=tmp_path / "home", encoder=HashEncoder(), tagger=Preparer(), duplicates=True
    ) as found:
        yield found


def index(collection: Collection, *records: dict[str, str], delete_missing: bool = False) -> int:
    """Index these records as one file; returns how many near duplicates there are among those compared."""
    file = collection.settings.home / "docs.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return collection.index([file], topics=2, delete_missing=delete_missing).duplicates


def record(id_: str, text: str = PUMP, **meta: str) -> dict[str, str]:
    return {"id": id_, "text": text, **meta}


# -- by hand -------------------------------------------------------------------------------------------------


def test_each_document_gets_the_original_that_it_is_most_similar_to() -> None:
    links = {
        "a": {"b": 0.9, "c": 0.8},
        "b": {"a": 0.9, "c": 0.95, "d": 0.8},
        "c": {"a": 0.8, "b": 0.95},
        "d": {"b": 0.8},
    }
    # d is similar to b, which is a near duplicate: it is an original itself.
    assert originals_of("abcd", links) == {"a": None, "b": "a", "c": "a", "d": None}
    assert originals_of("cba", links, {"d"}) == {"c": None, "b": "c", "a": "c"}
    assert originals_of("x", {}) == {"x": None}


def test_the_date_of_a_document_is_the_earliest_of_its_fields() -> None:
    fields = {
        "updated": "2021-05-01",
        "date": "2020-05-01T10:00",
        "year": "1999",
        "tags": ["2022-01-01", "x"],
    }
    assert first_date(Document("a", "text", meta=fields)) == "2020-05-01T10:00"
    assert first_date(Document("a", "text", meta={"year": 1999})) == ""


# -- in a collection -----------------------------------------------------------------------------------------


def test_an_edited_copy_is_found_and_another_text_is_not(collection: Collection) -> None:
    assert index(collection, record("b", EDITED), record("a"), record("c", OTHER)) == 1
    assert collection.engine.duplicates() == {"b": "a"}


def test_the_earliest_of_the_copies_is_the_original(collection: Collection) -> None:
    copies = [record("a", date="2021-01-01"), record("b", date="2020-01-01"), record("c")]
    assert index(collection, *copies, record("d", OTHER)) == 2
    assert collection.engine.duplicates() == {"a": "b", "c": "b"}


def test_later_documents_are_compared_with_those_that_are_there(collection: Collection) -> None:
    index(collection, record("b"), record("c", EDITED), record("d", OTHER))
    assert index(collection, record("a", EDITED), record("e", OTHER)) == 2
    assert collection.engine.duplicates() == {"c": "b", "a": "b", "e": "d"}  # b stays the original
    assert index(collection, record("f", date="2020-01-01")) == 1
    assert collection.engine.duplicates()["f"] == "b"


def test_a_document_without_copies_may_turn_out_to_be_one(collection: Collection) -> None:
    index(collection, record("a", date="2021-01-01"), record("d", OTHER))
    index(collection, record("b", date="2020-01-01"))
    assert collection.engine.duplicates() == {"a": "b"}


def test_when_the_original_goes_the_next_one_takes_its_place(collection: Collection) -> None:
    index(collection, record("a"), record("b", EDITED), record("c"), record("d", OTHER))
    collection.delete(["a"])
    assert collection.engine.duplicates() == {"c": "b"}
    index(collection, record("c"), record("d", OTHER), delete_missing=True)  # b is gone
    assert collection.engine.duplicates() == {}


def test_a_changed_text_is_compared_again(collection: Collection) -> None:
    index(collection, record("a"), record("b"), record("c"), record("d", OTHER))
    index(collection, record("b", OTHER))
    assert collection.engine.duplicates() == {"b": "d", "c": "a"}
    index(collection, record("a", EDITED))  # still the original, although its text is another one
    assert collection.engine.duplicates() == {"b": "d", "c": "a"}
    index(collection, record("a", "The committee met on Monday and voted on the budget for schools."))
    assert collection.engine.duplicates() == {"b": "d"}


def test_of_many_copies_all_have_the_same_original(collection: Collection) -> None:
    copies = [record(f"c{number:02}") for number in range(40)]
    assert index(collection, *copies, record("d", OTHER)) == 39
    assert set(collection.engine.duplicates().values()) == {"c00"}
    assert index(collection, record("c99")) == 1


def test_a_run_that_stopped_before_the_sketches_is_made_up_for(collection: Collection) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalog, "set_sketches", lambda *given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            index(collection, record("a"), record("b"), record("d", OTHER))
    assert index(collection, record("a"), record("b"), record("d", OTHER)) == 1
    assert collection.engine.duplicates() == {"b": "a"}


def test_topics_are_fitted_to_one_of_each(collection: Collection) -> None:
    index(collection, record("a"), record("b"), record("c", EDITED), record("d", OTHER))
    assert without_duplicates(collection.engine, ["a", "b", "c", "d"]) == ["a", "d"]
    assert collection.search("", filters=[NO_DUPLICATES]).total == 2
    assert all(stored.bundle for stored in collection.documents())


def test_what_was_indexed_without_it_is_compared_once_it_is_on(tmp_path: Path) -> None:
    texts = [record("a"), record("b"), record("d", OTHER)]
    for on, expected in ((False, {}), (True, {"b": "a"}), (False, {"b": "a"})):
        with Collection.open(
            home=tmp_path / "home", encoder=HashEncoder(), tagger=Preparer(), duplicates=on
        ) as collection:
            index(collection, *texts)
            assert collection.engine.duplicates() == expected


def test_a_copied_generation_has_the_same_near_duplicates(collection: Collection) -> None:
    index(collection, record("a"), record("b"), record("d", OTHER))
    collection.reindex()
    assert collection.engine.duplicates() == {"b": "a"}
    assert index(collection, record("c")) == 1
    assert collection.engine.duplicates() == {"b": "a", "c": "a"}
