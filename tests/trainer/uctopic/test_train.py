"""The whole way from texts to a bundle, on a tiny network."""

import json
from dataclasses import replace

import pytest

from indexer.log import configure
from indexer.protocols import Window
from models.registry import Registry
from tests.models.conftest import encoder_of
from trainer.base.corpus import FoundPhrases, mine
from trainer.base.sources import shares
from trainer.uctopic.options import UCTopicOptions
from trainer.uctopic.train import train_uctopic

pytestmark = [pytest.mark.usefixtures("small_training"), pytest.mark.xdist_group("transformers")]

CONTEXTS = {
    "heat pump": "the warm house is safe and the {} is warm .",
    "cell membrane": "a thin , thin {} is thin .",
}


@pytest.fixture(scope="module")
def spans(tmp_path_factory):
    """Two phrases that have nothing in common but their contexts."""
    lines = []
    for at in range(20):
        for phrase, context in CONTEXTS.items():
            sentence = " ".join(["and"] * (at % 4) + ["the"] * (at // 4) + [context.format(phrase)])
            start = sentence.index(phrase)
            lines.append({"sentence": sentence, "start": start, "end": start + len(phrase), "phrase": phrase})
    path = tmp_path_factory.mktemp("spans") / "spans.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


OPTIONS = UCTopicOptions(name="mine", steps=40, learning_rate=8e-3, warmup=2, eval_every=10, threads=1)


@pytest.fixture(scope="module")
def whole(bundle, spans, tmp_path_factory, small_training):
    """A bundle that was trained without a break."""
    return train_uctopic(bundle, replace(OPTIONS, mentions=(spans,)), home=tmp_path_factory.mktemp("whole"))


def test_it_learns_to_tell_a_masked_phrase_by_its_context(whole, bundle):
    home = whole.folder.parent.parent
    assert whole.scores["held_back"] == 1.0  # untrained, a mask says nothing
    assert Registry(home).get("mine").fingerprint == whole.fingerprint != bundle.fingerprint
    assert {p.name for p in whole.folder.iterdir()} == {
        "adapter.safetensors", "bundle.json", "curve.json", "curve.png", "training.json",
    }  # fmt: skip
    assert len(json.loads((whole.folder / "curve.json").read_text())) == 40
    assert not list((home / "training").iterdir())  # no rubbish is left


@pytest.mark.slow
def test_stopped_after_its_last_step_it_says_that_it_goes_on(bundle, spans, tmp_path):
    def stop(stage, done, total):
        if stage == "align":
            raise KeyboardInterrupt

    told = []
    with pytest.raises(KeyboardInterrupt):
        train_uctopic(bundle, replace(OPTIONS, mentions=(spans,)), home=tmp_path, progress=stop)
    train_uctopic(
        bundle,
        replace(OPTIONS, mentions=(spans,)),
        home=tmp_path,
        progress=lambda stage, *_: told.append(stage),
    )
    assert "note: Resumes a training whose 40 steps are complete." in told


@pytest.mark.slow
def test_killed_and_started_again_it_ends_the_same(whole, bundle, spans, tmp_path):
    options = replace(OPTIONS, mentions=(spans,))

    def stop(stage, done, total):
        if stage.startswith("train") and done == 25:
            raise KeyboardInterrupt

    told = []
    with pytest.raises(KeyboardInterrupt):
        train_uctopic(bundle, options, home=tmp_path / "killed", progress=stop)
    again = train_uctopic(
        bundle, options, home=tmp_path / "killed", progress=lambda stage, *_: told.append(stage)
    )
    assert again.fingerprint == whole.fingerprint
    notes = [stage for stage in told if stage.startswith("note")]
    assert notes == ["note: Resumes a training at step 26 of 40."]
    losses = [
        [step["loss"] for step in json.loads((b.folder / "curve.json").read_text())] for b in (whole, again)
    ]
    assert losses[0] == losses[1]


def stages_of(bundle, options, home, **more):
    seen = []
    train_uctopic(bundle, options, home=home, progress=lambda stage, *_: seen.append(stage), **more)
    return seen


@pytest.mark.slow
def test_a_training_that_ends_leaves_what_others_have_mined(bundle, spans, tmp_path):
    def stop(stage, done, total):
        if stage.startswith("train") and done == 2:
            raise KeyboardInterrupt

    options = replace(OPTIONS, steps=4, eval_every=1, mentions=(spans,))
    other = replace(options, name="theirs")
    with pytest.raises(KeyboardInterrupt):
        train_uctopic(bundle, options, home=tmp_path, progress=stop)
    assert "tag" in stages_of(bundle, other, tmp_path)
    assert "tag" not in stages_of(bundle, options, tmp_path)
    assert not list((tmp_path / "training").iterdir())


def test_two_trainings_may_share_what_is_mined(bundle, spans, tmp_path):
    options = replace(OPTIONS, steps=1, mentions=(spans,))
    other = replace(options, name="theirs")
    shared = tmp_path / "mined"
    assert "tag" in stages_of(bundle, options, tmp_path / "home", mined=shared)
    assert "tag" not in stages_of(bundle, other, tmp_path / "home", mined=shared)


@pytest.mark.slow
def test_few_texts_are_a_warning(bundle, spans, tmp_path, capsys, monkeypatch):
    configure()
    options = replace(OPTIONS, steps=2, mentions=(spans,))
    train_uctopic(bundle, options, home=tmp_path / "few")
    assert "warning few_texts_to_learn_from texts=40" in capsys.readouterr().err
    monkeypatch.setattr("trainer.base.sources.FEW_TEXTS", 40)
    train_uctopic(bundle, options, home=tmp_path / "enough")
    assert "few_texts" not in capsys.readouterr().err


@pytest.mark.slow
def test_documents_stay_nearer_than_they_would(bundle, spans, tmp_path, monkeypatch):
    windows = [Window(CONTEXTS["heat pump"].format("heat pump"), ((43, 52),))]
    before = encoder_of(bundle, "torch-fp32", tmp_path).encode(windows)[0].document
    # Alignment would bring both back.
    monkeypatch.setattr("trainer.base.phrase_training.align_documents", lambda *_, **__: None)

    def similarity(weight):
        monkeypatch.setattr("trainer.base.anchor.KEEP_WEIGHT", weight)
        options = replace(OPTIONS, name=f"kept-{weight:g}", mentions=(spans,))
        made = train_uctopic(bundle, options, home=tmp_path)
        return float(before @ encoder_of(made, "torch-fp32", tmp_path).encode(windows)[0].document)

    assert similarity(10.0) > similarity(0.0) + 0.05


@pytest.mark.slow
def test_in_bfloat16_it_learns_the_same(bundle, spans, tmp_path, monkeypatch):
    def losses(name):
        options = replace(OPTIONS, name=name, steps=5, learning_rate=1e-3, mentions=(spans,))
        made = train_uctopic(bundle, options, home=tmp_path / "home")
        return [step["loss"] for step in json.loads((made.folder / "curve.json").read_text())]

    monkeypatch.setattr("trainer.base.autocast.multiplies_bfloat16", lambda: False)
    whole = losses("float32")
    monkeypatch.setattr("trainer.base.autocast.multiplies_bfloat16", lambda: True)
    half = losses("bfloat16")
    assert half != whole
    assert half == pytest.approx(whole, rel=0.05)


def test_tagging_takes_no_more_processes_than_threads_are_allowed(bundle, tmp_path, monkeypatch):
    seen = []

    def spy(documents, *, tagger, workers):
        seen.append(workers)
        raise KeyboardInterrupt

    monkeypatch.setattr("trainer.base.sources.found_in", spy)
    text = tmp_path / "a.txt"
    text.write_text("The heat pump is warm.")
    with pytest.raises(KeyboardInterrupt):
        train_uctopic(bundle, replace(OPTIONS, corpus=(text,), threads=3), home=tmp_path / "home")
    assert seen == [3]


@pytest.mark.slow
def test_what_was_trained_is_not_trained_again(bundle, spans, tmp_path):
    def stages(options):
        seen = []
        train_uctopic(bundle, options, home=tmp_path, progress=lambda stage, *_: seen.append(stage))
        return seen

    other = tmp_path / "spans.jsonl"
    other.write_text(spans.read_text())
    options = replace(OPTIONS, steps=5, mentions=(other,))
    assert stages(options)
    assert not stages(options)
    assert stages(replace(options, steps=6))
    other.write_text(spans.read_text() * 2)
    assert stages(replace(options, steps=6))


def test_mining_and_settling_count_for_the_budget(bundle, spans, tmp_path, monkeypatch):
    clock, seen = iter([0, 100]), []

    def spy(recipe, network, config, checkpoint):
        seen.append(config.budget_s)
        raise KeyboardInterrupt

    monkeypatch.setattr("trainer.base.phrase_training.time.perf_counter", lambda: next(clock))
    monkeypatch.setattr("trainer.base.job.train", spy)
    options = replace(OPTIONS, budget=250.0, mentions=(spans,))
    with pytest.raises(KeyboardInterrupt):
        train_uctopic(bundle, options, home=tmp_path)
    assert seen == [112.5]  # 100 s are gone, and 15 % are kept for the end


def test_half_of_the_batches_are_the_targets_but_a_small_one_is_not_overfitted(tmp_path, monkeypatch):
    """Ten phrases that two texts have are seen five times: 50 pairs of the 96 of each step."""

    monkeypatch.setattr("trainer.base.sources.BATCH", 96)

    def source(name, phrases):
        found = []
        for document, begin in enumerate(("one", "two other")):
            words = [f"w{number}" for number in range(phrases)]
            text = " ".join([begin, *words, "end"])
            spans = tuple((at := text.index(f" {word} ") + 1, at + len(word)) for word in words)
            found.append(FoundPhrases(text, spans, (), document))
        return mine(found, tmp_path / name)

    small, nine_times_as_large = source("small", 4), source("large", 36)
    target = source("target", 10)
    general = [small, nine_times_as_large]
    assert shares(general, [], 10) == pytest.approx([1 / 4, 3 / 4])
    assert shares(general, [target], 1) == pytest.approx([1 / 8, 3 / 8, 1 / 2])
    rest = 1 - 50 / 960
    assert shares(general, [target], 10) == pytest.approx([rest / 4, rest * 3 / 4, 50 / 960])
    assert shares([], [target, small], 10) == [0.5, 0.5]
