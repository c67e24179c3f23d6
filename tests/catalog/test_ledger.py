from __future__ import annotations

import pytest

from indexer.catalog import Catalog, LedgerEntry
from indexer.errors import CatalogError


def entries(*ids: str, **values: str) -> list[LedgerEntry]:
    return [LedgerEntry(id_, f"hash of {id_}", **values) for id_ in ids]  # type: ignore[arg-type]


def test_ledger_gives_back_what_was_recorded_and_leaves_unknown_ids_out(catalog: Catalog) -> None:
    entry = LedgerEntry("a", "h", state="mined", bundle="b@1", run="R1", source="x.jsonl:7", topic_fit="R0")
    catalog.record("main", [entry])
    assert catalog.ledger("main", ["a", "unknown"]) == {"a": entry}
    assert catalog.ledger("main", []) == {}


def test_sketches_are_of_the_text_that_was_recorded(catalog: Catalog) -> None:
    catalog.record("main", entries("a", "b", "c", state="mined", run="R1"))
    catalog.record("main", entries("d"))  # stored only: nothing to compare yet
    assert catalog.without_sketch("main") == {"a": "R1", "b": "R1", "c": "R1"}
    catalog.set_sketches("main", {"b": b"1234", "a": b"", "unknown": b"1"})
    catalog.set_sketches("other", {"c": b"1"})
    assert list(catalog.sketches("main")) == [("a", b""), ("b", b"1234")]
    assert list(catalog.without_sketch("main")) == ["c"]
    assert catalog.ledger("main", ["b"])["b"].sketch == b"1234"
    catalog.mark("main", ["b"], state="done")
    assert catalog.ledger("main", ["b"])["b"].sketch == b"1234"
    catalog.record("main", entries("b", state="mined"))  # another text
    catalog.set_sketches("main", {"a": None})
    assert list(catalog.without_sketch("main")) == ["a", "b", "c"]


def test_collections_do_not_see_each_other(catalog: Catalog) -> None:
    catalog.record("one", entries("a"))
    assert catalog.ledger("two", ["a"]) == {}
    assert catalog.forget("two", ["a"]) == 0
    assert catalog.count("one")["stored"] == 1


def test_record_overwrites_and_the_last_of_two_equal_ids_stays(catalog: Catalog) -> None:
    catalog.record("main", entries("a", run="R1"))
    assert catalog.record("main", [LedgerEntry("a", "x"), LedgerEntry("a", "y")]) == 1
    assert catalog.ledger("main", ["a"])["a"] == LedgerEntry("a", "y")


def test_record_takes_more_than_one_chunk(catalog: Catalog) -> None:
    ids = [f"d{i:05d}" for i in range(2500)]
    assert catalog.record("main", (entry for entry in entries(*ids))) == 2500
    assert list(catalog.ids("main")) == ids
    assert len(catalog.ledger("main", ids)) == 2500
    assert catalog.forget("main", ids) == 2500


def test_mark_changes_only_what_is_given(catalog: Catalog) -> None:
    catalog.record("main", entries("a", "b", run="R1", source="s"))
    catalog.mark("main", ["a", "unknown"], state="mined", bundle="b@1")
    catalog.mark("main", ["a"], topic_fit="R1")
    catalog.mark("main", ["a"])
    found = catalog.ledger("main", ["a", "b"])
    assert found["a"] == LedgerEntry("a", "hash of a", "mined", "b@1", "R1", "s", "R1")
    assert found["b"].state == "stored"


def test_count_has_every_state(catalog: Catalog) -> None:
    catalog.record("main", entries("a", "b", "c"))
    catalog.mark("main", ["c"], state="done")
    assert catalog.count("main") == {"stored": 2, "mined": 0, "done": 1}


def test_ids_ascend_by_code_point(catalog: Catalog) -> None:
    ids = ["b", "a", "B", "Z", "é", "z", "10", "9", "-", "_", "😀", "\ufffd"]
    catalog.record("main", entries(*ids))
    assert list(catalog.ids("main")) == sorted(ids)


def test_ids_by_state_and_source(catalog: Catalog) -> None:
    catalog.record("main", [*entries("a", "b", source="x/1.txt"), *entries("c", source="y_%/1.txt")])
    catalog.mark("main", ["b"], state="done")
    assert list(catalog.ids("main", state="done")) == ["b"]
    assert list(catalog.ids("main", source_prefix="x/")) == ["a", "b"]
    assert list(catalog.ids("main", state="stored", source_prefix="y_%")) == ["c"]
    assert list(catalog.ids("main", source_prefix="%")) == []


def test_entries_may_change_while_ids_are_read(catalog: Catalog) -> None:
    catalog.record("main", entries(*(f"d{i:05d}" for i in range(2100))))
    for id_ in catalog.ids("main", state="stored"):
        if id_.endswith("00"):
            catalog.mark("main", [id_], state="done")
    assert catalog.count("main") == {"stored": 2079, "mined": 0, "done": 21}


def test_unseen_is_what_lies_under_the_sources_and_was_not_read(catalog: Catalog) -> None:
    catalog.record(
        "main",
        [
            *entries("file", source="notes/a.txt", run="R1"),
            *entries("line", source="notes/b.jsonl:17", run="R1"),
            *entries("read", source="notes/b.jsonl:18", run="R1"),
            *entries("touched", source="notes/b.jsonl:19", run="R1"),
            *entries("elsewhere", source="notes-old/a.txt", run="R1"),
            *entries("nowhere", run="R1"),
        ],
    )
    catalog.record("main", entries("read", source="notes/b.jsonl:18", run="R2"))
    catalog.touch("main", ["touched"], "R2")
    assert list(catalog.unseen("main", ["notes"], "R2")) == ["file", "line"]
    assert list(catalog.unseen("main", ["notes/"], "R2")) == ["file", "line"]
    assert list(catalog.unseen("main", ["notes/b.jsonl"], "R2")) == ["line"]
    assert list(catalog.unseen("main", ["b.jsonl", "note", ""], "R2")) == []


def test_unseen_does_not_take_a_name_with_a_colon_for_a_line(catalog: Catalog) -> None:
    catalog.record("main", entries("a", source="data:old/x.txt", run="R1"))
    assert list(catalog.unseen("main", ["data"], "R2")) == []


def test_unseen_knows_the_root_and_windows_paths(catalog: Catalog) -> None:
    catalog.record(
        "main", [*entries("a", source="/etc/x", run="R1"), *entries("b", source="C:\\d\\x", run="R1")]
    )
    assert list(catalog.unseen("main", ["/"], "R2")) == ["a"]
    assert list(catalog.unseen("main", ["C:\\d"], "R2")) == ["b"]


def test_marking_is_not_seeing(catalog: Catalog) -> None:
    """A retrain works on all documents; it must not hide from --delete-missing that a file has gone."""
    catalog.record("main", entries("a", source="a.txt", run="R1"))
    catalog.mark("main", ["a"], state="done", run="R2")
    assert list(catalog.unseen("main", ["a.txt"], "R2")) == ["a"]


def test_a_file_name_that_is_not_valid_unicode_can_be_recorded_and_found(catalog: Catalog) -> None:
    source = "caf\udce9/a.txt"  # what Python makes of a Latin-1 name
    catalog.record("main", entries("a", source=source, run="R1"))
    assert list(catalog.unseen("main", ["caf\udce9"], "R2")) == ["a"]
    assert list(catalog.ids("main", source_prefix=source)) == ["a"]


def test_an_id_that_is_not_valid_unicode_is_refused(catalog: Catalog) -> None:
    with pytest.raises(CatalogError, match="not valid Unicode"):
        catalog.record("main", entries("a\udce9"))


def test_documents_by_the_run_that_read_them_last(catalog: Catalog) -> None:
    catalog.record("main", entries("a", "b", "c", run="R1"))
    catalog.record("main", entries("b", run="R2"))
    catalog.touch("main", ["c"], "R3")  # seen again, not changed
    assert catalog.count_by_run("main") == {"R1": 2, "R2": 1}
    assert list(catalog.ids("main", runs=["R1"])) == ["a", "c"]
    assert list(catalog.ids("main", runs=["R2", "R9"])) == ["b"]
    assert list(catalog.ids("main", runs=[])) == []


def test_documents_by_when_they_were_read(catalog: Catalog) -> None:
    catalog.record(
        "main", [LedgerEntry(id_, "h", "done", run=run) for id_, run in (("a", "R1"), ("b", "R2"))]
    )
    catalog.record("main", [LedgerEntry("c", "h", "stored", run="R3")])
    assert list(catalog.ids("main", until="R2")) == ["a", "b"]
    assert list(catalog.ids("main", after="R1")) == ["b", "c"]
    assert list(catalog.ids("main", after="R1", state="done")) == ["b"]


def test_contents_are_ids_with_their_hashes(catalog: Catalog) -> None:
    catalog.record("main", entries("b", "a"))
    assert list(catalog.contents("main")) == [("a", "hash of a"), ("b", "hash of b")]
