"""The page of the search, by HTML alone."""

from __future__ import annotations

import json
import re
import threading
from urllib.parse import quote, urlencode

import pytest
from small_parts import WideHashEncoder
from web_client import ended, indexed, serving
from web_pages import one, seen, text

from indexer.errors import BundleMissing


def test_search_shows_hits_with_marks_and_what_to_narrow_by(web):
    tree = seen(web, "/?q=sea+ice&mode=words")
    titles = [text(found) for found in tree.xpath("//li[@class='hit']/h3")]
    assert titles
    assert {text(mark).lower() for mark in tree.xpath("//li[@class='hit']//mark")} == {"sea", "ice"}
    legends = [text(found) for found in tree.xpath("//fieldset[@class='facet']/legend")]
    assert legends == ["Topics", "Keyphrases", "Subject", "Tags"]
    assert one(tree, "//input[@name='q']").get("value") == "sea ice"
    assert one(tree, "//input[@name='mode'][@checked]").get("value") == "words"


def test_a_text_that_breaks_off_says_so_at_either_end(client):
    words = " ".join(["before"] * 60) + " glacier " + " ".join(["behind"] * 60)
    task = client.post("/api/documents", json={"id": "long", "title": "Long", "text": words}).json()
    assert ended(client, task)["state"] == "done"
    shown = text(one(seen(client, "/?q=glacier&mode=words"), "//p[@class='text']"))
    assert re.fullmatch(r"… before .*glacier.* behind …", shown)
    ends = text(seen(client, "/?q=controller&mode=words").xpath("//p[@class='text']")[0])
    assert ends.endswith("are given.")  # a text that is shown to its end says nothing


@pytest.mark.slow
def test_a_condition_is_suggested_on_the_field_with_the_date(web, tmp_path):
    suggested = one(seen(web, "/"), "//input[@id='where']").get("placeholder")
    assert suggested == "date>=2020"  # the newest year
    assert one(seen(web, f"/?where={quote(suggested)}"), "//h2[@id='said']") is not None
    undated = [{"id": f"u{i}", "text": f"Sea ice {i} melts."} for i in range(3)]
    with serving(indexed(tmp_path / "home", undated, topics=2)) as client:
        assert one(seen(client, "/"), "//input[@id='where']").get("placeholder") is None


def test_several_choices_at_once_stay_in_the_address(web):
    tree = seen(web, "/?f.subject=oceans&f.subject=markets")
    assert text(one(tree, "//h2[@id='said']")) == "14 documents"
    chosen = tree.xpath("//input[@name='f.subject'][@checked]/@value")
    assert sorted(chosen) == ["markets", "oceans"]
    assert tree.xpath("//input[@name='f.subject']/@value") == ["markets", "oceans", "robots"]
    assert "f.subject=oceans" in one(tree, "//a[@rel='next']").get("href")
    without = one(tree, "//a[contains(@class, 'chosen')][contains(., 'oceans')]").get("href")
    assert text(one(seen(web, without), "//h2[@id='said']")) == "7 documents"


def test_a_choice_that_is_left_by_nothing_can_be_taken_away(web):
    tree = seen(web, "/?q=volatility&mode=words&f.subject=oceans")
    assert text(one(tree, "//h2[@id='said']")) == "No document with the word"
    assert tree.xpath("//input[@name='f.subject'][@checked]/@value") == ["oceans"]


def test_dates_narrow_and_are_drawn(web):
    tree = seen(web, "/?from=2003&to=2005")
    assert text(one(tree, "//h2[@id='said']")) == "3 documents"
    bars = tree.xpath("//svg[contains(@class, 'bars')]/a")
    assert len(bars) == 21
    assert bars[0].get("aria-label") == "2000: 1"
    assert text(one(seen(web, bars[4].get("href")), "//h2[@id='said']")) == "1 document"
    wrong = seen(web, "/?from=soon&q=ice&mode=words", 400)
    assert "'soon' is not a date" in text(one(wrong, "//p[@id='dates-problem']"))
    assert one(wrong, "//input[@name='from']").get("aria-describedby") == "dates-problem dates-how"
    assert one(wrong, "//input[@name='from']").get("value") == "soon"


def test_dates_in_the_wrong_order_are_told_beside_their_fields(web):
    tree = seen(web, "/?from=2012&to=2010", 400)
    told = text(one(tree, "//p[@id='dates-problem']"))
    assert told == "From 2012 to 2010 runs backwards. The earlier date comes first."
    assert text(one(tree, "//h2[@id='said']")) == "21 documents"


def test_the_chosen_dates_are_marked(web):
    tree = seen(web, "/?from=2003-06&to=2005")
    assert [bar.get("aria-label")[:4] for bar in tree.xpath("//svg/a[@aria-current]")] == [
        "2003",
        "2004",
        "2005",
    ]
    assert len(seen(web, "/?to=2001-01-01").xpath("//svg/a[@aria-current]")) == 2
    assert seen(web, "/").xpath("//svg/a[@aria-current]") == []


def test_a_keyphrase_of_a_hit_narrows_the_search(web):
    tree = seen(web, "/?q=results&mode=words&f.subject=oceans&from=2004&page=1")
    address = tree.xpath("//p[@class='phrases']/a/@href")[0]
    narrowed = seen(web, address)
    assert len(narrowed.xpath("//a[@class='chip chosen']")) == 3  # keyphrase, subject, dates
    assert one(narrowed, "//input[@name='q']").get("value") == "results"
    assert "page=" not in address


def test_a_facet_shows_more_values_when_asked(web):
    tree = seen(web, "/?q=results&mode=words")
    assert len(tree.xpath("//input[@name='keyphrase']")) == 8
    more = one(tree, "//a[starts-with(., 'More')][contains(., 'Keyphrases')]").get("href")
    expanded = seen(web, more)
    values = expanded.xpath("//input[@name='keyphrase']/@value")
    assert len(values) > 8
    assert expanded.xpath("//input[@type='hidden'][@name='more']/@value") == ["keyphrase"]
    assert len(expanded.xpath("//input[@name='f.tags']")) == 4
    last = seen(web, f"/?q=results&mode=words&keyphrase={values[-1].replace(' ', '+')}")
    rows = last.xpath("//input[@name='keyphrase']")
    assert [row.get("value") for row in rows if row.get("checked") is not None] == [values[-1]]
    assert len(rows) == 9  # the eight most frequent, and the chosen one
    fewer = one(expanded, "//a[starts-with(., 'Fewer')]").get("href")
    assert len(seen(web, fewer).xpath("//input[@name='keyphrase']")) == 8


def test_pages_and_numbers_say_what_they_count(web):
    tree = seen(web, "/?q=tides&page=2")
    assert text(one(tree, "//nav[@class='pages']/span[contains(., 'of')]")) == "11–20 of 21"
    assert text(one(tree, "//h2[@id='said']")) == "4 documents with the word; 17 more near in meaning"
    counted = one(tree, "//p[contains(@class, 'counted')]")
    assert text(counted) == "The numbers count all documents with all of the words."
    nothing = seen(web, "/?q=nowhere")
    assert (
        text(one(nothing, "//h2[@id='said']"))
        == "No document with the word, and none is close in meaning; the 21 documents nearest in meaning"
    )
    assert text(one(nothing, "//p[contains(@class, 'counted')]")) == "The numbers count all documents."


def test_what_a_choice_brings_in_is_said(web):
    """Four of the seven on oceans have the word; the others come in by meaning, whether they did before or not."""
    said = text(one(seen(web, "/?q=tides&f.subject=oceans"), "//h2[@id='said']"))
    assert said == "4 documents with the word; of the others in “subject: oceans”, the 3 nearest in meaning"
    said = text(one(seen(web, "/?q=tides&f.subject=oceans&to=2015"), "//h2[@id='said']"))
    assert "; of the others under the filters, the " in said


def test_a_condition_on_any_field(web):
    tree = seen(web, "/?where=date%3E%3D2019")
    assert text(one(tree, "//h2[@id='said']")) == "2 documents"
    assert tree.xpath("//input[@type='hidden'][@name='where']/@value") == ["date>=2019"]


@pytest.mark.parametrize(
    ("condition", "span", "ids"),
    [
        ("date<=2002", "to=2002", ["d00", "d01", "d02"]),
        ("date>2018", "from=2019", ["d19", "d20"]),
        ("date=2005", "from=2005&to=2005", ["d05"]),
        ("date<=2001-02", "to=2001-02", ["d00"]),
    ],
)
def test_a_condition_on_dates_finds_what_from_and_to_find(web, condition, span, ids):
    for asked in (urlencode({"where": condition}), span):
        tree = seen(web, f"/?{asked}")
        assert [text(found) for found in tree.xpath("//li[@class='hit']//p[@class='from']/bdi")] == ids
    given = {"where": condition}
    assert [hit["id"] for hit in web.get("/api/search", params=given).json()["hits"]] == ids
    lines = web.get("/api/export/search/jsonl", params=given).text.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids
    (tags,) = web.get("/api/facets", params={**given, "field": "tags", "size": 1}).json()["facets"]["tags"]
    assert (tags["value"], tags["documents"]) == ("all", len(ids))


def test_a_condition_that_is_wrong_stays_in_its_field_with_all_the_rest(web):
    tree = seen(web, "/?q=ice&mode=words&f.subject=oceans&where=subjekt%3Dx&where=date%3E%3D2001", 400)
    assert "Did you mean subject?" in text(one(tree, "//p[@id='where-problem']"))
    field = one(tree, "//input[@id='where']")
    assert (field.get("value"), field.get("aria-invalid")) == ("subjekt=x", "true")
    assert tree.xpath("//input[@type='hidden'][@name='where']/@value") == ["date>=2001"]
    assert one(tree, "//input[@name='q']").get("value") == "ice"
    assert tree.xpath("//input[@name='f.subject'][@checked]/@value") == ["oceans"]
    assert "leaves out what cannot be understood" in text(one(tree, "//p[@role='alert']"))
    hits = seen(web, "/?q=ice&mode=words&f.subject=oceans&where=date%3E%3D2001").xpath("//li[@class='hit']")
    assert len(tree.xpath("//li[@class='hit']")) == len(hits) > 0


@pytest.mark.parametrize(
    ("query", "said"),
    [("!!!", "The query '!!!' has no letter or digit."), ("a b OR ice", "OR stands between")],
)
def test_a_query_that_cannot_be_understood_is_told_and_the_rest_stays(web, query, said):
    given = {"q": query, "f.subject": "oceans"}
    tree = seen(web, f"/?{urlencode(given)}", 400)
    assert f"leaves out what cannot be understood: {said}" in text(one(tree, "//p[@role='alert']"))
    assert one(tree, "//input[@name='q']").get("value") == query
    assert text(one(tree, "//h2[@id='said']")) == "7 documents"
    for path in ("search", "facets", "timeline", "export/search/csv"):
        answer = web.get(f"/api/{path}", params={"q": query})
        assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
        assert said in answer.json()["detail"]


def test_or_and_not_in_capitals(web):
    tree = seen(web, "/?q=salinity+OR+volatility+NOT+currents&mode=words")
    assert text(one(tree, "//h2[@id='said']")) == "4 documents with any of the words"
    counted = web.get("/api/facets", params={"q": "salinity OR volatility", "field": "subject"}).json()
    assert {v["value"] for v in counted["facets"]["subject"]} == {"oceans", "markets"}


def test_an_id_leads_to_its_document(web):
    tree = seen(web, "/?q=+d04+")
    link = one(tree, "//p[@class='note']/a")
    assert text(link) == "Document d04"
    assert text(one(seen(web, link.get("href")), "//h1")) == "On salinity and currents"
    assert seen(web, "/?q=d04+tides").xpath("//p[@class='note']") == []
    assert seen(web, "/?q=d99").xpath("//p[@class='note']") == []


@pytest.mark.slow
def test_until_the_encoder_is_there_documents_are_found_by_words(own, monkeypatch):
    there = threading.Event()
    encoder = WideHashEncoder()

    def slow(*args, **kwargs):
        there.wait(10)
        return encoder

    monkeypatch.setattr("models.load.load_encoder", slow)
    with serving(own) as client:
        tree = seen(client, "/?q=sea+ice")
        assert "by meaning comes in a moment" in text(one(tree, "//p[@data-waits]"))
        assert text(one(tree, "//h2[@id='said']")).endswith("with all of the words")
        assert one(tree, "//input[@name='mode'][@checked]").get("value") == "both"
        assert seen(client, "/?q=sea+ice&mode=words").xpath("//p[@data-waits]") == []
        assert client.get("/phrases?phrase=ice", headers={"Accept": "text/html"}).status_code == 503
        there.set()
        assert seen(client, "/?q=sea+ice").xpath("//p[@data-waits]") == []
        assert client.get("/phrases?phrase=ice").status_code == 200


def test_an_encoder_that_cannot_be_loaded_says_so(own, monkeypatch):
    def gone(*args, **kwargs):
        raise BundleMissing("There is no bundle 'minilm'.", hint="indexer models import")

    monkeypatch.setattr("models.load.load_encoder", gone)
    with serving(own) as client:
        assert "no bundle 'minilm'" in text(seen(client, "/?q=sea+ice", 500))
        seen(client, "/?q=sea+ice&mode=words")


def test_why_says_ranks_and_phrases(web):
    why = one(seen(web, "/?q=sea+ice&why=1"), "(//div[@class='why'])[1]")
    assert re.match(r"Number \d+ by words and number \d+ by meaning\.", text(why))
    assert "sea ice 1.00" in text(why)
    assert seen(web, "/?q=sea+ice").xpath("//div[@class='why']") == []


def test_pages_lead_on_and_back(web):
    first = seen(web, "/")
    assert first.xpath("//a[@rel='prev']") == []
    second = seen(web, one(first, "//a[@rel='next']").get("href"))
    third = seen(web, one(second, "//a[@rel='next']").get("href"))
    assert third.xpath("//a[@rel='next']") == []
    assert one(third, "//ol[@class='hits']").get("start") == "21"
    assert one(second, "//a[@rel='prev']").get("href") == "/"


@pytest.mark.parametrize("wrong", ["page=0", "page=many", "page=99999999999", "mode=guess", "f.=x", "topic="])
def test_what_nobody_typed_is_overlooked(web, wrong):
    seen(web, f"/?q=ice&{wrong}")


def test_a_topic_that_is_not_there_says_so(web):
    assert "no topic 'nothing'" in text(seen(web, "/?topic=nothing", 404))
