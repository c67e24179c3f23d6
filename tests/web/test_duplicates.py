"""Near duplicates on the page and in the API: of 21 documents d06, d12 and d18 have the text of d00, and so on."""

from __future__ import annotations

import pytest
from web_client import indexed, made, serving
from web_pages import one, seen, text


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INDEXER_DUPLICATES", "on")
        home = indexed(tmp_path_factory.mktemp("copies") / "home", made())
    with serving(home) as client:
        yield client


def get(web, path, **params):
    answer = web.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_api_leaves_them_out_of_hits_counts_and_timelines(web):
    every, one_of_each = (
        get(web, "/api/search", limit=21, facet="subject", hide_duplicates=hidden) for hidden in (False, True)
    )
    assert (every["total"], one_of_each["total"]) == (21, 6)
    assert every["hits"][6]["duplicate_of"] == "d00"
    assert {v["documents"] for v in one_of_each["facets"]["subject"]} == {2}
    counted = get(web, "/api/facets", field="duplicate_of", q="robot", mode="words")["facets"]["duplicate_of"]
    assert [(v["value"], v["documents"]) for v in counted] == [("d00", 3), ("d03", 2)]
    timeline = get(web, "/api/timeline", hide_duplicates=True)
    assert sum(period["documents"] for period in timeline["periods"]) == 6
    assert web.get("/api/export/search/csv", params={"hide_duplicates": True}).text.count("\n") == 7


def test_the_api_names_the_near_duplicates_of_a_document(web):
    assert get(web, "/api/documents/d00")["duplicates"] == ["d06", "d12", "d18"]
    copy = get(web, "/api/documents/d06")
    assert (copy["duplicate_of"], copy["duplicates"]) == ("d00", [])


def test_the_page_hides_them_and_shows_them_again(web):
    tree = seen(web, "/?hide_duplicates=1")
    assert text(one(tree, "//h2[@id='said']")) == "6 documents"
    assert one(tree, "//input[@name='hide_duplicates']").get("checked") is not None
    chip = one(tree, "//a[@class='chip chosen']")
    assert text(chip).startswith("Without duplicates")
    assert text(one(seen(web, chip.get("href")), "//h2[@id='said']")) == "21 documents"


def test_the_page_leads_from_one_to_the_other(web):
    links = seen(web, "/document?id=d00").xpath("//section[@aria-label='Near duplicates']//a/@href")
    assert links == ["/document?id=d06", "/document?id=d12", "/document?id=d18"]
    (link,) = seen(web, "/document?id=d06").xpath("//section[@aria-label='Near duplicate of']//a/@href")
    assert link == "/document?id=d00"
    hits = seen(web, "/?f.subject=robots").xpath("//li[@class='hit']//p[@class='from']/a")
    assert {(text(found), found.get("href")) for found in hits} == {
        ("near duplicate", "/document?id=d00"),
        ("near duplicate", "/document?id=d03"),
    }
