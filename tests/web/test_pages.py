"""What a person sees: every view, by HTML alone, without scripts."""

from __future__ import annotations

import re
import shlex
import threading
from urllib.parse import parse_qs, urlsplit

import pytest
from lxml import html
from small_parts import WideHashEncoder
from web_client import ended, serving

from indexer.errors import BundleMissing
from indexer.web.report import report

ANY = ("/", "/topics", "/phrases", "/phrases?phrase=sea+ice", "/document?id=d04", "/operations", "/api")


def seen(web, path, status=200):
    """A page, as a tree."""
    answer = web.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return html.fromstring(answer.text)


HTML = {"Accept": "text/html"}


def text(found):
    return " ".join(found.text_content().split())


def cells(row):
    return [text(cell) for cell in row.xpath("./th | ./td")]


def one(tree, path):
    (found,) = tree.xpath(path)
    return found


def send(web, tree, action, **values):
    """Fill in a form of a page, and send it."""
    form = one(tree, f"//form[@action='{action}']")
    given = {field.get("name"): field.get("value", "") for field in form.xpath(".//input[@name]")}
    return web.post(action, data={**given, **values}, headers={"Accept": "text/html"})


@pytest.mark.parametrize("path", ANY)
def test_every_page_has_a_title_landmarks_and_one_heading(web, path):
    tree = seen(web, path)
    assert tree.xpath("//html/@lang") == ["en"]
    assert text(one(tree, "/html/head/title")).endswith("· main")
    assert [len(tree.xpath(f"//{name}")) for name in ("main", "header[@class='top']", "footer", "h1")] == [
        1
    ] * 4
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))
    for field in tree.xpath("//input[not(@type='hidden')]"):
        labelled = field.xpath("ancestor::label") or tree.xpath(f"//label[@for='{field.get('id')}']")
        assert labelled, html.tostring(field)


@pytest.mark.parametrize("path", ANY)
def test_nothing_is_inline_and_nothing_comes_from_elsewhere(web, path):
    tree = seen(web, path)
    assert tree.xpath("//style | //script[not(@src)] | //*[@style] | //@*[starts-with(name(), 'on')]") == []
    assert [a for a in tree.xpath("//@src | //@href | //@action") if not re.match(r"[/#]", a)] == []


def test_files_of_the_page_are_kept_by_browsers(web):
    tree = seen(web, "/")
    for address in tree.xpath("//link/@href | //script/@src"):
        answer = web.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]


def test_everything_that_a_page_needs_is_small(web):
    tree = seen(web, "/")
    files = [web.get(address).content for address in tree.xpath("//link/@href | //script/@src")]
    assert sum(map(len, files)) + len(web.get("/").content) < 300_000


# -- search --------------------------------------------------------------------------------------------------


def test_search_shows_hits_with_marks_and_what_to_narrow_by(web):
    tree = seen(web, "/?q=sea+ice&mode=words")
    titles = [text(found) for found in tree.xpath("//li[@class='hit']/h3")]
    assert titles
    assert {text(mark).lower() for mark in tree.xpath("//li[@class='hit']//mark")} == {"sea", "ice"}
    legends = [text(found) for found in tree.xpath("//fieldset[@class='facet']/legend")]
    assert legends == ["Topics", "Keyphrases", "Subject", "Tags"]
    assert one(tree, "//input[@name='q']").get("value") == "sea ice"
    assert one(tree, "//input[@name='mode'][@checked]").get("value") == "words"


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
    assert "'soon' is no date" in text(one(wrong, "//p[@id='dates-problem']"))
    assert one(wrong, "//input[@name='from']").get("aria-describedby") == "dates-problem dates-how"
    assert one(wrong, "//input[@name='from']").get("value") == "soon"


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
        == "No document with the word; the 21 documents nearest in meaning"
    )
    assert text(one(nothing, "//p[contains(@class, 'counted')]")) == "The numbers count all documents."


def test_a_condition_on_any_field(web):
    tree = seen(web, "/?where=date%3E%3D2019")
    assert text(one(tree, "//h2[@id='said']")) == "2 documents"
    assert tree.xpath("//input[@type='hidden'][@name='where']/@value") == ["date>=2019"]


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


# -- topics --------------------------------------------------------------------------------------------------


def test_the_api_is_told_to_people(web):
    told = {}
    for route in seen(web, "/api").xpath("//section"):
        names = [text(name) for name in route.xpath(".//dt")]
        told[text(one(route, "h2"))] = dict(
            zip(names, [text(what) for what in route.xpath(".//dd")], strict=True)
        )
    assert set(told["POST /api/documents"]) == {"id", "title", "text", "meta"}
    assert told["POST /api/documents"]["text"] == "string, required"
    search = told["GET /api/search"]
    assert search["mode"] == "words or meaning or both, both"
    assert search["facet"] == 'array, ["topic", "keyphrase"]'
    assert search["limit"] == "integer, 10. Rows of a page."
    assert told["POST /api/files"].keys() == {"file"}


def test_every_route_has_an_example_that_is_answered(web):
    examples = {
        text(one(route, "h2")): text(one(route, ".//pre")) for route in seen(web, "/api").xpath("//section")
    }
    assert examples["GET /api/search"] == "curl 'http://localhost:8000/api/search?q=solar+wind'"
    assert examples["PATCH /api/topics/{id}"].endswith(
        """/api/topics/t-000001 --json '{"label": "Sea ice"}'"""
    )
    assert examples["POST /api/files"].endswith("-F file=@articles.jsonl")
    for name, example in examples.items():
        if name.startswith("GET "):
            address = shlex.split(example)[1].removeprefix("http://localhost:8000")
            assert web.get(address).status_code in (200, 404), example


def test_a_title_stands_at_the_head_of_pages_and_report(own):
    with serving(own, title="Letters & notes") as client:
        assert text(one(seen(client, "/"), "//a[@class='brand']")) == "Letters & notes"
        assert text(one(seen(client, "/"), "/html/head/title")) == "Search · Letters & notes"
        assert "<h1>Topics of Letters &amp; notes</h1>" in report(client.app.state.served.collection)


def test_map_and_table_say_the_same(web):
    tree = seen(web, "/topics")
    circles = {a.get("href"): a.get("aria-label") for a in tree.xpath("//figure//a")}
    rows = {
        one(row, ".//a").get("href"): f"{text(one(row, './/a'))}: {text(row.xpath('./td')[0])} documents"
        for row in tree.xpath("//tbody/tr[@data-topic]")
    }
    assert circles == rows
    assert len(rows) == 3


def test_the_table_is_sorted_by_what_the_address_says(web):
    def listed(path):
        tree = seen(web, path)
        (order,) = tree.xpath("//th[@aria-sort]")
        names = [text(found) for found in tree.xpath("//tbody/tr[@data-topic]/th")]
        sizes = [text(found) for found in tree.xpath("//tbody/tr[@data-topic]/td[@data-label='Documents']")]
        return (text(order), order.get("aria-sort")), names, [int(size) for size in sizes]

    assert seen(web, "/topics").xpath("//th[@aria-sort]") == []
    head = one(seen(web, "/topics"), "//thead/tr")
    columns = {text(a): a.get("href") for a in head.xpath(".//a")}
    assert list(columns) == ["Topic", "Documents", "Growth"]
    order, names, _ = listed(columns["Topic"])
    assert order == ("Topic", "ascending")
    assert names == sorted(names, key=str.casefold)
    order, _, sizes = listed("/topics?sort=documents&order=ascending")
    assert order == ("Documents", "ascending")
    assert sizes == sorted(sizes)
    order, names, _ = listed(columns["Growth"])
    assert order == ("Growth", "descending")
    assert names == [topic["label"] for topic in web.get("/api/topics?sort=growth").json()]
    turned = seen(web, columns["Growth"]).xpath("//th[@aria-sort]/a/@href")
    assert turned == ["/topics?sort=growth&order=ascending"]
    assert one(seen(web, "/topics?sort=nonsense"), "//caption").text.endswith("in each group")


def test_a_topic_shows_what_belongs_to_it(web):
    tree = seen(web, seen(web, "/topics").xpath("//figure//a/@href")[0])
    headings = [text(found) for found in tree.xpath("//h2")]
    for wanted in ("Leading phrases", "Documents that stand for it", "Share over time", "What is special",
                   "Near topics", "What became of it", "Give it a name"):  # fmt: skip
        assert wanted in headings
    assert text(one(tree, "//ol[@class='lineage']/li")).endswith("found for the first time by index")
    assert len(tree.xpath("//svg[@class='bars tall']/rect[@class='bar few']")) == 21  # one document a year
    assert [text(found) for found in tree.xpath("//p[@class='axis']/span")] == ["100 %", "50 %", "0"]


def test_a_topic_by_its_number_or_name_leads_to_its_address(web):
    topic = web.get("/api/topics").json()[0]
    for name in (str(int(topic["id"][2:])), topic["label"]):
        answer = web.get(f"/topics/{name}", headers={"Accept": "text/html"}, follow_redirects=False)
        assert answer.headers["location"] == f"/topics/{topic['id']}"


def test_a_topic_is_renamed_by_its_form(client):
    path = seen(client, "/topics").xpath("//figure//a/@href")[0]
    answer = send(client, seen(client, path), f"{path}/rename", label="  Ice & <waves> ")
    tree = html.fromstring(answer.text)
    assert text(one(tree, "//h1")) == "Ice & <waves>"
    assert "named by hand" in text(one(tree, "//p[@class='lead']"))
    assert "named 'Ice & <waves>'" in text(one(tree, "//ol[@class='lineage']/li[1]"))
    other = seen(client, "/topics").xpath("//figure//a/@href")[1]
    taken = send(client, seen(client, other), f"{other}/rename", label="ice & <waves>")
    assert taken.status_code == 409
    again = html.fromstring(taken.text)
    assert "Another topic is named" in text(one(again, "//p[@role='alert']"))
    assert one(again, "//input[@name='label']").get("value") == "ice & <waves>"
    offered = one(again, "//form[.//input[@name='into']]")
    assert text(one(offered, ".//button")) == "Merge it into Ice & <waves>"
    assert one(offered, ".//input[@name='into']").get("value") == path.rpartition("/")[2]


def test_a_name_given_by_hand_is_taken_back(client):
    path = seen(client, "/topics").xpath("//figure//a/@href")[0]
    before = text(one(seen(client, path), "//h1"))
    assert seen(client, path).xpath("//form[contains(@action, 'unname')]") == []
    send(client, seen(client, path), f"{path}/rename", label="Something else")
    send(client, seen(client, path), f"{path}/unname")
    tree = seen(client, path)
    assert text(one(tree, "//h1")) == before
    assert "named by hand" not in text(one(tree, "//p[@class='lead']"))


def test_topics_are_merged_by_a_form(client):
    first, second, _ = (a.rpartition("/")[2] for a in seen(client, "/topics").xpath("//tbody//a/@href"))
    tree = seen(client, f"/topics/{first}")
    offered = tree.xpath("//select[@name='into']//option/@value")
    assert second in offered
    assert first not in offered
    send(client, tree, f"/topics/{first}/merge", into=second)
    finish(client)
    answer = client.get(f"/topics/{first}", headers={"Accept": "text/html"}, follow_redirects=False)
    assert answer.headers["location"] == f"/topics/{second}"
    assert len(client.get("/api/topics").json()) == 2
    without_token = client.post(f"/topics/{second}/merge", data={"into": first})
    assert without_token.status_code == 403


def test_a_topic_that_cannot_be_named_now_says_why_and_keeps_what_was_typed(client):
    path = seen(client, "/topics").xpath("//figure//a/@href")[0]
    tree = seen(client, path)
    with client.app.state.served.collection.catalog.lock("main", "indexer index"):
        answer = send(client, tree, f"{path}/rename", label="Later")
    assert answer.status_code == 409
    again = html.fromstring(answer.text)
    assert "is being written by indexer index" in text(one(again, "//p[@role='alert']"))
    assert one(again, "//input[@name='label']").get("value") == "Later"


def test_while_somebody_writes_pages_say_so(client):
    collection = client.app.state.served.collection
    assert "Indexing goes on" not in text(seen(client, "/topics"))
    collection.catalog.mark("main", ["d00", "d01"], state="stored")
    with collection.catalog.lock("main", "indexer index"):
        for path in ("/topics", "/operations"):
            told = text(one(seen(client, path), "//p[@class='note']"))
            assert re.match(r"Indexing goes on since .* 10 of 12 documents are mined so far\.", told)
    assert seen(client, "/operations").xpath("//p[@class='note']") == []


# -- documents and phrases -----------------------------------------------------------------------------------


def test_a_document_has_its_phrases_marked(web):
    tree = seen(web, "/document?id=d04")
    stored = web.get("/api/documents/d04").json()
    body = one(tree, "//div[@class='body']")
    assert text(body) == stored["text"]
    marked = {text(found) for found in tree.xpath("//article//a[@class='keyphrase']")}
    assert marked
    assert marked <= {k["text"] for k in stored["keyphrases"]} | {
        k["text"].capitalize() for k in stored["keyphrases"]
    }
    assert text(one(tree, "//section[@class='because']//tbody/tr[1]/th"))
    assert len(tree.xpath("//section[@aria-labelledby='similar']//li")) == 6
    assert "d04" not in tree.xpath("//section[@aria-labelledby='similar']//a/@href")
    link = tree.xpath("//div[@class='body']//a[@data-phrase]")[0]
    assert f"[[{text(link)}]]" in parse_qs(urlsplit(link.get("href")).query)["in"][0]
    alike = seen(web, link.get("href"))
    assert text(alike.xpath("//li[@class='hit']//mark")[0]).lower() == text(link).lower()
    alone = one(alike, "//p[@class='lead']/a").get("href")
    assert text(link).lower() in text(one(seen(web, alone), "//h1")).lower()


def test_a_long_text_is_shown_in_part_until_asked_for(own, monkeypatch):
    monkeypatch.setattr("indexer.web.pages.documents.SHOWN", 20)
    with serving(own) as client:
        whole = client.get("/api/documents/d00").json()["text"]
        tree = seen(client, "/document?id=d00")
        assert text(one(tree, "//div[@class='body']")) == whole[:20].strip()
        more = one(tree, "//a[contains(., 'whole text')]").get("href")
        assert text(one(seen(client, more), "//div[@class='body']")) == whole


def test_phrases_alone_and_in_a_sentence(web):
    rows = seen(web, "/phrases?phrase=sea+ice").xpath("//tbody/tr")
    assert cells(rows[0])[:2] == ["sea ice", "1.00"]
    tree = seen(web, "/phrases?in=The+%5B%5Bsea+ice%5D%5D+melts.")
    assert text(tree.xpath("//li[@class='hit']//mark")[0]) == "sea ice"
    assert "Exactly one phrase must be marked" in text(
        one(seen(web, "/phrases?in=none", 400), "//p[@role='alert']")
    )


def test_what_is_not_there_is_a_page_too(web):
    tree = seen(web, "/document?id=nowhere", 404)
    assert text(one(tree, "//h1")) == "Not Found"
    assert "There is no document 'nowhere'" in text(tree)
    seen(web, "/nothing", 404)


# -- operations ----------------------------------------------------------------------------------------------


def test_operations_show_runs_and_generations(web):
    tree = seen(web, "/operations")
    tiles = {text(one(tile, "dt")): text(one(tile, "dd")) for tile in tree.xpath("//dl[@class='tiles']/div")}
    assert (tiles["Documents"], tiles["Topics"], tiles["Dead letters"]) == ("21", "3", "0")
    assert "21 read, 21 new, 21 mined" in text(one(tree, "//section[@aria-labelledby='runs']//tbody/tr"))
    assert "live" in text(one(tree, "//section[@aria-labelledby='generations']//tbody/tr"))


def test_a_dead_letter_is_tried_again_by_a_form(client, own):
    send_file(client, "two.jsonl", b'{"id": "ok", "text": "Sea ice."}\n{broken\n')
    tree = seen(client, "/operations")
    row = cells(one(tree, "//section[@aria-labelledby='dead']//tbody/tr"))
    reason = "not valid JSON: Expecting property name enclosed in double quotes at column 2."
    assert row[:3] == ["two.jsonl, line 2", reason, "read"]
    task = one(tree, "//li[@data-task]")
    assert text(task).startswith("done, 1 failed index two.jsonl")
    assert "two.jsonl, line 2: not valid JSON" in text(one(task, "details"))
    assert one(task, ".//a[text()='ok' or bdi='ok']").get("href") == "/document?id=ok"
    (file,) = (own / "posted").glob("*/uploads/two.jsonl")
    file.write_text('{"id": "ok", "text": "Sea ice."}\n{"id": "mended", "text": "Tides."}\n')
    send(client, tree, "/operations/retry")
    finish(client)
    assert "Nothing: every document was." in text(seen(client, "/operations"))
    assert client.get("/api/documents/mended").status_code == 200


def test_dead_letters_are_dismissed_by_forms(client):
    send_file(client, "two.jsonl", b"{broken\n{broken\n{broken\n")
    tree = seen(client, "/operations")
    letter = tree.xpath("//section[@aria-labelledby='dead']//tbody//input[@name='letter']")[1].get("value")
    token = one(tree, "//form[@action='/operations/retry']/input[@name='token']").get("value")
    assert client.post("/operations/dismiss", data={"letter": letter}, headers=HTML).status_code == 403
    client.post("/operations/dismiss", data={"letter": letter, "token": token}, headers=HTML)
    rows = seen(client, "/operations").xpath("//section[@aria-labelledby='dead']//tbody/tr/th")
    assert [text(row) for row in rows] == ["two.jsonl, line 1", "two.jsonl, line 3"]
    client.post("/operations/dismiss", data={"stage": "all", "token": token}, headers=HTML)
    assert "Nothing: every document was." in text(seen(client, "/operations"))


def test_a_document_is_deleted_by_a_form(client):
    tree = seen(client, "/document?id=d00")
    form = one(tree, "//form[@action='/document/delete']")
    given = {field.get("name"): field.get("value") for field in form.xpath("input")}
    assert client.post("/document/delete", data={"id": "d00"}, headers=HTML).status_code == 403
    answer = client.post("/document/delete", data=given, headers=HTML, follow_redirects=False)
    assert answer.headers["location"].startswith("/operations#task-")
    finish(client)
    seen(client, "/document?id=d00", 404)
    assert "delete d00" in text(one(seen(client, "/operations"), "//li[@data-task]"))


def test_a_file_that_is_refused_is_told_beside_its_field(client):
    token = one(seen(client, "/operations"), "//form[@action='/operations/files']/input[@name='token']").get(
        "value"
    )
    answer = client.post(
        "/operations/files",
        data={"token": token},
        files={"file": ("x.exe", b"MZ")},
        headers={"Accept": "text/html"},
    )
    assert answer.status_code == 415
    form = one(html.fromstring(answer.text), "//form[@action='/operations/files']")
    assert "'exe' are not read. Read: jsonl" in text(one(form, ".//p[@id='file-problem']"))
    assert one(form, ".//input[@type='file']").get("aria-invalid") == "true"


def send_file(client, name, content):
    token = one(seen(client, "/operations"), "//form[@action='/operations/files']/input[@name='token']").get(
        "value"
    )
    answer = client.post(
        "/operations/files",
        data={"token": token},
        files={"file": (name, content)},
        headers={"Accept": "text/html"},
    )
    assert answer.status_code == 200, answer.text
    finish(client)


def finish(client):
    for task in client.get("/api/tasks").json():
        ended(client, task)


def test_what_the_gate_said_is_shown(client, monkeypatch):
    from indexer.collection import Collection

    figures = {"name": "NPMI", "old": 0.2, "new": 0.1, "limit": "0.150 or more", "verdict": "worse"}
    judged = {"night-3": {"accepted": False, "reasons": ["Topics are less coherent."], "checks": [figures]}}
    home = client.app.state.served.collection.settings.home
    with Collection.open(home=home) as other, other.catalog.lock("main", "test") as lock:
        run = other.catalog.start_run("main", "retrain", {}, lock=lock)
        other.catalog.finish_run(run, "finished", {"verdict": "refused", "reason": "No.", "judged": judged})
    section = one(seen(client, "/operations"), "//section[@aria-labelledby='gate']")
    assert "night-3: may not take over" in text(section)
    assert cells(one(section, ".//tbody/tr")) == ["NPMI", "0.200", "0.100", "0.150 or more", "worse"]
    assert "refused: No." in text(
        one(seen(client, "/operations"), "//section[@aria-labelledby='runs']//tbody/tr[1]")
    )
