from __future__ import annotations

from indexer.catalog import Catalog, Failure

NO_TEXT = Failure("a.pdf", "read", "no text in it")


def test_a_letter_is_kept_with_its_reason(catalog: Catalog) -> None:
    catalog.dead_letter("main", [NO_TEXT, Failure("b.jsonl:3", "encode", "out of memory", document_id="b3")])
    first, second = catalog.dead("main")
    assert (first.source, first.stage, first.reason, first.document_id) == (
        "a.pdf",
        "read",
        "no text in it",
        "",
    )
    assert (second.source, second.document_id, second.attempts) == ("b.jsonl:3", "b3", 1)
    assert first.first_at == first.last_at
    assert catalog.dead("other") == []


def test_the_same_failure_again_is_one_more_attempt(catalog: Catalog) -> None:
    catalog.dead_letter("main", [NO_TEXT])
    catalog.dead_letter("main", [Failure("a.pdf", "read", "still no text")])
    (letter,) = catalog.dead("main")
    assert (letter.attempts, letter.reason) == (2, "still no text")
    assert letter.last_at >= letter.first_at


def test_a_failure_after_the_letter_was_closed_is_a_new_one(catalog: Catalog) -> None:
    catalog.dead_letter("main", [NO_TEXT])
    assert catalog.resolve("main", sources=["a.pdf"]) == 1
    assert catalog.dead("main") == []
    catalog.dead_letter("main", [NO_TEXT])
    assert [letter.attempts for letter in catalog.dead("main")] == [1]


def test_what_fails_when_it_is_tried_again_counts_on(catalog: Catalog) -> None:
    mended, broken = Failure("b.pdf", "read", "no text"), Failure("s", "write", "refused", document_id="a")
    catalog.dead_letter("main", [NO_TEXT, mended, broken])
    catalog.dead_letter("main", [NO_TEXT])
    before = {letter.source: letter for letter in catalog.dead("main")}
    with catalog.retrying("main", list(before.values())):
        # What could not be read stays until it is read: nothing else tells which file that was.
        assert [letter.stage for letter in catalog.dead("main")] == ["read", "read"]
        catalog.dead_letter("main", [NO_TEXT, broken, Failure("s", "encode", "another", document_id="a")])
    assert catalog.resolve("main", sources=["b.pdf"], stages=("read", "store")) == 1
    found = {(letter.source, letter.stage): letter for letter in catalog.dead("main")}
    assert {key: letter.attempts for key, letter in found.items()} == {
        ("a.pdf", "read"): 3, ("s", "write"): 2, ("s", "encode"): 1,
    }  # fmt: skip
    assert found["a.pdf", "read"].first_at == before["a.pdf"].first_at


def test_letters_are_closed_by_document(catalog: Catalog) -> None:
    catalog.dead_letter("main", [Failure("s", "encode", "r", document_id=id_) for id_ in "abc"])
    catalog.dead_letter("main", [Failure("s", "write", "r", document_id="a")])
    assert catalog.resolve("main", document_ids=["a", "b", "unknown"]) == 3
    assert [(letter.document_id, letter.stage) for letter in catalog.dead("main")] == [("c", "encode")]


def test_letters_are_closed_by_source(catalog: Catalog) -> None:
    catalog.dead_letter(
        "main", [Failure(source, "read", "r") for source in ("n/a:1", "n/b", "n-old/b", "other")]
    )
    assert catalog.resolve("main", sources=["n"]) == 2
    assert [letter.source for letter in catalog.dead("main")] == ["n-old/b", "other"]


def test_counts_and_stages(catalog: Catalog) -> None:
    catalog.dead_letter("main", [Failure(f"s{i}", "read", "r") for i in range(1500)])
    catalog.dead_letter("main", [Failure("s", "write", "r")])
    assert catalog.dead_counts("main") == {"read": 1500, "store": 0, "prepare": 0, "encode": 0, "write": 1}
    assert len(catalog.dead("main", stage="write")) == 1
    assert len(catalog.dead("main", limit=7)) == 7


def test_a_reason_may_hold_anything(catalog: Catalog) -> None:
    catalog.dead_letter("main", [Failure("s\udcff", "read", "invalid \0 byte in \ud800")])
    (letter,) = catalog.dead("main")
    assert letter.reason == "invalid \\x00 byte in \\ud800"
    assert catalog.resolve("main", sources=["s\udcff"]) == 1
