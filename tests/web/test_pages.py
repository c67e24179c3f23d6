"""What a person sees: every view, by HTML alone, without scripts."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from lxml import html
from web_client import HERE, serving
from web_pages import HTML, cells, finish, one, seen, send, text

from indexer.catalog import Catalog, Naming
from indexer.catalog.entries import LineageEntry, TopicEntry
from indexer.web.report import report

ANY = ("/", "/topics", "/phrases", "/phrases?phrase=sea+ice", "/document?id=d04", "/operations", "/api")


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
    assert examples["GET /api/search"] == f"curl '{HERE}/api/search?q=solar+wind'"  # where one is
    assert examples["PATCH /api/topics/{id}"].endswith(
        """/api/topics/t-000001 --json '{"label": "Sea ice"}'"""
    )
    assert examples["POST /api/files"].endswith("-F file=@articles.jsonl")
    for name, example in examples.items():
        if name.startswith("GET "):
            address = shlex.split(example)[1].removeprefix(HERE)
            assert web.get(address).status_code in (200, 404), example


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("/topics/t-000001/rename", "/topics/t-000001"),
        ("/topics/t-000001/unname", "/topics/t-000001"),
        ("/topics/t-000001/merge", "/topics/t-000001"),
        ("/operations/retry", "/operations#tasks"),
        ("/operations/files", "/operations#tasks"),
        ("/operations/dismiss", "/operations#dead"),
        ("/document/delete", "/"),
        ("/document/topic", "/"),
        ("/logout", "/"),
    ],
)
def test_the_address_of_a_form_leads_to_its_page(web, form, page):
    """It stays in the browser after a form was refused, and may be loaded anew."""
    answer = web.get(form, headers=HTML, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, page)


def test_topics_say_how_many_documents_have_none(client, monkeypatch):
    engine = client.app.state.served.collection.engine
    assert "mined from 12 documents. " in text(seen(client, "/topics"))
    counted = replace(engine.info(), without_topic=3)
    monkeypatch.setattr(engine, "info", lambda: counted)
    assert "mined from 12 documents; 3 of them without one. " in text(seen(client, "/topics"))


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
    for wanted in ("Leading phrases", "Representative documents", "Share over time", "Significant keyphrases",
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
    assert "label set by a user" in text(one(tree, "//p[@class='lead']"))
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
    assert "label set by a user" not in text(one(tree, "//p[@class='lead']"))


def test_what_a_language_model_said_of_a_topic_is_shown_as_text(client, own):
    path = seen(client, "/topics").xpath("//figure//a/@href")[0]
    id_, label = path.rpartition("/")[2], text(one(seen(client, path), "//h1"))
    assert client.get(f"/api/topics/{id_}/name").json()["origin"] == "mined"
    shown = {"phrases": ["<script>alert(1)</script>", "\u202etext"], "other_topics": ["{{ 7 * 7 }}"]}
    with Catalog.open(f"sqlite:///{own}/catalog.sqlite") as catalog:
        catalog.save_naming(
            "main", Naming(id_, label, "<i>small</i>", shown, f'{{"name": "{label}"}}', label)
        )
    tree = seen(client, path)
    assert "label by a language model" in text(one(tree, "//p[@class='lead']"))
    assert tree.xpath("//section[@aria-labelledby='model']//*[self::script or self::i]") == []
    assert "<script>alert(1)</script>" in text(one(tree, "//pre"))
    assert "\u202e" not in text(one(tree, "//pre"))
    assert len(tree.xpath("//form[contains(@action, 'unname')]")) == 1
    found = client.get(f"/api/topics/{id_}/name").json()
    assert (found["origin"], found["naming"]["shown"], found["naming"]["refused"]) == ("model", shown, "")


def test_topics_are_merged_by_a_form(client):
    first, second, _ = (a.rpartition("/")[2] for a in seen(client, "/topics").xpath("//tbody//a/@href"))
    tree = seen(client, f"/topics/{first}")
    offered = tree.xpath("//select[@name='into']//option/@value")
    assert second in offered
    assert first not in offered
    assert one(tree, f"//form[@action='/topics/{first}/merge']").get("method") == "get"  # it only asks
    question = seen(client, f"/topics/{first}/merge?into={second}")
    topics = {topic["id"]: topic for topic in client.get("/api/topics").json()}
    part, whole = topics[first], topics[second]
    asked = f"Merge “{part['label']}” ({part['documents']} documents) into “{whole['label']}”?"
    assert text(one(question, "//h1")) == asked
    assert "which keeps its name" in text(one(question, "//main"))
    assert f"/topics/{first}" in question.xpath("//main//a/@href")  # the way back
    assert len(topics) == 3
    send(client, question, f"/topics/{first}/merge")
    finish(client)
    answer = client.get(f"/topics/{first}", headers={"Accept": "text/html"}, follow_redirects=False)
    assert answer.headers["location"] == f"/topics/{second}?was={first}"
    led = text(one(seen(client, answer.headers["location"]), "//p[@class='note']"))
    assert led == f"“{part['label']}” ({first}) has become this topic."
    for nobody in (second, "t-000099", "nonsense"):
        assert seen(client, f"/topics/{second}?was={nobody}").xpath("//p[@class='note']") == []
    assert len(client.get("/api/topics").json()) == 2
    itself = client.get(f"/topics/{second}/merge?into={second}", headers=HTML)
    assert itself.status_code == 400
    assert "merged into itself" in text(one(html.fromstring(itself.text), "//p[@role='alert']"))
    without_token = client.post(f"/topics/{second}/merge", data={"into": first})
    assert without_token.status_code == 403


def test_a_topic_that_was_split_leads_to_one_part_which_names_the_others(client):
    catalog = client.app.state.served.collection.catalog
    parts, old = catalog.topics("main"), TopicEntry(9, "Whole", state="retired")
    unwritten = TopicEntry(10, "In the catalog, and not yet in the engine")
    catalog.save_topics("main", [old])

    def split(run: str, *into: TopicEntry) -> tuple[str, list[str]]:
        """What the page of the first part says, and its links to the others."""
        lineage = [
            LineageEntry(run, old.id, new.id, "split", 1 / number) for number, new in enumerate(into, 1)
        ]
        catalog.save_fit("main", run, "", {}, {})
        catalog.install_fit("main", run, topics=[*parts, unwritten], lineage=lineage)
        page = seen(client, f"/topics/{old.id}")
        assert text(one(page, "//h1")) == into[0].label
        note = one(page, "//p[@class='note']")
        return text(note), note.xpath("./a/@href")

    first, second, third = parts
    begin = f"“Whole” ({old.id}) has become this topic"
    assert split("R8", first, second, unwritten) == (f"{begin} and {second.label}.", [f"/topics/{second.id}"])
    assert split("R9", first, second, third) == (
        f"{begin}, {second.label} and {third.label}.",
        [f"/topics/{second.id}", f"/topics/{third.id}"],
    )


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
    assert "Indexing is running" not in text(seen(client, "/topics"))
    collection.catalog.mark("main", ["d00", "d01"], state="stored")
    with collection.catalog.lock("main", "indexer index"):
        for path in ("/topics", "/operations"):
            told = text(one(seen(client, path), "//p[@class='note']"))
            assert re.match(r"Indexing is running since .* 10 of 12 documents are mined so far\.", told)
    assert seen(client, "/operations").xpath("//p[@class='note']") == []


# -- documents and phrases -----------------------------------------------------------------------------------


def test_a_document_is_given_a_topic_on_its_page(web):
    tree = seen(web, "/document?id=d04")
    other = tree.xpath("//form[@action='/document/topic']//option[not(@selected)]")[0]
    assert send(web, tree, "/document/topic", topic=other.get("value"), belongs="yes").status_code == 200
    finish(web)
    tree = seen(web, "/document?id=d04")
    assert f"Given: {text(other)}." in text(tree)
    assert one(tree, "//form[@action='/document/topic']//option[@selected]").get("value") == other.get(
        "value"
    )
    send(web, tree, "/document/topic", topic=other.get("value"), belongs="undo")
    finish(web)
    assert "Given:" not in text(seen(web, "/document?id=d04"))


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
    (near,) = web.get("/api/phrases", params={"in": "The [[sea ice]] melts.", "limit": 1}).json()["mentions"]
    ((start, end),) = near["marks"]
    assert near["sentence"][start:end] == near["phrase"]
    assert "Exactly one phrase must be marked" in text(
        one(seen(web, "/phrases?in=none", 400), "//p[@role='alert']")
    )


def test_what_is_not_there_is_a_page_too(web):
    tree = seen(web, "/document?id=nowhere", 404)
    assert text(one(tree, "//h1")) == "Not Found"
    assert "There is no document 'nowhere'" in text(tree)
    seen(web, "/nothing", 404)
