from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from indexer.catalog import Catalog, Failure, LedgerEntry
from indexer.catalog.batches import BatchOutcome, Claim
from indexer.catalog.entries import BundleCandidate

Start = Callable[[Callable[[], object]], Callable[[], int]]

FOUND = BundleCandidate("h", ((0, 20), (21, 40)), ((3, 9), (22, 30)))


def started(catalog: Catalog, documents: int) -> str:
    """A run with so many stored documents, d000 and on, each with the hash h."""
    run = catalog.start_run("main", "index", {}, detached=True)
    catalog.record("main", [LedgerEntry(f"d{n:03}", "h", run=run) for n in range(documents)])
    return run


def claimed(catalog: Catalog, id_: str, state: str = "prepare", **more: float) -> Claim:
    claim = catalog.claim(id_, state, **more)  # type: ignore[arg-type]
    assert claim is not None
    return claim


def prepared(catalog: Catalog, id_: str) -> Claim:
    claim = claimed(catalog, id_)
    assert catalog.advance(claim, dict.fromkeys(claim.ids, FOUND))
    return claimed(catalog, id_, "encode")


def test_batches_are_cut_in_ascending_order_each_document_once_in_a_run(catalog: Catalog) -> None:
    run = started(catalog, 10)
    first = catalog.create_batches(run, 4, max_open=2)
    assert catalog.create_batches(run, 4, max_open=2) == []  # no room
    assert [claimed(catalog, id_).ids for id_ in first] == [
        ("d000", "d001", "d002", "d003"),
        ("d004", "d005", "d006", "d007"),
    ]
    (last,) = catalog.create_batches(run, 4, max_open=9)
    assert claimed(catalog, last).ids == ("d008", "d009")
    assert catalog.create_batches(run, 4, max_open=9) == []


def test_a_document_that_is_in_a_batch_is_not_put_into_another(catalog: Catalog) -> None:
    catalog.create_batches(started(catalog, 3), 2, max_open=1)
    (other,) = catalog.create_batches(started(catalog, 4), 9, max_open=9)
    assert claimed(catalog, other).ids == ("d002", "d003")


def test_a_document_with_an_open_dead_letter_waits_until_that_is_closed(catalog: Catalog) -> None:
    run = started(catalog, 2)
    catalog.dead_letter("main", [Failure("a.jsonl:2", "encode", "it kills", "d001")])
    (id_,) = catalog.create_batches(run, 9, max_open=9)
    assert catalog.finish_batch(prepared(catalog, id_), BatchOutcome({"d000": "h"}, "b")) == []
    assert catalog.is_complete(run)
    catalog.resolve("main", document_ids=["d001"])
    assert not catalog.is_complete(run)
    assert len(catalog.create_batches(run, 9, max_open=9)) == 1


def test_a_batch_goes_from_prepare_to_encode_and_out(catalog: Catalog) -> None:
    run = started(catalog, 3)
    (id_,) = catalog.create_batches(run, 9, max_open=9)
    assert catalog.claim(id_, "encode") is None
    claim = prepared(catalog, id_)
    assert claim.candidates == dict.fromkeys(("d000", "d001", "d002"), FOUND)
    assert not catalog.is_complete(run)
    letter = Failure("a.jsonl:3", "encode", "no", "d002")
    assert catalog.finish_batch(claim, BatchOutcome({"d000": "h", "d001": "h"}, "b", failures=[letter])) == []
    assert catalog.count("main") == {"stored": 1, "mined": 2, "done": 0}
    assert [dead.document_id for dead in catalog.dead("main")] == ["d002"]
    assert catalog.run(run).counts == {"mined": 2, "failed": 1, "bundle": "b"}
    assert catalog.is_complete(run)
    assert catalog.create_batches(run, 9, max_open=9) == []  # what failed does not come again in this run
    assert catalog.claim(id_, "encode") is None


def test_what_another_text_was_stored_for_is_not_mined_and_comes_again(catalog: Catalog) -> None:
    run = started(catalog, 3)
    (id_,) = catalog.create_batches(run, 9, max_open=9)
    claim = prepared(catalog, id_)
    catalog.record("main", [LedgerEntry("d001", "another")])
    again = catalog.finish_batch(
        claim, BatchOutcome({"d000": "h", "d001": "h"}, "b", changed=["d002"], missing=["d003"])
    )
    assert again is not None
    assert claimed(catalog, again[0]).ids == ("d002",)
    assert catalog.count("main") == {"stored": 2, "mined": 1, "done": 0}


def test_what_cannot_be_prepared_leaves_the_batch(catalog: Catalog) -> None:
    run = started(catalog, 3)
    (id_,) = catalog.create_batches(run, 9, max_open=9)
    letter = Failure("a", "prepare", "no", "d001")
    assert catalog.advance(claimed(catalog, id_), {"d000": FOUND}, missing=["d002"], failures=[letter])
    claim = claimed(catalog, id_, "encode")
    assert claim.ids == ("d000",)
    assert list(catalog.ledger("main", ["d000", "d001", "d002"])) == ["d000", "d001"]
    catalog.finish_batch(claim, BatchOutcome({"d000": "h"}, "b"))
    (rest,) = catalog.create_batches(started(catalog, 2), 9, max_open=9)
    assert not catalog.advance(claimed(catalog, rest), {}, failures=[letter])
    assert catalog.waiting() == []


def test_nobody_else_gets_a_batch_until_its_lease_ends_and_that_is_remembered(catalog: Catalog) -> None:
    (id_,) = catalog.create_batches(started(catalog, 2), 9, max_open=9)
    slow = claimed(catalog, id_, lease=0.0)
    quick = claimed(catalog, id_)
    assert (slow.deaths, quick.deaths) == (0, 1)
    assert catalog.claim(id_, "prepare") is None
    assert not catalog.renew_claim(slow)
    assert catalog.renew_claim(quick)
    assert not catalog.advance(slow, {"d000": FOUND})
    assert catalog.finish_batch(slow, BatchOutcome({"d000": "h"}, "b")) is None
    catalog.release(slow)  # not ours any more: nothing happens
    assert catalog.claim(id_, "prepare") is None
    assert catalog.count("main")["mined"] == 0


def test_a_batch_of_a_process_that_died_is_free_at_once(
    url: str, catalog: Catalog, start_process: Start
) -> None:
    (id_,) = catalog.create_batches(started(catalog, 2), 9, max_open=9)

    def take_and_die() -> None:
        with Catalog.open(url) as mine:
            assert mine.claim(id_, "prepare")

    assert start_process(take_and_die)() == 0
    assert [batch.id for batch in catalog.waiting()] == [id_]
    assert claimed(catalog, id_).deaths == 1


def test_a_released_batch_waits_as_long_as_it_is_told_to(catalog: Catalog) -> None:
    (id_,) = catalog.create_batches(started(catalog, 2), 9, max_open=9)
    catalog.release(claimed(catalog, id_), delay=60, error="Elasticsearch is away.", failed=True)
    assert catalog.claim(id_, "prepare") is None
    assert catalog.waiting() == []
    work = catalog.work("main")
    assert (work.delayed, work.documents, work.problems) == (1, 2, ("Elasticsearch is away.",))


def test_a_divided_batch_is_as_many_as_it_has_documents(catalog: Catalog) -> None:
    run = started(catalog, 3)
    (id_,) = catalog.create_batches(run, 9, max_open=9)
    parts = catalog.split(claimed(catalog, id_))
    assert [claimed(catalog, part).ids for part in parts] == [("d000",), ("d001",), ("d002",)]
    assert catalog.claim(id_, "prepare") is None


def test_those_wait_first_that_were_not_sent_for_longest(catalog: Catalog) -> None:
    first, second, third = catalog.create_batches(started(catalog, 6), 2, max_open=9)
    catalog.mark_sent([first])
    catalog.mark_sent([third])
    claimed(catalog, third)
    assert [(batch.id, batch.sent_ago is None) for batch in catalog.waiting()] == [
        (second, True),
        (first, False),
    ]
    work = catalog.work("main")
    assert (work.waiting["prepare"], work.held["prepare"], len(work.holders)) == (2, 1, 1)


def test_runs_of_workers_are_open_until_they_are_finished(catalog: Catalog) -> None:
    run = started(catalog, 0)
    catalog.start_run("main", "index", {})
    assert [open_.id for open_ in catalog.open_runs("main")] == [run]
    assert catalog.is_complete(run)
    catalog.finish_run(run, "finished", {})
    assert catalog.open_runs() == []


@pytest.mark.slow
@pytest.mark.parametrize("claimers", [4])
def test_of_many_that_claim_at_once_each_batch_goes_to_one(url: str, catalog: Catalog, claimers: int) -> None:
    run = started(catalog, 200)
    ids = catalog.create_batches(run, 4, max_open=100)
    assert len(ids) == 50

    def work(_: int) -> list[str]:
        with Catalog.open(url) as mine:
            got = [claim for id_ in ids if (claim := mine.claim(id_, "prepare"))]
            for claim in got:
                assert mine.advance(claim, dict.fromkeys(claim.ids, FOUND))
                found = mine.claim(claim.id, "encode")
                if found:
                    assert mine.finish_batch(found, BatchOutcome(dict.fromkeys(found.ids, "h"), "b")) == []
            return [claim.id for claim in got]

    with ThreadPoolExecutor(claimers) as pool:
        taken = [id_ for some in pool.map(work, range(claimers)) for id_ in some]
    assert sorted(taken) == sorted(ids)
    assert catalog.count("main") == {"stored": 0, "mined": 200, "done": 0}
    assert catalog.run(run).counts["mined"] == 200
    assert catalog.is_complete(run)


def test_given_documents_are_batched_before_the_others_and_each_once(catalog: Catalog) -> None:
    run = started(catalog, 6)
    catalog.dead_letter("main", [Failure("a.jsonl:2", "encode", "it kills", "d005")])
    first = catalog.create_batches_of(run, ["d004", "d002", "d001", "d005", "d009"], 2)
    assert [claimed(catalog, id_).ids for id_ in first] == [("d001", "d002"), ("d004",)]
    assert catalog.batched_ids("main") == {"d001", "d002", "d004"}
    assert catalog.create_batches_of(run, ["d001", "d002"], 2) == []
    (rest,) = catalog.create_batches(run, 9, max_open=9)
    assert claimed(catalog, rest).ids == ("d000", "d003")
