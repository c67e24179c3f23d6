"""What the shell completes."""

from __future__ import annotations

import json

import pytest
from click.shell_completion import ShellComplete

from indexer.cli import main


@pytest.fixture
def complete(indexed):
    def completed(*words, typed="", home=indexed):
        shell = ShellComplete(main, {}, "indexer", "_INDEXER_COMPLETE")
        return [item.value for item in shell.get_completions(["--home", str(home), *words], typed)]

    return completed


def test_topics_by_the_beginning_of_their_labels(complete, read):
    labels = [topic["label"] for topic in json.loads(read("topics", "--json").stdout)]
    assert (
        complete("search", "--topic") == complete("topics", "show") == complete("topics", "merge") == labels
    )
    first = labels[0]
    assert complete("search", "--topic", typed=first[:3].upper()) == [
        label for label in labels if label.casefold().startswith(first[:3].casefold())
    ]
    assert complete("search", "--topic", typed="qqq") == []


def test_fields_that_documents_have(complete):
    assert complete("search", "--where") == ["subject", "year"]
    assert complete("search", "--where", typed="s") == ["subject"]
    assert complete("search", "--facet", typed="s") == ["subject"]
    assert complete("search", "--facet", typed="t") == ["topic"]


def test_nothing_where_no_collection_can_be_read(complete, tmp_path, capsys):
    assert complete("search", "--topic", home=tmp_path / "none") == []
    assert complete("search", "--where", home=tmp_path / "none") == []
    assert not (tmp_path / "none").exists()
    assert capsys.readouterr().err == ""
