import pytest
from hash_encoder import HashEncoder
from hypothesis import given
from hypothesis import strategies as st

from indexer.engines.base import Clause, Filter
from indexer.engines.local import LocalEngine
from indexer.errors import QueryError
from indexer.records import Document, Keyphrase, MinedDocument, Place, Topic, TopicWeight, phrase_id
from indexer.search import parse_filter, parse_words, search

TEXTS = {
    "d1": "the solar wind reaches the earth",
    "d2": "a wind farm at sea",
    "d3": "solar panels on the roof",
    "d4": "tax law for farms",
}


@pytest.fixture(scope="module")
def encoder():
    return HashEncoder()


@pytest.fixture(scope="module")
def engine(tmp_path_factory, encoder):
    engine = LocalEngine(tmp_path_factory.mktemp("search") / "main", encoder.dims)
    documents = [Document(id_, text, meta={"year": 2000 + i}) for i, (id_, text) in enumerate(TEXTS.items())]
    engine.store(documents)
    vectors = encoder.encode_texts(list(TEXTS.values()))
    for document, vector in zip(documents, vectors, strict=True):
        text = document.text
        keyphrase = Keyphrase(phrase_id(text), text, 1.0, (Place("text", 0, len(text)),))
        topic = TopicWeight("t-000001" if "solar" in text else "t-000002", 1.0)
        mined = MinedDocument(
            document.id, vector, (keyphrase,), (topic,), (), encoder.bundle, "run", document.content_hash
        )
        engine.write_mined([mined])
    engine.write_topics(
        [Topic("t-000001", "Sun", ("solar",), 2, vectors[0]), Topic("t-000002", "Other", (), 2, vectors[3])]
    )
    yield engine
    engine.close()


def ids(results):
    return [hit.stored.document.id for hit in results.hits]


def test_parse_words_reads_words_phrases_prefixes_and_exclusions():
    assert parse_words('solar "tax law" farm* -sea').clauses == (
        Clause("solar"),
        Clause("tax law", "phrase"),
        Clause("farm", "prefix"),
        Clause("sea", "word", negated=True),
    )


def test_stop_words_are_not_required_unless_there_is_nothing_else():
    assert [c.text for c in parse_words("the law of tax").clauses] == ["law", "tax"]
    assert [c.text for c in parse_words("to be").clauses] == ["to", "be"]


def test_an_open_quote_is_closed_at_the_end():
    assert parse_words('"tax law').clauses == (Clause("tax law", "phrase"),)


@given(st.text(max_size=40))
def test_any_text_is_a_query(text):
    assert all(any(c.isalnum() for c in clause.text) for clause in parse_words(text).clauses)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("year>=2015", Filter("year", ">=", "2015")),
        ("label=cs.RO", Filter("label", "=", "cs.RO")),
        ("price < 1.5", Filter("price", "<", "1.5")),
        ("open=true", Filter("open", "=", True)),
        ('name="a = b"', Filter("name", "=", "a = b")),
        ("date!=2014-05-12", Filter("date", "!=", "2014-05-12")),
    ],
)
def test_parse_filter(text, expected):
    assert parse_filter(text) == expected


@pytest.mark.parametrize("text", ["", "year", "year=", "=3", "a b=3"])
def test_parse_filter_refuses_what_is_no_condition(text):
    with pytest.raises(QueryError, match="not FIELD, operator, value"):
        parse_filter(text)


def test_words_must_all_match(engine):
    assert ids(search(engine, None, "solar wind", mode="words")) == ["d1"]


def test_when_no_document_has_all_words_any_is_enough_and_the_answer_says_so(engine):
    found = search(engine, None, "solar tax", mode="words")
    assert found.relaxed
    assert set(ids(found)) == {"d1", "d3", "d4"}
    assert "any of the words" in found.facets_over


def test_facets_count_all_matches_and_carry_labels(engine):
    found = search(engine, None, "farm*", mode="words", limit=1)
    assert found.total == 2
    assert len(found.hits) == 1
    assert found.facets[0].values == (("t-000002", "Other", 2),)


def test_highlights_mark_the_words(engine):
    hit = search(engine, None, "tax", mode="words").hits[0]
    fragment = hit.fragments[0]
    assert [fragment.text[a:b] for a, b in fragment.marks] == ["tax"]


def test_meaning_ranks_by_vectors(engine, encoder):
    assert ids(search(engine, encoder, "solar panels on the roof", mode="meaning"))[0] == "d3"


def test_both_is_fused_by_reciprocal_rank(engine, encoder):
    found = search(engine, encoder, "solar wind", mode="both")
    first = found.hits[0]
    assert first.stored.document.id == "d1"
    assert first.score == pytest.approx(sum(1 / (60 + rank) for rank in first.found_by.values()))
    assert set(first.found_by) == {"words", "meaning"}


def test_an_excluded_word_is_excluded_from_both_rankings(engine, encoder):
    assert "d2" not in ids(search(engine, encoder, "wind -farm", mode="both"))


def test_filters_hold_in_every_mode(engine, encoder):
    for mode in ("words", "meaning", "both"):
        found = search(engine, encoder, "solar", mode=mode, filters=[parse_filter("year>=2002")])
        assert ids(found)[0] == "d3"
        assert "d1" not in ids(found)


def test_pages_do_not_overlap_and_lose_nothing(engine, encoder):
    pages = [ids(search(engine, encoder, "wind solar tax", limit=2, offset=at)) for at in (0, 2)]
    assert sorted(pages[0] + pages[1]) == sorted(TEXTS)


def test_an_empty_query_lists_everything(engine):
    found = search(engine, None, "", mode="words")
    assert ids(found) == sorted(TEXTS)
    assert found.total == 4


@pytest.mark.parametrize(
    "query", ["***", '""', "-", "AND OR NOT", "a:b(c)", "\x00", "🙂", "NEAR(", "'; drop table"]
)
def test_malformed_queries_get_an_answer(engine, encoder, query):
    for mode in ("words", "meaning", "both"):
        search(engine, encoder, query, mode=mode)


@pytest.mark.parametrize("page", [{"limit": 0}, {"offset": -1}, {"limit": 10, "offset": 9_999}])
def test_impossible_pages_are_refused(engine, page):
    with pytest.raises(QueryError, match="10,000"):
        search(engine, None, "solar", mode="words", **page)


def test_an_unknown_mode_is_refused(engine):
    with pytest.raises(QueryError, match="words, meaning, both"):
        search(engine, None, "solar", mode="fuzzy")
