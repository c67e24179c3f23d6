import pytest
from hash_encoder import HashEncoder
from hypothesis import given
from hypothesis import strategies as st

from indexer.engines.base import Clause, Filter
from indexer.engines.local import LocalEngine
from indexer.errors import QueryError
from indexer.export import formatting
from indexer.records import Document, Keyphrase, MinedDocument, Place, Topic, TopicWeight, phrase_id
from indexer.search.query import parse_filter, parse_words
from indexer.search.search import scan, search

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


def test_terms_with_a_bar_between_them_are_alternatives():
    either = Clause("car", alternatives=(Clause("motor vehicle", "phrase"), Clause("truck", "prefix")))
    assert parse_words('car|"motor vehicle"|truck* tax').clauses == (either, Clause("tax"))
    assert parse_words('"motor vehicle"|car').clauses == (
        Clause("motor vehicle", "phrase", alternatives=(Clause("car"),)),
    )
    assert parse_words("+car|bus").clauses == (Clause("car", required=True, alternatives=(Clause("bus"),)),)
    assert parse_words("tax -car|bus").clauses[1] == Clause(
        "car", negated=True, alternatives=(Clause("bus"),)
    )
    assert parse_words("|car| | bus").clauses == (Clause("car"), Clause("bus"))
    assert parse_words("!!|car|--").clauses == (Clause("car"),)


def test_alternatives_count_as_one_word_of_many():
    read = parse_words("effects of solar|lunar wind")
    assert (read.require_all, [clause.text for clause in read.clauses]) == (
        False,
        ["solar", "effects", "wind"],
    )
    assert parse_words("of|the wind").clauses == (Clause("wind"),)


def test_stop_words_are_not_required_unless_there_is_nothing_else():
    assert [c.text for c in parse_words("the law of tax").clauses] == ["law", "tax"]
    assert [c.text for c in parse_words("to be").clauses] == ["to", "be"]


def parsed(query: str) -> tuple[bool, list[str], list[str]]:
    read = parse_words(query)
    return (
        read.require_all,
        [clause.text for clause in read.clauses if not clause.required],
        [clause.text for clause in read.clauses if clause.required],
    )


def test_of_four_words_or_more_none_is_required():
    assert parsed("effects of solar wind") == (False, ["effects", "solar", "wind"], [])
    assert parsed("solar wind storms") == (True, ["solar", "wind", "storms"], [])
    assert parsed("effects AND of solar wind")[0] is True
    assert parsed("What is information science?") == (False, ["information", "science"], [])
    assert parsed("who is who and why") == (False, ["who", "is", "who", "and", "why"], [])


def test_what_is_strict_stays_so_among_many_words():
    assert parsed("effects +solar wind on the earth") == (False, ["effects", "wind", "earth"], ["solar"])
    assert parsed('"solar wind" effects near the earth') == (False, ["effects", "earth"], ["solar wind"])
    read = parse_words("effects of wind on earth -solar")
    assert [clause.text for clause in read.clauses if clause.negated] == ["solar"]


def test_what_a_text_of_eight_words_quotes_is_not_required():
    text = 'I look for a book that is called "The Solar Wind" or "e-mail", by anyone'
    assert parsed(text) == (False, ["look", "book", "called", "Solar", "Wind", "mail"], [])


def test_words_of_many_are_taken_apart():
    assert parsed("the user's multi-targeted compiler designs")[1] == [
        "user", "multi", "targeted", "compiler", "designs",
    ]  # fmt: skip


def test_an_open_quote_is_closed_at_the_end():
    assert parse_words('"tax law').clauses == (Clause("tax law", "phrase"),)


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("wind NOT solar", "wind -solar"),
        ('NOT "tax law" farm', '-"tax law" farm'),
        ("wind AND NOT farm*", "wind -farm*"),
        ("wind AND solar", "wind solar"),
        ("wind NOT -solar", "wind -solar"),
        ('"NOT" "AND" wind', '"NOT" "AND" wind'),
        ("wind or solar", "wind solar"),  # small letters are words, and this one carries no meaning
        ("wind NOT", "wind NOT"),  # nothing to leave out
        ("wind OR", "wind"),
    ],
)
def test_and_and_not_in_capitals(query, same):
    assert parse_words(query) == parse_words(same)
    assert parse_words(same).require_all


@pytest.mark.parametrize(
    ("query", "wanted", "excluded"),
    [
        ("wind OR solar", ["wind", "solar"], []),
        ('wind OR "tax law" OR farm*', ["wind", "tax law", "farm"], []),
        ("wind OR solar NOT sea", ["wind", "solar"], ["sea"]),
        ("-sea wind OR solar", ["wind", "solar"], ["sea"]),
        ("(wind OR solar)", ["(wind", "solar)"], []),  # an engine finds the words in it
    ],
)
def test_or_between_all_words_makes_any_of_them_enough(query, wanted, excluded):
    read = parse_words(query)
    assert not read.require_all
    assert [clause.text for clause in read.clauses if not clause.negated] == wanted
    assert [clause.text for clause in read.clauses if clause.negated] == excluded


@pytest.mark.parametrize(
    "query",
    ["wind power OR solar", "wind OR solar power", "(wind OR sun) AND power", "a OR b c OR d", "wind OR NOT sea",
     "wind -sea OR solar", "wind OR OR solar"],
)  # fmt: skip
def test_or_among_other_words_is_refused(query):
    with pytest.raises(QueryError, match=r"OR stands between single words and \"phrases\" only") as raised:
        parse_words(query)
    assert "quotes" in raised.value.hint


@pytest.mark.parametrize("query", ["!!!", '""', "-", "***", "\x00", "🙂", "' ;"])
def test_a_query_without_letters_or_digits_is_refused(engine, encoder, query):
    for mode in ("words", "meaning", "both"):
        for ask in (search, scan):
            with pytest.raises(QueryError, match="has no letter or digit"):
                list(ask(engine, query=query, encoder=encoder, mode=mode))


@given(st.text(max_size=40))
def test_any_text_is_a_query_or_refused(text):
    try:
        clauses = parse_words(text).clauses
    except QueryError:
        assert "OR" in text or not any(c.isalnum() for c in text)
    else:
        assert all(any(c.isalnum() for c in clause.text) for clause in clauses)


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


def test_or_finds_documents_with_any_of_the_words(engine, encoder):
    found = search(engine, None, "tax OR wind NOT sea", mode="words")
    assert set(ids(found)) == {"d1", "d4"}
    assert not found.relaxed
    assert found.facets_over == "all documents with any of the words"
    assert search(engine, None, "nowhere OR nothing", mode="words").relaxed is False
    words, typed = (
        search(engine, encoder, q, mode="meaning") for q in ("tax wind -sea", "tax OR wind NOT sea")
    )
    assert [(hit.score, hit.rank) for hit in words.hits] == [(hit.score, hit.rank) for hit in typed.hits]


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


def test_both_is_a_mean_of_the_cosine_and_the_score_by_words(engine, encoder):
    found = search(engine, encoder, "solar wind", mode="both")
    first = found.hits[0]
    assert first.stored.document.id == "d1"
    near = {
        hit.stored.document.id: hit.score
        for hit in search(engine, encoder, "solar wind", mode="meaning").hits
    }
    assert first.found_by["words"] == 1
    assert first.score == pytest.approx(0.65 * near["d1"] + 0.35)
    assert set(first.found_by) == {"words", "meaning"}


def test_an_excluded_word_is_excluded_from_both_rankings(engine, encoder):
    assert "d2" not in ids(search(engine, encoder, "wind -farm", mode="both"))


def many(tmp_path, encoder, texts):
    """An engine with these texts, all mined."""
    engine = LocalEngine(tmp_path / "many", encoder.dims)
    documents = [Document(f"d{number:04}", text) for number, text in enumerate(texts)]
    engine.store(documents)
    vectors = encoder.encode_texts(texts)
    rows = [
        MinedDocument(one.id, vector, (), (), (), encoder.bundle, "run", one.content_hash)
        for one, vector in zip(documents, vectors, strict=True)
    ]
    assert engine.write_mined(rows) == []
    return engine


@pytest.fixture(scope="module")
def crowd(tmp_path_factory, encoder):
    """600 texts: 400 with "wind" of which 200 have "solar", 200 with "tides"."""
    texts = [
        f"{'solar wind ' * 3}number{n}"
        if n % 3 == 0
        else f"wind number{n}"
        if n % 3 == 1
        else f"tides number{n}"
        for n in range(600)
    ]
    engine = many(tmp_path_factory.mktemp("crowd"), encoder, texts)
    yield engine
    engine.close()


def paged(engine, encoder, query, size, **options):
    """All pages one behind the other."""
    listed, more = [], True
    while more:
        page = search(engine, encoder, query, limit=size, offset=len(listed), facets=(), **options)
        assert len(page.hits) == min(size, page.listed - len(listed))
        listed += ids(page)
        more = page.has_more
    assert len(listed) == page.listed
    return listed


@pytest.mark.parametrize(
    ("query", "mode", "number"),
    [
        ("wind -solar", "words", 200),
        ("wind -solar", "meaning", 400),  # everything without "solar"
        ("tides -solar", "both", 200),  # the 100 nearest are tides as well
        ("solar wind", "both", 200),
        ("tide", "meaning", 600),
        ("solar -num*", "meaning", 0),
        ("-solar", "both", 400),
        ("-solar", "meaning", 400),
        ("nowhere", "both", 200),  # nothing but the nearest
        ("nowhere -wind", "both", 200),
    ],
)
def test_a_list_is_the_same_whatever_the_size_of_its_pages(crowd, encoder, query, mode, number):
    listed = paged(crowd, encoder, query, 10, mode=mode)
    assert len(listed) == len(set(listed)) == number
    for size in (37, 100, 600):
        assert paged(crowd, encoder, query, size, mode=mode) == listed
    assert [hit.stored.document.id for hit in scan(crowd, query, mode=mode, encoder=encoder)] == listed


def test_beside_words_the_two_hundred_nearest_are_listed(crowd, encoder):
    """200 have "tides"; the 200 nearest to a query of "wind" and "tides" may have either."""
    found = search(crowd, encoder, '"tides number2" wind number4', mode="both", limit=100, facets=())
    assert found.relaxed
    near = search(crowd, encoder, '"tides number2" wind number4', mode="meaning", limit=200)
    ranks = {hit.stored.document.id: hit.rank for hit in near.hits}
    assert {hit.stored.document.id: hit.found_by.get("meaning") for hit in found.hits} == {
        id_: ranks.get(id_) for id_ in ids(found)
    }


def test_a_scan_tells_by_what_each_document_was_found(crowd, encoder, monkeypatch):
    monkeypatch.setattr(
        "indexer.search.search.DEEPEST", 150
    )  # what comes later is read from the scan by words
    hits = list(scan(crowd, "solar wind", mode="both", encoder=encoder))
    assert len(hits) == 200
    assert [hit.rank for hit in hits] == list(range(1, 201))
    assert sum("meaning" in hit.found_by for hit in hits) == 200
    monkeypatch.setattr("indexer.search.search.NEAREST", 30)
    assert len(list(scan(crowd, "solar", mode="meaning", encoder=encoder))) == 30
    assert all(hit.found_by == {} for hit in scan(crowd, "", mode="both", encoder=encoder))


def test_where_no_document_has_the_words_everything_is_counted(crowd, engine, encoder):
    found = search(engine, encoder, "nowhere", mode="both")
    assert (found.total, found.listed, len(found.hits)) == (0, 4, 4)
    assert found.facets[0].values == (("t-000001", "Sun", 2), ("t-000002", "Other", 2))
    assert found.facets_over == "all documents"
    found = search(engine, encoder, "nowhere -farm*", mode="both")
    assert found.facets[0].values == (("t-000001", "Sun", 2),)
    assert search(engine, encoder, "nowhere", mode="words").facets[0].values == ()


@pytest.mark.parametrize(
    ("query", "mode", "said"),
    [
        ("", "both", "600 documents"),
        ("solar", "words", "200 documents with the word"),
        ("sol*", "words", "200 documents with a word that begins so"),
        ('"solar wind"', "words", "200 documents with the phrase"),
        ("solar wind", "words", "200 documents with all of the words"),
        ("solar wind -number3", "words", "199 documents with all of the words"),
        ("solar tides", "words", "400 documents with any of the words; none has all of them"),
        ("solar OR tides", "words", "400 documents with any of the words"),
        ("nowhere OR number7", "both", "1 document with any of the words; 199 more near in meaning"),
        ("nowhere OR nothing", "words", "no document with any of the words"),
        ("-solar", "both", "400 documents without the word"),
        ("-solar -tides", "meaning", "200 documents without the words"),
        ("wind", "meaning", "the nearest of 600 documents"),
        ("wind -solar", "meaning", "the nearest of 400 documents without the word"),
        ("number7", "both", "1 document with the word; 199 more near in meaning"),
        ("nowhere", "words", "no document with the word"),
        ("nowhere else", "both", "no document with any of the words; the 200 documents nearest in meaning"),
    ],
)
def test_what_was_found_is_said_in_words(crowd, encoder, query, mode, said):
    assert formatting.found(search(crowd, encoder, query, mode=mode, facets=())) == said


def test_under_filters_it_is_said_of_which_the_nearest_are(engine, encoder):
    """Of d2, d3 and d4 one has "tax"; the nearest are those of the other two, and not of all."""
    later = [parse_filter("year>=2001")]
    found = search(engine, encoder, "tax", filters=later)
    assert (
        formatting.found(found)
        == "1 document with the word; of the others under the filters, the 2 nearest in meaning"
    )
    assert formatting.found(found, "in x").endswith("; of the others in x, the 2 nearest in meaning")
    words = search(engine, encoder, "tax", mode="words", filters=later)
    assert formatting.found(words) == "1 document with the word"


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


@pytest.mark.parametrize("query", ["AND OR NOT", "AND", "OR", "NOT NOT", "a:b(c)", "NEAR(", "'; drop table"])
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


def test_nothing_close_is_said_where_only_nearness_decides(engine, encoder):
    far = {"mode": "both", "facets": (), "chance": lambda: 1.1}
    found = search(engine, encoder, "nowhere", **far)
    assert (found.close, len(found.hits)) == (False, 4)
    said = "no document with the word, and none is close in meaning; the 4 documents nearest in meaning"
    assert formatting.found(found) == said
    found = search(engine, encoder, "wind", **{**far, "mode": "meaning"})
    assert formatting.found(found) == "nothing is close in meaning; the nearest of 4 documents"
    assert search(engine, encoder, "nowhere", **{**far, "chance": lambda: -0.9}).close
    assert search(engine, encoder, "wind", **far).close  # a document has the word
    assert search(engine, encoder, "wind", **{**far, "mode": "words"}).close
