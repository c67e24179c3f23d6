"""SimCKP from labelled documents to a bundle that indexes: it learns a handful by heart, and resumes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from indexer.errors import BundleIncompatible, InputError, NotEnoughData
from indexer.keyphrases.ranker import CLUES
from indexer.pipeline.windows import encode_documents
from indexer.records import Document
from indexer.text.prepare import Preparer
from models.load import load_encoder
from models.ranker import VOCABULARY, read_ranker
from trainer.simckp.data import read_labelled
from trainer.simckp.options import SimCKPOptions
from trainer.simckp.recipe import best_threshold
from trainer.simckp.train import train_simckp

OPTIONS = SimCKPOptions(name="ranked", steps=100, tagger="shipped", threads=1, backend="onnx-fp32")
WARM, COLD = "heat pump", "cell membrane"


@pytest.fixture
def data(tmp_path):
    """Documents of two kinds, each with one keyphrase that stands there and one that does not."""
    path = tmp_path / "labelled.jsonl"
    lines = []
    for at in range(40):
        if at % 2:
            text, keyphrases = (
                f"The {WARM} is warm and the {WARM} is safe. The house is warm.",
                [WARM, "thin solid"],
            )
        else:
            text, keyphrases = f"A {COLD} is a thin {COLD}. The battery, solid state.", [COLD, "warm house"]
        lines.append({"id": str(at), "text": text + " the" * (at // 2), "keyphrases": keyphrases})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def encoder(bundle, home):
    return load_encoder(bundle.name, home=home, backend="onnx-fp32", threads=1)


@pytest.fixture
def small(bundle, tmp_path):
    """In a home of its own."""
    from models.bundle import write_bundle
    from models.registry import Registry

    home = tmp_path / "home"
    write_bundle(replace(bundle, window_tokens=60), tmp_path / "base")
    return Registry(home).add(tmp_path / "base"), home


@pytest.mark.slow
def test_it_learns_a_handful_by_heart_and_the_bundle_uses_it(small, data):
    bundle, home = small
    made = train_simckp(bundle, replace(OPTIONS, data=(data,)), home=home)
    losses = [step["loss"] for step in json.loads((made.folder / "curve.json").read_text())]
    assert len(losses) == 200  # both stages
    assert losses[99] < 0.2 * losses[0]
    assert losses[199] < 0.4 * losses[100]
    assert (made.folder / "curve.png").stat().st_size > 0
    assert made.scores["absent_f1@5"] == pytest.approx(2 / 6, abs=1e-4)  # one of five, one there is: the best

    loaded = encoder(made, home)
    assert set(loaded.ranker.vocabulary.texts) == {WARM, COLD, "warm house", "thin solid"}
    document = Document(
        "new", "The house is safe. The heat pump is a heat pump and the cell membrane is thin."
    )
    [found] = encode_documents(loaded, [document], Preparer("shipped").prepare([document]))
    scores = loaded.ranker.rank(document, found)
    best = found.phrases[int(scores.argmax())][0].phrase
    assert best in (WARM, COLD)
    plain = encode_documents(encoder(bundle, home), [document], Preparer("shipped").prepare([document]))[0]
    assert np.array_equal(found.vector, plain.vector)  # the encoder is as it was
    assert len(found.phrases) > len(plain.phrases)  # parts of phrases, in the same pass


@pytest.mark.slow
def test_a_killed_training_ends_as_one_that_was_not(small, data, tmp_path):
    bundle, home = small
    whole = train_simckp(bundle, replace(OPTIONS, data=(data,), name="whole"), home=home)

    def dies(stage, done, total):
        if stage.startswith("train absent") and done == 30:
            raise KeyboardInterrupt

    options = replace(OPTIONS, data=(data,), name="torn")
    with pytest.raises(KeyboardInterrupt):
        train_simckp(bundle, options, home=home, progress=dies)
    seen = []
    torn = train_simckp(
        bundle, options, home=home,
        progress=lambda stage, done, total: seen.append(stage.split(":")[0]),
    )  # fmt: skip
    assert "train present" not in seen  # it had ended
    assert (torn.folder / "adapter.safetensors").read_bytes() == (
        whole.folder / "adapter.safetensors"
    ).read_bytes()
    assert not list((home / "training").glob("torn-*"))
    again = train_simckp(bundle, options, home=home, progress=dies)
    assert again.created == torn.created  # nothing is trained twice


@pytest.mark.slow
def test_a_ranker_without_its_vocabulary_is_refused(small, data):
    bundle, home = small
    made = train_simckp(bundle, replace(OPTIONS, data=(data,), steps=2), home=home)
    assert read_ranker(made).present.clues.shape == (len(CLUES),)
    (made.folder / VOCABULARY).unlink()
    with pytest.raises(BundleIncompatible, match="ranker of bundle 'ranked' is damaged"):
        read_ranker(made)
    assert read_ranker(bundle) is None


@pytest.mark.slow
def test_a_bundle_that_is_trained_again_keeps_its_adapter_and_has_one_ranker(small, data, tmp_path):
    bundle, home = small
    other = np.arange(3, dtype=np.float32)
    save_file({"heads.other": other}, bundle.folder / "adapter.safetensors")
    first = train_simckp(bundle, replace(OPTIONS, data=(data,), steps=2), home=home)
    again = train_simckp(first, replace(OPTIONS, data=(data,), steps=4, name="again"), home=home)
    before, after = (
        load_file(first.folder / "adapter.safetensors"),
        load_file(again.folder / "adapter.safetensors"),
    )
    assert before.keys() == after.keys()
    assert np.array_equal(before["heads.other"], other)
    assert np.array_equal(after["heads.other"], other)
    assert not np.array_equal(read_ranker(first).present.document, read_ranker(again).present.document)


def test_too_few_documents_are_not_enough(small, data):
    bundle, home = small
    few = data.with_name("few.jsonl")
    few.write_text("".join(data.read_text().splitlines(keepends=True)[:4]))
    with pytest.raises(NotEnoughData, match="4 documents have a keyphrase"):
        train_simckp(bundle, replace(OPTIONS, data=(few,)), home=home)


def test_titles_are_labels_where_there_are_no_others(tmp_path):
    path = tmp_path / "plain.jsonl"
    title = "The heat pump of a warm house"
    path.write_text(json.dumps({"title": title, "text": "The heat pump is safe in winter."}) + "\n")
    [one] = read_labelled([path], tagger="shipped", silver=True)
    assert one.document.title == ""
    assert one.present() == {"heat pump"}
    assert one.absent() == {"warm hous"}
    with pytest.raises(InputError, match=r"plain\.jsonl:1: \"keyphrases\" is missing"):
        read_labelled([path], tagger="shipped")


def test_best_threshold_by_hand():
    # Taking one gives F1 2/3 (one right of one taken and two there are), two 1/2, three 4/5, four 2/3.
    scores, right = np.array([0.9, 0.8, 0.7, 0.1]), np.array([True, False, True, False])
    assert best_threshold(scores, right, 2) == 0.7
    assert best_threshold(scores, right, 1) == pytest.approx(0.9)
