"""A collection whose bundle has a ranker: parts of phrases are keyphrases, absent ones are found, shown and searched."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from shutil import copytree

import numpy as np
import pytest
from small_parts import WideHashEncoder

from indexer.keyphrases.absent import ABSENT_CLUES
from indexer.keyphrases.ranker import CLUES, DualEncoder, Ranker, Vocabulary
from tests.cli.conftest import invoked, made, written

DIMS = WideHashEncoder.dims
NONE = Vocabulary((), (), *(np.zeros(s, np.float32) for s in (0, (0, DIMS), (0, DIMS))))


def by_clue(names: tuple[str, ...], name: str) -> DualEncoder:
    """Counts one clue and nothing else, from a half on."""
    layer, none = np.zeros((1, DIMS), np.float32), np.zeros(1, np.float32)
    return DualEncoder(layer, none, layer, none, np.eye(1, len(names), names.index(name), np.float32)[0], 0.5)


class Ranking(WideHashEncoder):
    """One-word phrases are the best ones; absent ones are those of documents like this one."""

    ranker = Ranker(by_clue(CLUES, "one"), by_clue(ABSENT_CLUES, "documents"), {}, NONE)


@pytest.fixture(autouse=True)
def ranking(monkeypatch):
    monkeypatch.setattr("models.load.load_encoder", lambda *args, **kwargs: Ranking())
    monkeypatch.setattr("models.load.encoder_ranker", lambda *_: Ranking.ranker)


@pytest.fixture(scope="module")
def with_absent(parts, tmp_path_factory):
    """A home with 21 documents, to be copied."""
    folder = tmp_path_factory.mktemp("absent")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.load.load_encoder", lambda *args, **kwargs: Ranking())
        patch.setattr("models.load.encoder_ranker", lambda *_: Ranking.ranker)
        invoked("index", written(folder / "texts.jsonl", made()), home=folder / "home")
    return folder / "home"


@pytest.fixture
def ask(run, with_absent, home):
    """A command on a home with 21 documents."""
    copytree(with_absent, home)
    return partial(run, home=home)


def shown(ask, id_="d00"):
    return json.loads(ask("show", id_, "--json").stdout)


def absent_of(document):
    return [k for k in document["keyphrases"] if not k["present"]]


def test_parts_of_phrases_are_keyphrases(ask):
    document = shown(ask)
    present = [k["text"] for k in document["keyphrases"] if k["present"]]
    assert "arm" in present  # of "robot arm"
    for keyphrase in document["keyphrases"]:
        for place in keyphrase["places"]:
            assert (
                document[place["field"]][place["start"] : place["end"]].lower() == keyphrase["text"].lower()
            )


def test_absent_keyphrases_are_marked_wherever_they_are_shown(ask, corpus):
    absent = absent_of(shown(ask))
    assert 0 < len(absent) <= 5
    text = json.dumps(corpus()[0]).lower()
    assert not any(k["text"].lower() in text or k["places"] for k in absent)
    first = absent[0]["text"]
    assert re.search(rf"^absent +{re.escape(first)}", ask("show", "d00").stdout, re.MULTILINE)
    found = ask("search", "--where", f"absent_keyphrase={first}", "--facet", "absent_keyphrase").stdout
    assert "not in the text: " in found
    assert re.search(rf"^ +\d+ +{re.escape(first)}$", found, re.MULTILINE)


def test_their_words_are_searched_as_much_as_the_setting_says(ask, monkeypatch):
    first = absent_of(shown(ask))[0]["text"]

    def ids():
        answer = ask("search", first, "--mode", "words", "--limit", 50, "--json")
        return [hit["id"] for hit in json.loads(answer.stdout)["hits"]]

    assert "d00" in ids()
    monkeypatch.setenv("INDEXER_ABSENT_WEIGHT", "0")
    assert "d00" not in ids()


def test_none_are_kept_where_none_are_wanted(run, write, corpus, home, tmp_path, monkeypatch):
    monkeypatch.setenv("INDEXER_ABSENT_KEYPHRASES", "0")
    run("index", write(tmp_path / "texts.jsonl", corpus()), home=home)
    assert not absent_of(shown(partial(run, home=home)))


def test_one_text_alone_has_what_the_bundle_knows(run, home, tmp_path, monkeypatch):
    known = Vocabulary(
        ("mechanical engineering",),
        ("mechan engin",),
        np.ones(1, np.float32),
        *np.ones((2, 1, DIMS), np.float32),
    )
    always = replace(by_clue(ABSENT_CLUES, "two"), threshold=0.0)
    monkeypatch.setattr(Ranking, "ranker", replace(Ranking.ranker, absent=always, vocabulary=known))
    file = tmp_path / "text.txt"
    file.write_text("We study the robot arm of a system.")
    found = json.loads(run("keyphrases", file, "--json", home=home).stdout)
    assert [k["text"] for k in found if not k["present"]] == ["mechanical engineering", "system arm"]
    assert "not in the text" in run("keyphrases", file, home=home).stdout


def test_columns_show_absent_ones_after_the_others(ask, write, corpus, tmp_path):
    compared = ask("compare", "--data", write(tmp_path / "other.jsonl", corpus()), "--topics", "clusters")
    lines = compared.stdout.splitlines()
    first = lines.index(next(line for line in lines if line.startswith("# "))) + 1
    cells = [line.strip() for line in lines[first : lines.index("", first)]]
    assert len(cells) > 5
    assert lines[-1] == "[keyphrase]: not in the text"
    assert [cell.startswith("[") for cell in cells] == [False] * 5 + [True] * (len(cells) - 5)
