"""Documents that want to be more than text: they are shown as text, on every page and in every file."""

from __future__ import annotations

import csv
import io
import json

import pytest
from lxml import html
from web_client import indexed, serving

SCRIPT = "<script>alert(1)</script>"
HANDLER = "\"><img src=x onerror=alert(2)> ' onmouseover='alert(3)"
WORD = "Donaudampfschifffahrt" * 400
TURNED = "safe\u202egnp.exe\u2066 txt\u0000end"
HOSTILE: list[dict[str, object]] = [
    {"id": f"h{i}<b>&{i}", "title": f"{SCRIPT} Robot arm {i} {HANDLER}", "subject": SCRIPT, "date": "2001-01-01",
     "text": f"{HANDLER} The robot arm {i} {SCRIPT} moves. {TURNED} javascript:alert(4) {{{{ 7 * 7 }}}} {WORD}",
     "=1+1": "@SUM(A1)", "tags": [HANDLER, "</title>"]}
    for i in range(6)
]  # fmt: skip


@pytest.fixture(scope="module")
def web(tmp_path_factory, small_parts):
    home = indexed(tmp_path_factory.mktemp("hostile") / "home", HOSTILE, topics=2)
    with serving(home) as client:
        client.patch("/api/topics/1", json={"label": f"{SCRIPT} {HANDLER}"})
        yield client


PAGES = (
    "/",
    "/?q=robot&why=1",
    "/?" + "f.subject=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "/?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E%22onfocus%3D%22alert(1)",
    "/topics",
    "/topics/t-000001",
    "/document?id=h0%3Cb%3E%260",
    "/phrases?phrase=robot+arm%22%3E%3Cscript%3E",
    "/phrases?in=the+%5B%5Brobot+arm%5D%5D+%3Cscript%3E",
    "/operations",
    "/document?id=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "/topics/%3Cscript%3E",
    "/login?next=javascript:alert(1)",
)


@pytest.mark.parametrize("path", PAGES)
def test_nothing_of_a_document_is_more_than_text(web, path):
    answer = web.get(path, headers={"Accept": "text/html"})
    assert answer.status_code in (200, 404)
    tree = html.fromstring(answer.text)
    assert [script.get("src").partition("?")[0] for script in tree.xpath("//script")] == ["/static/page.js"]
    assert tree.xpath("//img | //iframe | //object | //b") == []
    attributes = {name for element in tree.iter() for name in element.attrib}
    assert [name for name in attributes if name.startswith("on") or name == "style"] == []
    assert [a for a in tree.xpath("//@href | //@src | //@action") if not a.startswith(("/", "#"))] == []
    for unwanted in ("\u202e", "\u2066", "\0"):
        assert unwanted not in answer.text


def test_it_is_all_there_to_read(web):
    tree = html.fromstring(web.get("/document?id=h0%3Cb%3E%260", headers={"Accept": "text/html"}).text)
    heading = tree.xpath("//h1")[0].text_content()
    assert heading.startswith(f"{SCRIPT} Robot arm 0")
    body = tree.xpath("//div[@class='body']")[0].text_content()
    assert SCRIPT in body
    assert "{{ 7 * 7 }}" in body
    assert WORD in body
    assert "safe gnp.exe  txt\ufffdend" in body


def test_a_name_from_outside_is_text_on_the_map(web):
    tree = html.fromstring(web.get("/topics", headers={"Accept": "text/html"}).text)
    assert tree.xpath("//figure//a/@aria-label")[0].startswith(SCRIPT)


def test_the_api_gives_texts_as_they_are(web):
    found = web.get("/api/documents/h0<b>&0").json()
    read = str(HOSTILE[0]["text"]).replace("\0", "\ufffd")  # by every reader
    assert (found["title"], found["text"]) == (HOSTILE[0]["title"], read)


def test_a_spreadsheet_runs_nothing(web):
    rows = list(csv.reader(io.StringIO(web.get("/api/export/search/csv").text)))
    assert "meta.=1+1" in rows[0]
    assert rows[1][rows[0].index("meta.=1+1")] == "'@SUM(A1)"
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "+", "@")]


def test_other_files_are_exact(web):
    rows = [json.loads(line) for line in web.get("/api/export/search/jsonl").text.splitlines()]
    assert sorted(row["title"] for row in rows) == sorted(record["title"] for record in HOSTILE)
