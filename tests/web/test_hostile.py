"""Documents that want to be more than text: they are shown as text, on every page and in every file."""

from __future__ import annotations

import csv
import io
import json

import pytest
from click.testing import CliRunner
from hostile import FILE, HOSTILE, NAME, PAGES, SCRIPT, WORD, hostile_home
from lxml import html
from web_client import serving

from indexer.cli import main


@pytest.fixture(scope="module")
def home(tmp_path_factory, parts):
    return hostile_home(tmp_path_factory.mktemp("hostile") / "home")


@pytest.fixture(scope="module")
def web(home):
    with serving(home) as client:
        yield client


def harmless(tree):
    """Nothing in it runs, is loaded from elsewhere or leads there."""
    assert tree.xpath("//img | //iframe | //object | //b") == []
    attributes = {name for element in tree.iter() for name in element.attrib}
    assert [name for name in attributes if name.startswith("on") or name == "style"] == []
    assert [a for a in tree.xpath("//@href | //@src | //@action") if not a.startswith(("/", "#"))] == []


@pytest.mark.parametrize("path", PAGES)
def test_nothing_of_a_document_is_more_than_text(web, path):
    answer = web.get(path, headers={"Accept": "text/html"})
    assert answer.status_code in (200, 400, 404)
    tree = html.fromstring(answer.text)
    assert [script.get("src").partition("?")[0] for script in tree.xpath("//script")] == ["/static/page.js"]
    harmless(tree)
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


def test_why_a_file_could_not_be_read_is_text(web):
    tree = html.fromstring(web.get("/operations", headers={"Accept": "text/html"}).text)
    assert FILE.replace("\u202e", " ") in tree.xpath("string(//th[@class='reason'])")
    assert "not valid JSON" in tree.xpath("string(//td[@class='reason'])")
    (letter,) = web.get("/api/dead-letters").json()
    assert FILE in letter["source"]


def test_the_report_is_text_too(home, tmp_path):
    file = tmp_path / "topics.html"
    assert CliRunner().invoke(main, ["--home", str(home), "report", str(file)]).exit_code == 0
    tree = html.parse(str(file)).getroot()
    assert tree.xpath("//script") == []
    harmless(tree)
    assert NAME in tree.xpath("//h2/bdi/text()")
    assert "\u202e" not in file.read_text(encoding="utf-8")


def test_names_of_topics_are_exact_in_files(web):
    (row,) = (
        row
        for row in csv.DictReader(io.StringIO(web.get("/api/export/topics/csv").content.decode("utf-8-sig")))
        if SCRIPT in row["label"]
    )
    assert row["label"] == NAME


def test_the_api_gives_texts_as_they_are(web):
    found = web.get("/api/documents/h0<b>&0").json()
    read = str(HOSTILE[0]["text"]).replace("\0", "\ufffd")  # by every reader
    assert (found["title"], found["text"]) == (HOSTILE[0]["title"], read)


def test_a_spreadsheet_runs_nothing(web):
    rows = list(csv.reader(io.StringIO(web.get("/api/export/search/csv").content.decode("utf-8-sig"))))
    assert "meta.=1+1" in rows[0]
    assert rows[1][rows[0].index("meta.=1+1")] == "'@SUM(A1)"
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "+", "@")]


def test_other_files_are_exact(web):
    rows = [json.loads(line) for line in web.get("/api/export/search/jsonl").text.splitlines()]
    assert sorted(row["title"] for row in rows) == sorted(
        str(record["title"]) for record in (*HOSTILE, HOSTILE[0])
    )
