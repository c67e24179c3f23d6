"""indexer train: the recipes as commands, on a tiny network."""

from __future__ import annotations

import json

import pytest
from small_parts import WideHashEncoder

from models.bundle import Bundle, Pooling, write_bundle
from tests.models.conftest import write_base

pytestmark = [pytest.mark.usefixtures("small_training"), pytest.mark.xdist_group("transformers")]

SENTENCES = [
    ("the heat pump and the cell membrane are warm", ["heat pump", "cell membrane"]),
    ("a heat pump is safe", ["heat pump"]),
    ("a thin cell membrane is warm", ["cell membrane"]),
]
MENTIONS = [
    {
        "sentence": sentence,
        "start": sentence.index(phrase),
        "end": sentence.index(phrase) + len(phrase),
        "phrase": phrase,
        "label": phrase,
    }
    for sentence, phrases in SENTENCES
    for phrase in phrases
]


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A home with a bundle that trains in no time."""
    monkeypatch.setenv("INDEXER_THREADS", "1")  # two would wait for the tests beside this one
    base = write_base(tmp_path / "base")
    pooling = Pooling(span_layers=(1, 2), document_layers=(2,))
    bundle = Bundle(name="tiny", base={"folder": str(base)}, pooling=pooling, window_tokens=32)
    write_bundle(bundle, tmp_path / "home" / "bundles" / "tiny")
    return tmp_path / "home"


def test_a_bundle_is_made_and_the_next_command_named(run, tiny, tmp_path, write):
    spans = write(tmp_path / "spans.jsonl", MENTIONS)
    asked = ("train", "uctopic", "--mentions", spans, "--steps", "2", "--name", "mine", "--bundle", "tiny")
    done = run(*asked, home=tiny)
    shown = done.stdout
    assert "Only 2 steps: it has hardly learned anything." in done.stderr
    assert "Bundle 'mine' is in" in shown
    assert f"--home {tiny} index SOURCE --bundle mine --collection NAME" in shown
    card = json.loads((tiny / "bundles" / "mine" / "bundle.json").read_text())
    assert card["about"] == "UCTopic on tiny: spans.jsonl."
    card["scores"].pop("steps")  # as an earlier version has written it
    (tiny / "bundles" / "mine" / "bundle.json").write_text(json.dumps(card))
    assert "Bundle 'mine' is in" in run(*asked, home=tiny).stdout
    assert set(json.loads(run(*asked, "--json", home=tiny).stdout)) == {"name", "folder", "scores"}


def test_keyphrase_weights_stand_in_the_bundle(run, tiny, tmp_path, write):
    text = (
        "The heat pump {0} and the cell membrane {0} and a house {0} and a solid state battery {0} are warm."
    )
    texts = write(tmp_path / "texts.jsonl", [{"id": i, "text": text.format("x" * i)} for i in range(1, 25)])
    asked = ("train", "keyphrases", "--corpus", texts, "--steps", "2", "--no-encoder", "--bundle", "tiny")
    assert "Bundle 'keyphrases' is in" in run(*asked, home=tiny).stdout
    card = json.loads((tiny / "bundles" / "keyphrases" / "bundle.json").read_text())
    assert card["heads"] == ["keyphrases"]


@pytest.mark.slow
def test_entities_are_measured_after_training_on_them(run, tiny, tmp_path, write):
    spans = write(tmp_path / "spans.jsonl", MENTIONS)
    asked = ("evaluate", "entities", "--data", spans, "--seeds", "1", "--bundle", "tiny", "--json")
    run(*asked, "--adapt", "2", "--steps", "2", home=tiny)
    made = {path.name for path in (tiny / "bundles").iterdir()}
    assert made == {"tiny", "tiny-spans-0", "tiny-spans-1"}
    assert not list((tiny / "training" / "mined").glob("*"))


@pytest.fixture
def short(tmp_path, write):
    """Short texts of two kinds."""
    lines = [
        {"text": f"{words} {'the ' * (at // 2)}", "label": words}
        for at, words in enumerate(["heat pump warm house", "thin cell membrane"] * 10)
    ]
    return write(tmp_path / "short.jsonl", lines)


def test_documents_are_trained_by_all_layers(run, tiny, short):
    asked = ("train", "hs-gc", "--corpus", short, "--clusters", "2", "--steps", "2", "--bundle", "tiny")
    assert "Bundle 'hs-gc' is in" in run(*asked, home=tiny).stdout
    card = json.loads((tiny / "bundles" / "hs-gc" / "bundle.json").read_text())
    assert card["about"] == "HS-GC on tiny: short.jsonl."
    assert card["pooling"]["document_layers"] == [1, 2]
    assert card["scores"]["clusters"] == 2
    run(*asked, "--own-layers", "--name", "own", home=tiny)
    card = json.loads((tiny / "bundles" / "own" / "bundle.json").read_text())
    assert card["pooling"]["document_layers"] == [2]


def test_texts_are_measured_after_training_on_them(run, tiny, short, monkeypatch):
    monkeypatch.setattr("models.load.run_bundle", lambda bundle, **settings: WideHashEncoder())
    asked = ("evaluate", "texts", "--data", short, "--seeds", "1", "--bundle", "tiny", "--json")
    found = json.loads(run(*asked, "--adapt", "2", "--steps", "2", home=tiny).stdout)
    assert [*found["rows"]] == ["K-means", "all layers", "HS-GC"]
    assert {path.name for path in (tiny / "bundles").iterdir()} == {
        "tiny", "tiny-short-all-0", "tiny-short-all-1",
    }  # fmt: skip


@pytest.mark.parametrize("recipe", ["uctopic", "keyphrases", "hs-gc"])
def test_without_texts_it_says_which_options_name_them(run, tiny, recipe):
    result = run("train", recipe, home=tiny)
    assert result.exit_code == 2
    assert "--corpus" in result.stderr


def test_a_time_that_is_none(run, tiny, tmp_path, write):
    spans = write(tmp_path / "spans.jsonl", MENTIONS)
    result = run("train", "uctopic", "--mentions", spans, "--budget", "soon", home=tiny)
    assert result.exit_code == 2
    assert "'soon' is not a time; write 90s, 30m or 2h." in result.stderr
