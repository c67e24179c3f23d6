"""Writes that are for one state of a row: what somebody else has written meanwhile is never overwritten."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from contract_rows import DIMS, axis, document, mention, mined
from engines.elastic.stub import Stub
from hash_encoder import HashEncoder
from small_parts import PlainPreparer

from indexer.catalog import Catalog
from indexer.engines.elastic import rows
from indexer.engines.elastic.bulk import Action, send
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import IndexState, Names
from indexer.engines.elastic.reading import Freshness
from indexer.engines.elastic.user_documents import UserDocuments
from indexer.engines.elastic.user_index import EnrichOptions, UserIndex
from indexer.engines.elastic.vectors import VectorField
from indexer.engines.elastic.writing import Writer
from indexer.engines.local import LocalEngine
from indexer.pipeline.run import Pipeline
from indexer.pipeline.steps import MiningOptions
from indexer.protocols import no_progress
from indexer.runs.enrich import ROUNDS, Enricher, EnrichReport, Pace


def meanwhile(stub: Stub, id_: str, change: Callable[[], None], times: int = 1) -> list[str]:
    """Let somebody do something before each of the next updates of a row comes; returns the list of those."""
    take, done = stub.take, []

    def disturbed(items, *args):
        if len(done) < times and ("update", id_) in [item[:2] for item in items]:
            done.append(id_)
            change()
        return take(items, *args)

    stub.take = disturbed
    return done


def test_the_state_goes_with_the_action_and_the_server_tries_nothing_again(stub, cluster):
    stub.put("a", {"n": 1})
    stub.put("b", {"n": 1})
    send(cluster, [Action("update", "rows", "a", {"n": 2}, (0, 1)), Action("update", "rows", "b", {"n": 2})])
    assert stub.heads["a"] == {"_id": "a", "if_seq_no": 0, "if_primary_term": 1}
    assert stub.heads["b"] == {"_id": "b", "retry_on_conflict": 3}


def test_a_row_that_another_has_written_to_is_a_conflict_and_stays(stub, cluster, pauses):
    stub.put("a", {"n": 1})
    stub.put("b", {"n": 1})
    stub.put("a", {"n": 7})  # since it was read
    failures = send(
        cluster,
        [Action("update", "rows", id_, {"n": 2}, guard) for id_, guard in {"a": (0, 1), "b": (1, 1)}.items()],
    )
    assert [(f.action.id, f.conflict, f.missing) for f in failures] == [("a", True, False)]
    assert stub.rows == {"a": {"n": 7}, "b": {"n": 2}}
    assert pauses == []  # it would never go in as it is


# -- our own documents ---------------------------------------------------------------------------------------


@pytest.fixture
def writer(stub: Stub, cluster: Cluster) -> Writer:
    stub.put("d", rows.of_document(document("d", "solar wind")))
    names, field = Names.of("p", "c"), VectorField("byte", "flat")
    state = IndexState({}, {names.documents: field, names.mentions: field}, nested=False)
    return Writer(cluster, names, DIMS, Freshness(cluster), state)


def written(writer: Writer) -> list[str]:
    """Mine "d"; returns why that was refused."""
    return [
        refused.why
        for refused in writer.write_mined(
            [mined("d", axis(0), mentions=(mention("d", "wind"),))], rows.TopicNames({}, {})
        )
    ]


def test_a_text_that_only_moved_meanwhile_is_mined_all_the_same(stub, writer):
    done = meanwhile(stub, "d", lambda: stub.put("d", stub.rows["d"] | {"source": "elsewhere"}))
    assert written(writer) == []
    assert done == ["d"]
    assert (stub.rows["d"]["source"], stub.rows["d"]["bundle"]) == ("elsewhere", "base")


def test_a_text_that_changed_meanwhile_keeps_what_it_has(stub, writer):
    other = rows.of_document(document("d", "another text"))
    document("d", "solar wind")  # what is mined is still of the first one
    meanwhile(stub, "d", lambda: stub.put("d", other))
    assert written(writer) == ["changed"]
    assert stub.rows["d"] == other


def test_a_document_that_was_removed_meanwhile_stays_removed(stub, writer):
    meanwhile(stub, "d", lambda: stub.put("d", None))
    assert written(writer) == ["missing"]
    assert "d" not in stub.rows


def test_our_own_write_whose_answer_was_lost_is_no_conflict(stub, writer):
    take, lost = stub.take, []

    def carried_out_but_not_answered(items, *args):
        answer = take(items, *args)
        if not lost and items and items[0][:2] == ("update", "d"):
            lost.append("d")
            return None
        return answer

    stub.take = carried_out_but_not_answered
    assert written(writer) == []
    assert lost == ["d"]
    assert stub.rows["d"]["bundle"] == "base"


# -- somebody else's -----------------------------------------------------------------------------------------


@pytest.fixture
def documents(stub: Stub, cluster: Cluster) -> UserDocuments:
    """Two documents of theirs."""
    stub.put("n1", {"body": "The solar wind is fast.", "price": 1})
    stub.put("n2", {"body": "Tax law is long.", "price": 1})
    options = EnrichOptions("body")
    return UserDocuments(UserIndex(cluster, "news", 1, "indexer"), options, 1_000)


@pytest.fixture
def enricher(documents, tmp_path, monkeypatch) -> Iterator[Enricher]:
    monkeypatch.setattr("indexer.text.pool._preparer", PlainPreparer)
    engine = LocalEngine(tmp_path / "ours", HashEncoder.dims)
    with Catalog.open(f"sqlite:///{tmp_path}/catalog.sqlite") as catalog:
        mining = MiningOptions("hash", HashEncoder.dims, HashEncoder, "auto", 0)
        pipeline = Pipeline(engine, catalog, "main", mining, no_progress)
        yield Enricher(pipeline, documents, pace=Pace(None), progress=no_progress)
    engine.close()


def enriched(enricher: Enricher, documents: UserDocuments) -> EnrichReport:
    report = EnrichReport()
    enricher.some(documents.read({"n1": None, "n2": None}), [], report)
    return report


def test_their_documents_get_our_object_for_the_state_that_was_read(stub, documents, enricher):
    report = enriched(enricher, documents)
    assert (report.mined, report.written, report.unsettled) == (2, 2, 0)
    assert {name: stub.heads["n2"][name] for name in ("if_seq_no", "if_primary_term", "require_alias")} == {
        "if_seq_no": 1, "if_primary_term": 1, "require_alias": False,
    }  # fmt: skip
    assert stub.rows["n1"]["price"] == 1
    assert "solar wind" in stub.rows["n1"]["indexer"]["keyphrases"]


def test_what_they_write_meanwhile_is_read_again_and_kept(stub, documents, enricher):
    meanwhile(stub, "n1", lambda: stub.put("n1", {"body": "A volcano erupts.", "price": 2}))
    report = enriched(enricher, documents)
    assert (report.mined, report.written, report.unsettled) == (3, 2, 0)
    assert (stub.rows["n1"]["body"], stub.rows["n1"]["price"]) == ("A volcano erupts.", 2)
    assert any("volcano" in phrase for phrase in stub.rows["n1"]["indexer"]["keyphrases"])


def test_a_field_that_they_change_meanwhile_needs_no_mining(stub, documents, enricher):
    meanwhile(stub, "n1", lambda: stub.put("n1", stub.rows["n1"] | {"price": 2}))
    report = enriched(enricher, documents)
    assert (report.mined, report.written) == (2, 2)
    assert stub.rows["n1"]["price"] == 2
    assert stub.rows["n1"]["indexer"]["keyphrases"]


def test_what_they_remove_meanwhile_stays_removed_and_leaves_us_too(stub, documents, enricher):
    meanwhile(stub, "n1", lambda: stub.put("n1", None))
    report = enriched(enricher, documents)
    assert (report.written, report.deleted) == (1, 1)
    assert list(stub.rows) == ["n2"]
    assert enricher._catalog.count("main") == {"stored": 0, "mined": 0, "done": 1}


@pytest.mark.slow
def test_a_document_that_never_rests_is_left_to_the_next_run(stub, documents, enricher):
    numbers = iter(range(100))
    restless = meanwhile(stub, "n1", lambda: stub.put("n1", stub.rows["n1"] | {"price": next(numbers)}), 100)
    report = enriched(enricher, documents)
    assert len(restless) == 1 + ROUNDS  # the first try, and once for each round
    assert (report.written, report.unsettled, report.failed) == (1, 1, 0)
    assert "indexer" not in stub.rows["n1"]
