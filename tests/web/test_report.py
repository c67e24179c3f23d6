"""The file about topics that is sent to somebody."""

from __future__ import annotations

from click.testing import CliRunner
from lxml import html

from indexer.cli import main


def test_the_report_has_map_table_and_examples_and_needs_nothing_else(library, tmp_path, web):
    file = tmp_path / "topics.html"
    result = CliRunner().invoke(main, ["--home", str(library), "report", str(file)])
    assert result.output.startswith(f"{file}: ")
    tree = html.parse(str(file)).getroot()
    topics = web.get("/api/topics").json()
    ids = {topic["id"] for topic in topics}
    assert {a.get("href") for a in tree.xpath("//figure//a")} == {f"#{id_}" for id_ in ids}
    assert {row.get("data-topic") for row in tree.xpath("//tbody/tr[@data-topic]")} == ids
    for topic in topics:
        section = tree.get_element_by_id(topic["id"])
        assert section.xpath("string(h2)") == topic["label"]
        assert len(section.xpath("article")) == 3
    assert tree.xpath("//script | //link | //img | //@src") == []
    assert [a for a in tree.xpath("//@href") if not a.startswith("#")] == []


def test_a_report_cannot_be_written_where_there_is_no_folder(library, tmp_path):
    result = CliRunner().invoke(main, ["--home", str(library), "report", str(tmp_path / "no" / "x.html")])
    assert (result.exit_code, "cannot be written" in result.output) == (1, True)
