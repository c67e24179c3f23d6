"""indexer search, phrases and show, on the indexed home."""

from __future__ import annotations

import csv
import json
import re

import pytest

from indexer.export import serialize


def found(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_search_shows_hits_and_facets(read):
    shown = read("search", "robot arm", "--mode", "words", "--limit", "1", "--facet", "subject").stdout
    lines = shown.splitlines()
    assert lines[0].startswith(" 1. On ")
    assert "[[robot]] [[arm]]" in shown
    assert any(line.endswith("documents with all of the words") for line in lines)
    (hit,) = found(read("search", "robot", "arm", "--mode", "words", "--limit", "1", "--json"))["hits"]
    assert any("; ".join(k["text"] for k in hit["keyphrases"][:3]) in line for line in lines)
    at = lines.index("Counts over all documents with all of the words:")
    assert lines[at + 2] == "subject"
    assert lines[at + 3].split()[1:] == ["robots"]


def test_search_as_json(read):
    answer = found(read("search", "robot", "arm", "--json", "--limit", "2"))
    assert set(answer) == {
        "query", "mode", "total", "listed", "has_more", "relaxed", "diverse", "corrections",
        "synonyms", "close", "also", "page", "limit", "hits", "facets", "facets_over",
    }  # fmt: skip
    first = answer["hits"][0]
    assert set(first) == {
        "rank", "score", "id", "title", "source", "meta", "topics", "keyphrases", "duplicate_of", "fragments",
        "passage", "found_by",
    }  # fmt: skip
    assert first["rank"] == 1
    assert first["meta"]["subject"] == "robots"
    assert set(first["topics"][0]) == {"id", "label", "weight"}
    assert set(first["keyphrases"][0]) == {"text", "score", "present", "places"}
    fragment = first["fragments"][0]
    assert {fragment["text"][start:end].lower() for start, end in fragment["marks"]} <= {"robot", "arm"}
    assert set(answer["facets"]) == {"topic", "keyphrase"}
    assert set(answer["facets"]["topic"][0]) == {"value", "label", "documents"}
    assert answer["facets_over"] == "all documents with all of the words"


def test_words_of_the_query_need_no_quotes(read):
    one = found(read("search", "robot arm", "--json"))
    several = found(read("search", "robot", "arm", "--json"))
    assert one == several


def test_all_lists_what_is_found_by_words_under_the_names_of_a_page_of_hits(read):
    paged = found(read("search", "robot", "--mode", "words", "--limit", "21", "--json"))["hits"]
    answer = found(read("search", "robot", "--all", "--json"))
    listed = answer["hits"]
    assert answer.keys() == {"query", "hits"}
    assert answer["query"] == "robot"
    assert [(hit["id"], hit["rank"]) for hit in listed] == [(hit["id"], hit["rank"]) for hit in paged]
    assert len(found(read("search", "robot nowhere", "--all", "--json"))["hits"]) == len(
        listed
    )  # any of the words
    assert len(found(read("search", "--all", "--json", "--where", "year<2005"))["hits"]) == 5
    assert found(read("search", "nowhere", "--all", "--json"))["hits"] == []
    assert read("search", "robot", "--all").exit_code == 2
    assert read("search", "robot", "--all", "--json", "--mode", "meaning").exit_code == 2


def test_pages_follow_each_other(read):
    whole = found(read("search", "robot", "--limit", "4", "--json"))["hits"]
    second = found(read("search", "robot", "--limit", "2", "--page", "2", "--json"))["hits"]
    assert [hit["id"] for hit in second] == [hit["id"] for hit in whole[2:]]
    assert [hit["rank"] for hit in second] == [3, 4]


def test_conditions_hold_together_and_topics_are_alternatives(read):
    both = found(read("search", "--where", "year>=2018", "--where", "subject=robots", "--json"))
    assert {hit["id"] for hit in both["hits"]} == {"d18"}
    topics = [topic["label"] for topic in found(read("topics", "--json"))]
    args = [arg for label in topics for arg in ("--topic", label)]
    assert found(read("search", *args, "--json"))["total"] == 21


def test_a_keyphrase_narrows(read):
    phrase = found(read("search", "robot", "--json"))["hits"][0]["keyphrases"][0]["text"]
    hits = found(read("search", "--keyphrase", phrase, "--json"))["hits"]
    assert hits
    assert all(phrase in {k["text"] for k in hit["keyphrases"]} for hit in hits)


def test_a_search_without_words_lists_documents(read):
    shown = read("search", "--where", "subject=oceans", "--limit", "1").stdout
    assert "\n7 documents\n" in shown
    assert "Counts over all documents under the filters:" in shown


def test_a_search_that_finds_nothing(read):
    result = read("search", "xyzzy", "--mode", "words")
    assert (result.exit_code, result.stdout) == (0, "no document with the word\n")


def test_when_no_document_has_all_words_it_is_said(read):
    result = read("search", "robot xyzzy", "--mode", "words")
    assert "with any of the words; none has all of them" in result.stdout
    assert found(read("search", "robot xyzzy", "--json"))["relaxed"] is True


def test_words_are_searched_with_synonyms_of_ones_own_and_the_output_says_so(read, monkeypatch, tmp_path):
    file = tmp_path / "synonyms.txt"
    file.write_text("manipulator, robot arm\nautomaton => robot\n", "utf-8")
    monkeypatch.setenv("INDEXER_SYNONYMS", str(file))
    shown = read("search", "manipulator", "--mode", "words").stdout
    assert shown.startswith("'manipulator' was searched with its synonyms 'robot arm'.")
    assert "[[robot arm]]" in shown
    arms = found(read("search", '"robot arm"', "--mode", "words", "--json"))
    either = found(read("search", "manipulator", "--mode", "words", "--json"))
    assert (either["total"], either["synonyms"]) == (
        arms["total"],
        {"manipulator": ["manipulator", "robot arm"]},
    )
    assert read("search", "automaton").stdout.startswith("'automaton' was searched as 'robot'.")
    assert found(read("search", "manipulator", "--verbatim", "--mode", "words", "--json"))["total"] == 0
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("lonely\n", "utf-8")
    monkeypatch.setenv("INDEXER_SYNONYMS", str(wrong))
    result = read("search", "robot")
    assert (result.exit_code, result.stderr.startswith(f"Error: {wrong}, line 1: 'lonely'")) == (2, True)


def test_other_words_for_the_query_are_named(read, monkeypatch):
    monkeypatch.setattr("indexer.search.related.NEAR", 0.4)  # the encoder of these tests knows letters only
    assert "\nalso: mobile robot\n" in read("search", "robot arm").stdout
    assert found(read("search", "robot arm", "--json"))["also"] == ["mobile robot"]
    assert "also:" not in read("search", "robot arm", "--mode", "words").stdout


def test_a_diverse_list_says_that_it_is_one(read):
    assert "; those that say something else come first" in read("search", "robot arm", "--diverse").stdout
    assert found(read("search", "robot arm", "--diverse", "--json"))["diverse"] is True
    assert found(read("search", "--diverse", "--json"))["diverse"] is False  # nothing ranks a list of all


def test_or_between_the_words_and_what_cannot_be_read(read):
    result = read("search", "robot OR xyzzy", "--mode", "words")
    assert "with any of the words\n" in result.stdout
    for query, said in (("robot arm OR xyzzy", "OR stands between"), ("!!!", "has no letter or digit")):
        result = read("search", query)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in result.stderr


def test_why_names_ranks_topics_and_phrases(read):
    shown = read("search", "robot arm", "--why", "--limit", "1").stdout
    assert re.search(
        r"found by  words #1, meaning #1; score 0\.[3-9]", shown
    )  # .35 for the first by words, and more
    assert "phrases   robot arm 1.00" in shown
    assert "100 %" in shown
    near = found(read("search", "robot arm", "--why", "--limit", "1", "--json"))["hits"][0]["near"]
    assert near[0]["phrase"].lower() == "robot arm"
    assert near[0]["similarity"] == pytest.approx(1, abs=0.01)


def test_why_of_a_word_search_needs_no_encoder(read, monkeypatch):
    def absent(*args, **kwargs):
        raise AssertionError("the encoder was loaded")

    monkeypatch.setattr("models.load.load_encoder", absent)
    shown = read("search", "robots", "--mode", "words", "--why", "--limit", "1").stdout
    assert "phrases   robot arm" in shown or "mobile robot" in shown


def test_an_unknown_topic_names_near_ones(read):
    label = found(read("topics", "--json"))[0]["label"]
    result = read("search", "x", "--topic", label[:-1])
    assert result.exit_code == 1
    assert f"There is no topic '{label[:-1]}'" in result.stderr
    assert label in result.stderr


# -- phrases ------------------------------------------------------------------------------------------------


def test_phrases_are_listed_by_similarity(read):
    rows = found(read("phrases", "ocean", "waves", "--limit", "3", "--json"))
    assert rows[0]["phrase"].lower() == "ocean waves"
    assert rows[0]["score"] == pytest.approx(1, abs=0.01)
    assert set(rows[0]) == {"phrase", "score", "documents", "topics", "surfaces", "id"}
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    head, first = read("phrases", "ocean waves", "--limit", "1").stdout.splitlines()
    assert head.split() == ["score", "phrase", "documents", "topics"]
    assert "ocean waves" in first


def test_phrases_in_context_show_the_mention_in_its_sentence(read):
    args = ("phrases", "--in", "We look at [[sea ice]] here.", "--where", "year<2010", "--limit", "2")
    rows = found(read(*args, "--json"))
    assert rows[0]["phrase"] == "sea ice"
    assert rows[0]["document"]["title"].startswith("On ")
    shown = read(*args).stdout
    assert "[[sea ice]]" in shown
    assert rows[0]["document"]["id"] in shown


@pytest.mark.parametrize(
    "args", [(), ("a", "--in", "a [[b]]"), ("a", "--where", "year>1"), ("--in", "nothing is marked")]
)
def test_what_phrases_cannot_do(read, args):
    result = read("phrases", *args)
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize(
    ("sentence", "surface", "place"),
    [
        ("Cellular cell walls", "cell", (9, 13)),
        ("the heat pump", "heat  pump", (4, 13)),
        ("subcells", "cell", (3, 7)),
        ("nothing", "cell", None),
    ],
)
def test_where_a_phrase_stands_in_its_sentence(sentence, surface, place):
    assert serialize.marks(sentence, surface) == ([place] if place else [])


# -- show ---------------------------------------------------------------------------------------------------


def test_show_marks_the_keyphrases_in_title_and_text(read):
    shown = read("show", "d00").stdout
    title, _, rest = shown.partition("\n\n")
    assert "[[robot arm]]" in title
    assert "[[robot arm]]" in rest
    assert "topics" in rest
    assert "subject" in rest


def test_places_of_keyphrases_point_into_the_fields(read):
    document = found(read("show", "d00", "--json"))
    assert document["bundle"] == "hash@00000000+test"
    for keyphrase in document["keyphrases"]:
        assert keyphrase["present"]
        for place in keyphrase["places"]:
            there = document[place["field"]][place["start"] : place["end"]]
            assert there.lower() == keyphrase["text"].lower()


def test_show_of_an_unknown_id(read):
    result = read("show", "nope")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == "Error: There is no document 'nope' in collection 'main'."


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["bees", "--where", "yeer>=2020"], "no field 'yeer'"),
        (["bees", "--facet", "autor"], "no field 'autor'"),
        (["-bees"], "Write -- before"),
    ],
)
def test_what_would_silently_find_nothing_is_refused(read, args, message):
    result = read("search", *args)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_file_has_what_the_mode_lists(read, tmp_path):
    """Three phrases in turn: "tides" stands in d01, d07, d13 and d19."""
    by = {}
    for mode in ("words", "both"):
        assert read("search", "tides", "--mode", mode, "--output", "out.csv").exit_code == 0
        with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as stream:
            by[mode] = list(csv.DictReader(stream))
    assert {row["id"] for row in by["words"]} == {"d01", "d07", "d13", "d19"}
    assert all(float(row["score"]) > 0 for row in by["words"])
    assert len(by["both"]) == 21
    assert {row["id"] for row in by["both"] if row["found_by"] == "both"} == {"d01", "d07", "d13", "d19"}


def test_a_search_in_an_empty_collection_says_so(run, home, tmp_path):
    (tmp_path / "empty").mkdir()
    run("index", "empty", home=home)
    expected = f"The collection 'main' is empty. Fill it: indexer --home {home} index SOURCE\n"
    assert run("search", "robot", "--mode", "words", home=home).stdout == expected
    assert run("search", home=home).stdout == expected


def test_a_condition_with_another_word_than_a_date_is_named(run, home, tmp_path, corpus, write):
    records = [{**record, "date": f"20{i:02d}-05-12"} for i, record in enumerate(corpus(6))]
    run("index", write(tmp_path / "dated.jsonl", records), "--topics", "2", home=home)
    result = run("search", "robot", "--where", "date>=abc", home=home)
    assert result.exit_code == 2
    assert "'abc' is not a date." in result.stderr


def test_all_lists_all(read):
    for option in ("--limit", "--page"):
        result = read("search", "ice", "--all", "--json", option, "2")
        assert (result.exit_code, "leave out --limit and --page" in result.stderr) == (2, True)


def test_a_facet_says_that_it_has_more_values(read):
    short = read("search", "--facet", "subject", "--facet-size", "2", "--limit", "1").stdout
    assert "subject  the 2 most frequent; more: --facet-size" in short
    assert "more:" not in read("search", "--facet", "subject", "--facet-size", "3", "--limit", "1").stdout
    facets = found(read("search", "--facet", "subject", "--facet-size", "2", "--json"))["facets"]
    assert len(facets["subject"]) == 2


def test_duplicates_are_not_hidden_and_asked_for_at_once(read):
    result = read("search", "--hide-duplicates", "--where", "duplicate_of=d01")
    assert (result.exit_code, "Leave out one of both" in result.stderr) == (2, True)
