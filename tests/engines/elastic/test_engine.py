"""What the contract does not ask of an engine, on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import get_args
from urllib.parse import urlsplit

import numpy as np
import pytest
from contract_rows import DIMS, axis, between, document, keyphrase, mention, mined, phrase, topic
from schema_2 import make_schema_2
from services.asking import asked_for
from services.distribution import VERSIONS
from services.elastic import elasticsearch, no_indices

from benchmarks.resetting_proxy import resetting
from indexer.engines.base import Clause, Filter, SearchRequest, WordQuery
from indexer.engines.elastic import ElasticEngine
from indexer.engines.elastic import generations as generations_module
from indexer.engines.elastic.bulk import Action
from indexer.engines.elastic.cluster import Cluster, connect
from indexer.engines.elastic.generations import ElasticGenerations
from indexer.engines.elastic.health import problems_of_server
from indexer.engines.elastic.indices import Names
from indexer.engines.elastic.rows import mention_id
from indexer.errors import EngineIncompatible, MappingMismatch, NotFound, SearchError
from indexer.records import Refinement, TopicWeight
from mappings import KINDS, VectorIndex, load_mapping

PREFIX = "test-engine"


@pytest.fixture
def url(version: str) -> Iterator[str]:
    url = elasticsearch(version)
    yield url
    no_indices(url, f"{PREFIX}-*")


@pytest.fixture
def engine(url: str) -> Iterator[ElasticEngine]:
    with closing(opened(url)) as engine:
        yield engine


def opened(url: str, dims: int = DIMS, **options) -> ElasticEngine:
    return ElasticEngine(connect(url), PREFIX, "main", dims, **options)


def under(engine, *filters) -> str:
    return "".join(engine.search(SearchRequest(filters=filters)).words.ids)


def test_opening_makes_five_indices_behind_aliases_once(url, engine):
    with closing(opened(url)) as again, closing(connect(url)) as cluster:
        again.store([document("a")])
        found = cluster.ask(cluster.client.indices.get, index=f"{PREFIX}-*")
        assert {index: list(entry["aliases"]) for index, entry in found.items()} == {
            f"{PREFIX}-main-{kind}-000001": [f"{PREFIX}-main-{kind}"]
            for kind in ("documents", "mentions", "phrases", "topics", "changes")
        }
        meta = found[f"{PREFIX}-main-documents-000001"]["mappings"]["_meta"]
        assert (meta["schema"], meta["dims"], meta["vector_index"]) == (3, DIMS, "auto")


def test_what_does_not_fit_is_not_opened(url, engine):
    with pytest.raises(MappingMismatch, match="vectors of 8 numbers, the encoder makes 16"):
        opened(url, 16)
    with pytest.raises(NotFound, match="no collection"):
        ElasticEngine(connect(url), PREFIX, "other", DIMS, create=False)
    with closing(connect(url)) as cluster:
        change = {"schema": 99, "kind": "topics", "dims": DIMS}
        cluster.ask(cluster.client.indices.put_mapping, index=f"{PREFIX}-main-topics", meta=change)
        with pytest.raises(MappingMismatch, match="schema 99; this version reads up to 3"):
            opened(url)
        cluster.ask(cluster.client.indices.put_mapping, index=f"{PREFIX}-main-topics", meta={"of": "others"})
        with pytest.raises(MappingMismatch, match="not created by this program"):
            opened(url)


def test_an_unfinished_making_is_finished(url, engine):
    with closing(connect(url)) as cluster:
        cluster.ask(cluster.client.indices.delete, index=f"{PREFIX}-main-changes-000001")
    with pytest.raises(MappingMismatch, match="has no index"):
        opened(url, create=False)
    with closing(opened(url)) as again:
        assert list(again.changed_phrases()) == []


def test_a_server_without_the_analyzer_of_a_language_makes_do_and_says_so(url, capsys):
    """The server of the tests has none of them."""
    with closing(ElasticEngine(connect(url), PREFIX, "deutsch", DIMS, language="german")) as engine:
        assert "analyzer_reduced" in capsys.readouterr().err
        engine.store([document("a", "Die Winde")])
        assert engine.search(SearchRequest(words=WordQuery((Clause("DIE winde", "phrase"),)))).words.ids == (
            "a",
        )
        assert ["letters only" in problem.found for problem in engine.problems(full=True)] == [True]
    with pytest.raises(MappingMismatch, match="made for texts in german, the setting language is english"):
        ElasticEngine(connect(url), PREFIX, "deutsch", DIMS)


@pytest.mark.live
@pytest.mark.xdist_group("elasticsearch-8.19")
def test_a_client_that_is_newer_than_the_server_is_explained(request):
    """What a client of version 9 sends to a server of version 8."""
    if not asked_for(request.config):
        pytest.skip("Needs Elasticsearch: run with -m live.")
    with closing(connect(elasticsearch("8.19"))) as cluster:
        newer = {"accept": "application/vnd.elasticsearch+json; compatible-with=9"}
        with pytest.raises(EngineIncompatible, match="do not understand each other") as caught:
            cluster.ask(cluster.client.perform_request, "GET", "/_cluster/health", headers=newer)
        assert "pip install" in caught.value.hint


def test_a_generation_that_was_begun_and_left_stands_in_nobodys_way_but_the_next(url, engine, monkeypatch):
    generations = ElasticGenerations(lambda: connect(url), PREFIX, "main")
    create, made = generations_module.create_index, []

    def killed(*args):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(args)
        return create(*args)

    monkeypatch.setattr(generations_module, "create_index", killed)
    with pytest.raises(KeyboardInterrupt):
        generations.make(DIMS, bundle="left")
    monkeypatch.undo()
    assert [(g.number, g.state) for g in generations.all()] == [(1, "live"), (2, "unfinished")]
    engine.store([document("a")])
    with closing(opened(url)) as again:
        assert list(again.document_ids()) == ["a"]
    with pytest.raises(MappingMismatch, match="no index for phrases, topics, changes"):
        generations.switch(2)
    with pytest.raises(SearchError, match="is unfinished"):
        generations.make(DIMS, bundle="next")
    generations.remove(2)
    generations.make(DIMS, bundle="next").close()
    generations.switch(2)
    with closing(connect(url)) as cluster:
        found = cluster.ask(cluster.client.indices.get_alias, index=f"{PREFIX}-main-*")
        assert {index: list(entry["aliases"]) for index, entry in found.items() if entry["aliases"]} == {
            f"{PREFIX}-main-{kind}-000002": [f"{PREFIX}-main-{kind}"] for kind in KINDS
        }
    generations.close()


def test_two_swaps_at_once_are_one(url, engine, monkeypatch):
    """The aliases are where somebody else has moved them to: nothing is moved, not even a part."""
    generations = ElasticGenerations(lambda: connect(url), PREFIX, "main")
    for _ in range(2):
        generations.make(DIMS, bundle="b").close()
        generations.switch(max(g.number for g in generations.all()))
    stale = generations._found()
    generations.switch(1)
    monkeypatch.setattr(ElasticGenerations, "_found", lambda self: stale)
    with pytest.raises(SearchError, match="Another process has changed the generations"):
        generations.switch(2)
    monkeypatch.undo()
    assert [(g.number, g.state) for g in generations.all()] == [(1, "live"), (2, "kept"), (3, "kept")]
    generations.close()


@pytest.mark.parametrize(
    "lacking",
    [
        lambda analysis: analysis["analyzer"]["words"]["filter"].append("not_there"),
        lambda analysis: analysis["char_filter"]["punctuation"].update(type="not_there"),
    ],
)
def test_a_server_without_a_part_of_the_analyzer_makes_do_with_lower_case(url, monkeypatch, capsys, lacking):
    def without(kind, dims, **options):
        body = load_mapping(kind, dims, **options)
        if "analysis" in body["settings"]:
            lacking(body["settings"]["analysis"])
        return body

    monkeypatch.setattr("indexer.engines.elastic.indices.load_mapping", without)
    with closing(ElasticEngine(connect(url), PREFIX, "plain", DIMS)) as engine:
        assert "analyzer_reduced" in capsys.readouterr().err
        engine.store([document("a", "Naïve winds")])

        def found(word: str) -> tuple[str, ...]:
            return engine.search(SearchRequest(words=WordQuery((Clause(word),)))).words.ids

        assert found("naïve") == found("WINDS") == ("a",)
        assert found("naive") == found("wind") == ()


def test_a_field_may_change_its_type_from_document_to_document(engine):
    values = [2020, "2020/21", 9.5, True, "2020-05-01", ["x", "2021"]]
    documents = [
        document(id_, "text", x=value, **{"x.y": value}) for id_, value in zip("abcdef", values, strict=True)
    ]
    assert engine.store(documents) == []
    assert engine.fields() == ["x", "x.y"]
    for field in ("x", "x.y"):
        assert under(engine, Filter(field, "=", 2020)) == "a"
        # 2020 and 9.5 as numbers; "true" and "x" as text, which "2020/21" and "2020-05-01" are not after "9"
        assert under(engine, Filter(field, ">", 9)) == "acdf"
    assert under(engine, Filter("x", "<", 10)) == "c"  # as text, "2020/21" and the rest come after "10"
    assert under(engine, Filter("x", "=", "2020/21")) == "b"
    assert under(engine, Filter("x.y", "=", "x")) == "f"


def test_more_fields_than_the_server_takes_are_kept(engine):
    meta = {f"field{number:04}": number for number in range(1200)}
    assert engine.store([document("a", **meta)]) == []
    assert engine.documents(["a"])[0].document.meta == meta
    assert engine.store([document("b")]) == []
    assert engine.documents(["b"])[0].document.id == "b"


def test_every_kind_of_vector_index_finds_what_numpy_finds(url, version):
    vectors = np.random.default_rng(3).standard_normal((400, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = [f"d{number:03}" for number in range(len(vectors))]
    best = sorted((float(score), id_) for score, id_ in zip(vectors @ vectors[7], ids, strict=True))[::-1][
        :10
    ]
    bits = {"bbq_hnsw"} if VERSIONS[version].product == "opensearch" else set()  # which it does not have
    for kind in set(get_args(VectorIndex)) - bits:
        engine = ElasticEngine(connect(url), PREFIX, kind.replace("_", "-"), 64, vector_index=kind)
        with closing(engine):
            engine.store([document(id_) for id_ in ids])
            engine.write_mined([mined(id_, vector) for id_, vector in zip(ids, vectors, strict=True)])
            ranking = engine.search(SearchRequest(vector=vectors[7], limit=10)).meaning
            overlap = len(set(ranking.ids) & {id_ for _, id_ in best})
            assert overlap >= (5 if kind == "bbq_hnsw" else 9), kind
            exact = dict(zip(ids, vectors @ vectors[7], strict=True))
            assert [exact[id_] for id_ in ranking.ids] == pytest.approx(
                ranking.scores, abs=1e-5 if kind == "bbq_hnsw" else 3e-3
            )


@pytest.mark.usefixtures("only_elasticsearch")
def test_a_collection_of_0_1_0_is_written_and_read_as_it_is(url):
    """Schema 2: vectors of decimals, topic weights in nested rows, no field `main_topics`."""
    names = Names.of(PREFIX, "old")
    with closing(connect(url)) as cluster:
        make_schema_2(cluster, names, DIMS)
    with closing(ElasticEngine(connect(url), PREFIX, "old", DIMS, create=False)) as engine:
        engine.store([document(id_) for id_ in "abc"])
        topics = {"a": (("t-000001", 0.9),), "b": (("t-000001", 0.2), ("t-000002", 0.8)), "c": ()}
        engine.write_mined(
            [
                mined(id_, axis(at), topics=topics[id_], mentions=(mention(id_, "x", axis(at)),))
                for at, id_ in enumerate("abc")
            ]
        )
        engine.write_phrases([phrase("x", axis(1))])
        engine.refine([Refinement("c", (), (TopicWeight("t-000001", 1.0),), {}, "r")])
        ranking = engine.topic_documents("t-000001", axis(1))
        assert (ranking.ids, ranking.total) == (("a", "c", "b"), 3)  # b is nearest, but mostly about another
        assert engine.search(SearchRequest(vector=axis(1), limit=1)).meaning.ids == ("b",)
        assert [row.document_id for row, _ in engine.nearest_mentions(axis(2), limit=1)] == ["c"]
        (row,) = engine.mentions(["b"])
        np.testing.assert_allclose(row.vector, axis(1), atol=1e-6)
        assert row.sentence == mention("b", "x").sentence
        assert [row.phrase for row, _ in engine.nearest_phrases(axis(1))] == ["x"]
        engine.write_topics([topic("t-000001", parent="t-000003"), topic("t-000003", label="All")])
        paths = engine.search(SearchRequest(facets=("topic_path",))).facets["topic_path"]
        assert paths == (("t-000003", 3), ("t-000003/t-000001", 3))
        assert not engine.wasteful()


@pytest.mark.usefixtures("only_elasticsearch")
def test_an_index_that_has_grown_gets_a_graph_and_finds_the_same(url, monkeypatch):
    vectors = np.random.default_rng(4).standard_normal((60, DIMS)).astype(np.float32)
    ids = [f"d{number:02}" for number in range(len(vectors))]

    def kinds() -> dict[str, str]:
        with closing(connect(url)) as cluster:
            found = cluster.ask(cluster.client.indices.get_mapping, index=f"{PREFIX}-main-*")
        fields = {index: entry["mappings"]["properties"].get("vector") for index, entry in found.items()}
        return {
            index.split("-")[-2]: field["index_options"]["type"] for index, field in fields.items() if field
        }

    monkeypatch.setattr("indexer.engines.elastic.indices.GRAPH_FROM", 40)
    with closing(opened(url)) as engine:
        engine.store([document(id_) for id_ in ids[:40]])
        engine.write_mined([mined(id_, vector) for id_, vector in zip(ids[:40], vectors, strict=False)])
        engine.compact()
        assert kinds() == {"documents": "flat", "mentions": "flat", "phrases": "flat"}
        engine.store([document(id_) for id_ in ids[40:]])
        assert engine.wasteful()
        engine.compact()
        assert kinds() == {"documents": "hnsw", "mentions": "flat", "phrases": "flat"}
    with closing(opened(url)) as engine:
        engine.write_mined([mined(id_, vector) for id_, vector in zip(ids, vectors, strict=True)])
        assert not engine.wasteful()
        for at in (3, 45):
            assert engine.search(SearchRequest(vector=vectors[at], limit=1)).meaning.ids == (ids[at],)


def test_a_rank_beyond_one_page_of_the_server(engine):
    """More documents with a topic than one search gives."""
    number = 10_050
    engine.store([document(f"d{at:05}") for at in range(number)])
    rows = (
        Action(
            "update",
            engine.names.documents,
            f"d{at:05}",
            {"topics": ["t-000001"], "topic_weights": [{"topic": "t-000001", "weight": at / number}]},
        )
        for at in range(number)
    )
    assert engine._fresh.send(rows) == []
    having = [id_ for id_, _ in engine.scan(None, (Filter("topic", "=", "t-000001"),))]
    assert (len(having), having[0], having[-1]) == (number, "d00000", "d10049")
    ranking = engine.topic_documents("t-000001", axis(0), limit=2**31 - 1)
    assert (len(ranking.ids), ranking.total) == (0, number)  # none is mined: no vectors
    assert len(list(engine.document_ids())) == number


def test_reset_connections_lose_no_row_and_double_none(url, engine):
    """Some of the requests are reset before the server has them, some after it has carried them out."""
    engine.store([document("z")])
    with resetting(urlsplit(url).port, share=0.3) as proxy:
        address = f"http://127.0.0.1:{proxy.port}"
        cluster = Cluster(connect(address).client, address, pause=lambda _: None)
        with (
            cluster.retrying(),
            closing(ElasticEngine(cluster, PREFIX, "main", DIMS, create=False)) as faulty,
        ):
            for ids in ("abc", "def", "ghi"):
                assert faulty.store([document(id_) for id_ in ids]) == []
                rows = [mined(id_, axis(0), mentions=(mention(id_, "x"), mention(id_, "y"))) for id_ in ids]
                assert faulty.write_mined(rows) == []
        assert proxy.resets > 2
    engine.catch_up()
    assert sorted(engine.document_ids()) == [*"abcdefghi", "z"]
    info = engine.info()
    assert (info.documents, info.mined, info.mentions) == (10, 9, 18)


def test_compacting_sweeps_up_mentions_that_no_document_names(engine):
    engine.store([document("a"), document("b")])
    engine.write_mined([mined("a", mentions=(mention("a", "x"),)), mined("b", mentions=(mention("b", "x"),))])
    engine.write_phrases([])
    # a writer that was killed after it had written a mention, and one after it had written another text
    row = dict(
        engine._cluster.ask(
            engine._cluster.client.get, index=engine.names.mentions, id=mention_id("a", "p-x")
        )
    )
    lost = {**row["_source"], "phrase_id": "p-lost"}
    lost.pop("vector", None)
    engine._fresh.must([Action("index", engine.names.mentions, mention_id("a", "p-lost"), lost)])
    engine._fresh.must([Action("delete", engine.names.documents, "b")])
    assert engine.wasteful()
    engine.compact()
    assert not engine.wasteful()
    assert set(engine.changed_phrases()) == {"p-x", "p-lost"}
    assert [row.phrase_id for row in engine.mentions(["a", "b"])] == ["p-x"]


def test_a_server_that_takes_no_writes_at_all_is_found_out(engine):
    cluster = engine._cluster

    def found() -> list[str]:
        return [problem.found for problem in problems_of_server(cluster) if problem.fatal]

    def block(on: bool | None) -> None:
        settings = {"cluster.blocks.read_only_allow_delete": on}
        cluster.ask(cluster.client.cluster.put_settings, persistent=settings)

    assert found() == []
    block(True)
    try:
        assert found() == ["the server takes no writes: cluster read-only / allow delete (api)"]
    finally:
        block(None)


def test_mentions_say_whether_they_are_a_keyphrase(engine):
    engine.store([document("a")])
    both = (mention("a", "x"), mention("a", "y"))
    engine.write_mined([mined("a", mentions=both, keyphrases=(keyphrase("x"),))])
    assert {row.phrase: row.keyphrase for row in engine.mentions(["a"])} == {"x": True, "y": False}


@pytest.mark.parametrize("most", [50_000, 1])
def test_nearest_mentions_under_a_topic_or_keyphrase(engine, monkeypatch, most):
    """With few documents under the filter by their ids; with many (here: more than one) by looking at the nearest."""
    monkeypatch.setattr("indexer.engines.elastic.search.MAX_JOINED", most)
    engine.store(
        [document("a", lang="en"), document("b", lang="en"), document("c", lang="de"), document("d")]
    )
    row = (("t-000001", 1.0),)
    engine.write_mined(
        [
            mined("a", topics=row, mentions=(mention("a", "x", between(0, 1, 60)),)),
            mined(
                "b",
                topics=row,
                mentions=(mention("b", "x", between(0, 1, 30)),),
                keyphrases=(keyphrase("K"),),
            ),
            mined("c", topics=row, mentions=(mention("c", "x", between(0, 1, 45)),)),
            mined("d", mentions=(mention("d", "x", axis(0)),)),
        ]
    )

    def near(*filters, limit=10):
        found = engine.nearest_mentions(axis(0), limit=limit, filters=filters)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        return "".join(row.document_id for row, _ in found)

    assert near() == "dbca"
    assert near(Filter("topic", "=", "t-000001")) == "bca"
    assert near(Filter("topic", "=", "t-000001"), limit=2) == "bc"
    assert near(Filter("topic", "=", "t-000001"), Filter("lang", "=", "en")) == "ba"
    assert near(Filter("topic", "!=", "t-000001")) == "d"
    assert near(Filter("keyphrase", "=", "k")) == "b"
    assert near(Filter("keyphrase", "=", "nothing")) == ""
    engine.refine([Refinement("b", (), (TopicWeight("t-000002", 1.0),), {}, "r")])
    assert near(Filter("topic", "=", "t-000001")) == "ca"


def test_readable_names_follow_the_topics(engine):
    engine.store([document("a"), document("b")])
    engine.write_topics([topic("t-000001", label="Wind"), topic("t-000002", label="Sun")])
    engine.write_mined([mined("a", topics=(("t-000002", 0.6), ("t-000001", 0.4)))])

    def labels(id_: str) -> list[str]:
        found = engine._cluster.ask(engine._cluster.client.get, index=engine.names.documents, id=id_)
        return found["_source"]["topic_labels"]

    assert labels("a") == ["Sun", "Wind"]
    engine.write_topics([topic("t-000001", label="Storm")])
    assert labels("a") == ["Storm"]
    words = WordQuery((Clause("plain"),))
    assert set(engine.search(SearchRequest(words=words)).words.ids) == {"a", "b"}  # nothing else changed
    assert engine.documents(["a"], vectors=True)[0].vector == pytest.approx(axis(0))


def test_a_rename_that_was_killed_after_a_document_had_it_is_finished_by_the_next(url, monkeypatch):
    with closing(opened(url)) as engine:
        engine.write_topics([topic("t-000001", label="Wind"), topic("t-000002", label="Sun")])
        engine.store([document("a"), document("b")])
        engine.write_mined([mined(id_, topics=(("t-000001", 1.0),)) for id_ in "ab"])
        send = engine._fresh.must

        def killed(actions):
            send(list(actions)[:1])
            raise KeyboardInterrupt

        new = [topic("t-000001", label="Storm"), topic("t-000002", label="Sun")]
        with monkeypatch.context() as patch:
            patch.setattr(engine._fresh, "must", killed)
            with pytest.raises(KeyboardInterrupt):
                engine.write_topics(new)
        engine.write_topics(new)
        engine.catch_up()
        hits = engine._cluster.search(index=engine.names.documents, source=["topic_labels"])["hits"]["hits"]
        assert [hit["_source"]["topic_labels"] for hit in hits] == [["Storm"]] * 2
        assert sorted(one.label for one in engine.topics()) == ["Storm", "Sun"]


def test_phrases_are_streamed_in_slices_whatever_their_ids(url, monkeypatch):
    words = ["heat", "0-9", "ff", "a0", "pump", "Ä", "7f"]  # some begin like hexadecimal numbers
    with closing(opened(url)) as engine:
        engine.store([document(id_) for id_ in "ab"])
        named = [replace(mention(id_, word), phrase_id=word) for id_ in "ab" for word in words]
        engine.write_mined(
            [mined(id_, mentions=tuple(m for m in named if m.document_id == id_)) for id_ in "ab"]
        )
        whole = [(row.phrase_id, row.document_id) for group in engine.mentions_by_phrase() for row in group]
        assert len(whole) == 14
        for rows_at_once in (1, 7):  # 256 and 16 slices
            monkeypatch.setattr("indexer.engines.elastic.mentions.SLICE_ROWS", rows_at_once)
            groups = list(engine.mentions_by_phrase())
            assert [(row.phrase_id, row.document_id) for group in groups for row in group] == whole
            assert all(len(group) == 2 for group in groups)


def test_vectors_are_read_from_this_machine_and_what_it_lacks_from_the_server(url, tmp_path):
    folder = tmp_path / "vectors"
    with closing(ElasticEngine(connect(url), PREFIX, "cached", DIMS, cache=folder)) as engine:
        engine.store([document(id_) for id_ in "ab"])
        engine.write_mined([mined("a", mentions=(mention("a", "x", axis(1)), mention("a", "y", axis(2))))])
        (kept,) = folder.iterdir()
        engine.write_mined([mined("b", mentions=(mention("b", "x", axis(3)),))])
        expected = {("a", "x"): axis(1), ("a", "y"): axis(2), ("b", "x"): axis(3)}
        record = kept.stat().st_size // 3
        for left in (3, 1, 0):  # records in the file
            kept.write_bytes(kept.read_bytes()[: left * record])
            with closing(ElasticEngine(connect(url), PREFIX, "cached", DIMS, cache=folder)) as other:
                other.catch_up()
                for rows in (other.mentions(["a", "b"]), [r for g in other.mentions_by_phrase() for r in g]):
                    found = {(row.document_id, row.phrase): row.vector for row in rows}
                    assert found.keys() == expected.keys()
                    for key, vector in expected.items():
                        np.testing.assert_allclose(found[key], vector, atol=1e-6)
