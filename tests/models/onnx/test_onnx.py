"""The graphs written by hand. That float32 computes what transformers does is in test_network.py."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from indexer.errors import BackendUnavailable, ModelError
from indexer.protocols import Window
from models.bundle import write_bundle
from models.checksums import FILE
from models.onnx import backend
from models.onnx.backend import DATA, GRAPH, exported
from models.onnx.graph import Shape, quantise
from tests.models.conftest import encoder_of
from tests.models.test_encoder import WINDOWS, same

ROOT = Path(__file__).parents[3]


def test_quantise_by_hand():
    weight = np.array([[0.5, -2.0], [-1.0, 0.9]], dtype=np.float32)
    small, scales = quantise(weight, 127)
    assert scales == pytest.approx([1 / 127, 2 / 127])
    assert small.tolist() == [[64, -127], [-127, 57]]  # 63.5 rounds to even
    assert small.dtype == np.int8


def test_quantise_keeps_an_output_of_zeros():
    small, scales = quantise(np.zeros((2, 1), dtype=np.float32), 127)
    assert small.tolist() == [[0], [0]]
    assert np.isfinite(scales).all()


@pytest.mark.parametrize("exactly", [True, False])
def test_int8_is_near_fp32(bundle, tmp_path, encoder, monkeypatch, exactly):
    monkeypatch.setattr(backend, "multiplies_int8_exactly", lambda: exactly)
    small = encoder_of(bundle, "onnx-int8", tmp_path)
    for exact, rough in zip(encoder.encode(WINDOWS), small.encode(WINDOWS), strict=True):
        assert np.sum(exact.mentions * rough.mentions, axis=1).min() > 0.998
        assert exact.document @ rough.document > 0.998
        assert rough.attention == pytest.approx(exact.attention, rel=0.03)
    variant = "int8" if exactly else "int7"
    assert [folder.name.split("-")[1] for folder in (tmp_path / "onnx").iterdir()] == [variant]


@pytest.mark.parametrize("name", ["onnx-fp32", "onnx-int8"])
def test_vectors_do_not_depend_on_the_batch(bundle, home, name):
    encoder = encoder_of(bundle, name, home, threads=2)
    together = encoder.encode(WINDOWS * 3 + [Window("heat pump " * n) for n in range(8)])
    alone = [encoder.encode([window])[0] for window in WINDOWS * 3]
    assert same(together[: len(alone)], alone)

    phrases = ["heat pump", "heat", "solid state battery", "cell membrane", "house"]
    at_once = encoder.encode_phrases(phrases)
    other = encoder_of(bundle, name, home)
    assert np.array_equal(at_once, np.concatenate([other.encode_phrases([phrase]) for phrase in phrases]))


# -- the file


def test_the_graph_is_written_once(bundle, tmp_path):
    folder = exported(bundle, tmp_path, quantised=False)
    assert sorted(os.listdir(folder)) == [FILE, GRAPH, DATA]
    before = (folder / GRAPH).stat().st_mtime_ns
    assert exported(bundle, tmp_path, quantised=False) == folder
    assert (folder / GRAPH).stat().st_mtime_ns == before
    assert os.listdir(tmp_path / "onnx") == [folder.name]  # nothing unfinished is left


def test_another_bundle_has_another_graph(bundle, tmp_path):
    other = replace(bundle, pooling=replace(bundle.pooling, attention_layers=(1,)))
    assert exported(bundle, tmp_path, quantised=False) != exported(other, tmp_path, quantised=False)


def test_an_unfinished_graph_is_written_again(bundle, tmp_path, monkeypatch):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr("onnx.save_model", lambda *_, **__: (_ for _ in ()).throw(full))
    with pytest.raises(ModelError, match="No space left on device") as caught:
        exported(bundle, tmp_path, quantised=True)
    assert not isinstance(caught.value, BackendUnavailable)  # another backend would give other topics
    assert os.listdir(tmp_path / "onnx") == []
    monkeypatch.undo()
    assert (exported(bundle, tmp_path, quantised=True) / GRAPH).is_file()


@pytest.mark.parametrize("damage", ["zeroed", "cut", "removed"])
def test_a_damaged_graph_is_written_again(bundle, tmp_path, damage):
    folder = exported(bundle, tmp_path, quantised=False)
    data = folder / DATA
    original = data.read_bytes()
    if damage == "removed":
        data.unlink()
    else:
        data.write_bytes(bytes(len(original)) if damage == "zeroed" else original[: len(original) // 2])
    assert exported(bundle, tmp_path, quantised=False) == folder
    assert data.read_bytes() == original


def test_a_graph_without_checksums_is_used_as_it_is(bundle, tmp_path):
    folder = exported(bundle, tmp_path, quantised=False)
    (folder / FILE).unlink()
    before = (folder / DATA).stat().st_mtime_ns
    assert exported(bundle, tmp_path, quantised=False) == folder
    assert (folder / DATA).stat().st_mtime_ns == before


def test_a_damaged_graph_that_cannot_be_replaced_is_refused(bundle, tmp_path, monkeypatch):
    folder = exported(bundle, tmp_path, quantised=False)
    (folder / DATA).write_bytes(b"x")
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    with pytest.raises(BackendUnavailable, match="cannot be kept"):
        exported(bundle, tmp_path, quantised=False)


def test_a_race_is_won_by_the_first(bundle, tmp_path, monkeypatch):
    import onnx

    save = onnx.save_model

    def slow(*args: object, **options: object) -> None:
        monkeypatch.undo()
        exported(bundle, tmp_path, quantised=False)  # the other process
        save(*args, **options)

    monkeypatch.setattr("onnx.save_model", slow)
    folder = exported(bundle, tmp_path, quantised=False)
    assert os.listdir(tmp_path / "onnx") == [folder.name]


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "bart", "hidden_act": "gelu"},
        {"model_type": "bert", "hidden_act": "relu"},
        {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "relative_key"},
        {},
    ],
    ids=str,
)
def test_what_cannot_be_written_is_refused(config):
    with pytest.raises(BackendUnavailable, match="cannot run this base model") as caught:
        Shape.of(config)
    assert "torch-fp32" in caught.value.hint


# -- start


def test_a_query_loads_neither_torch_nor_transformers_nor_onnx(bundle, tmp_path):
    write_bundle(bundle, tmp_path / "bundles" / "tiny")
    exported(bundle, tmp_path, quantised=True)
    code = (
        "import json, sys; from pathlib import Path; from models.load import load_encoder;"
        f"encoder = load_encoder('tiny', home=Path({str(tmp_path)!r}), backend='onnx-int8', threads=1);"
        "vectors = encoder.encode_texts(['heat pump']);"
        "heavy = {'torch', 'transformers', 'onnx', 'sentence_transformers', 'sklearn', 'spacy', 'safetensors'};"
        "print(json.dumps([sorted(heavy & set(sys.modules)), vectors.shape]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert json.loads(done.stdout) == [[], [1, 32]]
    assert done.stderr == ""


def test_models_carry_nothing_at_import():
    code = "import sys; before = set(sys.modules); import models; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "['models']"
