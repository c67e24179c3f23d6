from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from indexer.errors import BackendUnavailable
from indexer.protocols import Encoding, Window
from models import calibrate as module
from models.calibrate import (
    FILE,
    BackendResult,
    CalibrationSample,
    calibrate,
    candidates,
    choose,
    chosen_backend,
    keyphrase_points,
    measure,
    remembered_results,
)
from models.load import load_encoder
from tests.models.conftest import encoder_of

pytestmark = pytest.mark.xdist_group("transformers")  # one process alone imports that library

FAST = BackendResult("onnx-int8", windows_per_second=200)
SLOW = BackendResult("onnx-fp32", windows_per_second=100)


def encoding(document: list[float], mentions: list[list[float]], attention: list[float]) -> Encoding:
    return Encoding(
        np.array(document, dtype=np.float32),
        5,
        np.array(mentions, dtype=np.float32),
        np.array(attention, dtype=np.float32),
    )


@pytest.fixture
def quick(monkeypatch):
    """Few texts, one round, and windows that the tiny bundle can take."""
    monkeypatch.setattr(module, "ROUNDS", 1)
    monkeypatch.setattr(
        module,
        "_abstracts",
        lambda: iter([("Heat pump", "The heat pump is safe. A solid state battery is thin.")] * 3),
    )
    monkeypatch.setattr(module, "candidates", lambda: ["onnx-fp32", "torch-fp32", "onnx-int8"])


# -- the choice


def test_the_fastest_is_chosen():
    assert choose([SLOW, FAST]) == "onnx-int8"


def test_what_was_refused_is_not_chosen():
    assert choose([SLOW, replace(FAST, refused="keyphrases 20.0, float32 80.0")]) == "onnx-fp32"


def test_no_backend_at_all_says_why():
    with pytest.raises(BackendUnavailable, match="onnx-fp32: no library"):
        choose([replace(SLOW, refused="no library")])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"keyphrases": 79.1}, ""),
        ({"keyphrases": 78.9}, "keyphrases 78.9, float32 80.0"),
        ({"keyphrases": 90.0}, ""),
        ({"neighbours": 0.85}, ""),
        ({"neighbours": 0.84}, "keeps 84% of the nearest neighbours, 85% are needed"),
    ],
)
def test_accuracy_decides_what_may_be_taken(changes, reason):
    reference = BackendResult("onnx-fp32", keyphrases=80.0, neighbours=1.0)
    assert module._too_different(replace(reference, **changes), reference) == reason


def test_torch_is_tried_only_where_it_may_win(monkeypatch):
    monkeypatch.setattr(module, "multiplies_bfloat16", lambda: False)
    monkeypatch.setattr(module, "has_gpu", lambda: False)
    assert candidates() == ["onnx-fp32", "torch-fp32", "onnx-int8"]
    monkeypatch.setattr(module, "multiplies_bfloat16", lambda: True)
    monkeypatch.setattr(module, "has_gpu", lambda: True)
    assert candidates() == ["onnx-fp32", "torch-fp32", "onnx-int8", "torch-bf16", "torch"]


# -- the figures


def test_keyphrase_points_by_hand():
    sample = CalibrationSample(
        windows=[Window("")], documents=[0], phrases=[["heat pump", "house", "roof"]], titled=[{"heat pump"}]
    )
    # Scores, cosine + attention / highest attention: 0 + 0.5, 1 + 0, 0 + 1/4: before one of two others.
    one = encoding([1, 0], [[0, 1], [1, 0], [0, 1]], [2, 0, 1])
    assert keyphrase_points([one], sample) == pytest.approx(50)  # the house is first
    one = encoding([1, 0], [[0, 1], [1, 0], [0, 1]], [4, 0, 1])
    assert keyphrase_points([one], sample) == pytest.approx(50)  # a tie does not count
    one = encoding([1, 0], [[1, 0], [1, 0], [0, 1]], [4, 0, 1])
    assert keyphrase_points([one], sample) == pytest.approx(100)


def test_documents_without_a_right_phrase_do_not_count():
    sample = CalibrationSample([Window("")], [0], [["house"]], [{"heat pump"}, set()])
    assert keyphrase_points([encoding([1, 0], [[1, 0]], [1])], sample) == 0


def test_candidates_are_pairs_and_triples_without_stop_words():
    text = "The Heat pump of a solid state battery cell, and photovoltaic. It is."
    found = list(module._candidates(text))
    assert [phrase for phrase, _ in found] == ["heat pump", "solid state battery", "photovoltaic"]
    assert all(text[start:end].lower() == phrase for phrase, (start, end) in found)


@pytest.mark.slow
def test_the_shipped_sample_fits_the_encoder(tmp_path):
    encoder = load_encoder("minilm-base", home=tmp_path, backend="onnx-int8", threads=1)
    sample = CalibrationSample.of(encoder)
    assert max(encoder.count_tokens([window.text for window in sample.windows])) <= encoder.window_tokens
    assert len(sample.titled) == module.DOCUMENTS
    assert 10 < np.mean([len(window.spans) for window in sample.windows]) < 30


def test_measure_finds_a_backend_that_says_something_else(bundle, home, quick):
    class Wrong:
        """Turns every second number of a vector round."""

        def __init__(self, encoder) -> None:
            self.encoder = encoder

        def encode(self, windows):
            draw = np.random.default_rng(0)
            return [
                replace(found, mentions=draw.normal(size=found.mentions.shape).astype(np.float32))
                for found in self.encoder.encode(windows)
            ]

    encoder = encoder_of(bundle, "onnx-fp32", home)
    sample = CalibrationSample.of(encoder)
    many = CalibrationSample(sample.windows * 20, sample.documents * 20, sample.phrases * 20, sample.titled)
    results = measure({"onnx-fp32": encoder, "wrong": Wrong(encoder)}, many)
    assert results["onnx-fp32"].refused == ""
    assert results["onnx-fp32"].neighbours == 1
    assert results["wrong"].refused


# -- what is remembered


def test_a_choice_is_measured_once(bundle, tmp_path, quick, monkeypatch):
    results = calibrate(bundle, tmp_path, 1)
    assert [result.name for result in results] == ["onnx-fp32", "onnx-int8"]  # torch's float32 is not needed
    assert all(result.windows_per_second > 0 for result in results)
    assert remembered_results(bundle, tmp_path, 1) == results
    monkeypatch.setattr(module, "calibrate", lambda *_: pytest.fail("measured again"))
    assert chosen_backend(bundle, tmp_path, 1) == choose(results)


def test_auto_measures_and_remembers(bundle, tmp_path, quick):
    from models.bundle import write_bundle

    write_bundle(bundle, tmp_path / "bundles" / "tiny")
    encoder = load_encoder("tiny", home=tmp_path, threads=1)
    [entry] = json.loads((tmp_path / FILE).read_text(encoding="utf-8")).values()
    assert encoder.bundle.split("+")[1] in [result["name"] for result in entry["results"]]
    assert entry["bundle"] == "tiny"


def test_another_machine_bundle_or_number_of_threads_is_measured_anew(bundle, tmp_path, quick, monkeypatch):
    calibrate(bundle, tmp_path, 1)
    assert remembered_results(bundle, tmp_path, 2) is None
    assert remembered_results(replace(bundle, window_tokens=8), tmp_path, 1) is None
    monkeypatch.setattr(module, "cpu_model", lambda: "another CPU")
    assert remembered_results(bundle, tmp_path, 1) is None
    calibrate(bundle, tmp_path, 1)
    assert len(json.loads((tmp_path / FILE).read_text(encoding="utf-8"))) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_a_damaged_file_is_measured_anew(bundle, tmp_path, quick, text):
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    assert remembered_results(bundle, tmp_path, 1) is None
    assert calibrate(bundle, tmp_path, 1) == remembered_results(bundle, tmp_path, 1)


def test_results_of_another_version_are_measured_anew(bundle, tmp_path, quick):
    calibrate(bundle, tmp_path, 1)
    entries = json.loads((tmp_path / FILE).read_text(encoding="utf-8"))
    for entry in entries.values():
        entry["results"][0]["colour"] = "red"
    (tmp_path / FILE).write_text(json.dumps(entries), encoding="utf-8")
    assert remembered_results(bundle, tmp_path, 1) is None


def test_the_file_does_not_grow_for_ever(bundle, tmp_path, quick, monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED", 2)
    for threads in (1, 2, 3):
        module._remember(bundle, tmp_path, threads, [SLOW])
    assert remembered_results(bundle, tmp_path, 1) is None
    assert remembered_results(bundle, tmp_path, 3) == [SLOW]


def test_a_backend_that_does_not_load_is_refused_with_its_reason(bundle, tmp_path, quick, monkeypatch):
    make = module.make_backend

    def without_int8(bundle, name, **options):
        if name == "onnx-int8":
            raise BackendUnavailable("no int8 here")
        return make(bundle, name, **options)

    monkeypatch.setattr(module, "make_backend", without_int8)
    results = calibrate(bundle, tmp_path, 1)
    assert [result.refused for result in results] == ["", "no int8 here"]
    assert choose(results) == "onnx-fp32"


def test_torch_is_the_float32_where_onnx_cannot_be(bundle, tmp_path, quick, monkeypatch):
    make = module.make_backend

    def without_onnx(bundle, name, **options):
        if name.startswith("onnx"):
            raise BackendUnavailable("cannot run this base model")
        return make(bundle, name, **options)

    monkeypatch.setattr(module, "make_backend", without_onnx)
    assert choose(calibrate(bundle, tmp_path, 1)) == "torch-fp32"


def test_an_unknown_backend_lists_those_there_are(tmp_path):
    with pytest.raises(BackendUnavailable, match=r"no backend 'tensorflow'\. Available: auto, torch-fp32"):
        load_encoder("minilm-base", home=tmp_path, backend="tensorflow")
