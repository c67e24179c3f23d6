"""Checkpoints of others, small and random, through import, encoding, two steps of training, and back from disk."""

from __future__ import annotations

import importlib
import json
import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from indexer.errors import BackendUnavailable, BundleIncompatible, BundleMissing, ModelError
from indexer.protocols import Window
from models.bundle import ADAPTER, read_bundle, write_bundle
from models.import_ import ImportOptions, import_checkpoint
from models.load import load_encoder
from models.registry import Registry
from models.tokens import TokenizerFile
from models.torch.network import Network
from tests.models.small_checkpoints import SIZES, write_checkpoint
from trainer.base.adapters import adapter_of, add_lora, only_layers
from trainer.base.forward import embed
from trainer.base.loop import TrainConfig, train
from trainer.base.losses import info_nce
from trainer.base.pairs import view_all

pytestmark = pytest.mark.xdist_group("transformers")  # one process alone imports that library


def transformers() -> Any:
    return importlib.import_module("transformers")


TEXT = "The café's heat pumps warm a house."
SPANS = ((4, 8), (11, 21), (22, 26), (0, 35))  # café, heat pumps, warm, all of it


def unit(vector):
    return vector / np.linalg.norm(vector)


@pytest.fixture(scope="module", params=[*SIZES])
def kind(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def source(kind, tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("source") / kind, kind)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def imported(source, home):
    return import_checkpoint(str(source), ImportOptions(), home=home)


def encoder(bundle):
    home = bundle.folder.parent.parent
    return load_encoder(bundle.name, home=home, backend="torch-fp32", threads=1)


def hidden_states(source, base):
    """Offsets and states of each layer [layers + 1, pieces, dims] by transformers alone, special tokens left out."""
    tokenizer = transformers().PreTrainedTokenizerFast(tokenizer_file=str(base / "tokenizer.json"))
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    found = tokenizer.backend_tokenizer.encode(TEXT)
    model = transformers().AutoModel.from_pretrained(source).eval()
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    with torch.inference_mode():
        states = model(input_ids=torch.tensor([found.ids]), output_hidden_states=True).hidden_states
    return found.offsets[1:-1], np.stack([layer[0, 1:-1].numpy() for layer in states])


def test_a_checkpoint_encodes_as_transformers_does(kind, source, imported):
    """LUKE's words too; its mentions are entities, which have tests of their own."""
    offsets, states = hidden_states(source, imported.base_folder)
    bundle = replace(imported, pooling=replace(imported.pooling, document_specials=False))
    write_bundle(bundle, imported.folder)
    [encoding] = encoder(bundle).encode([Window(TEXT, SPANS)])
    assert encoding.document == pytest.approx(unit(states[2].mean(axis=0)), abs=1e-5)
    if kind == "luke":
        return
    for row, (start, end) in enumerate(SPANS):
        inside = [at for at, (first, last) in enumerate(offsets) if first < end and start < last]
        assert encoding.mentions[row] == pytest.approx(unit(states[2, inside].mean(axis=0)), abs=1e-5)


def test_offsets_are_exact(imported):
    """Each mention's pieces begin and end where its characters do; "é" is two pieces in a byte-level vocabulary."""
    words = TokenizerFile(imported.base_folder / "tokenizer.json")
    [pieces] = words.split([TEXT])
    for start, end in SPANS:
        inside = (pieces.starts < end) & (pieces.ends > start)
        assert pieces.starts[inside].min() == start
        assert pieces.ends[inside].max() == end


def test_a_checkpoint_runs_wherever_it_can(kind, imported, home):
    if kind in ("luke", "bart"):
        with pytest.raises(BackendUnavailable):
            load_encoder(imported.name, home=home, backend="onnx-fp32", threads=1)
        return
    theirs = load_encoder(imported.name, home=home, backend="onnx-fp32", threads=1)
    [one], [other] = (some.encode([Window(TEXT, SPANS)]) for some in (encoder(imported), theirs))
    assert one.mentions == pytest.approx(other.mentions, abs=1e-5)


def test_layers_and_name_can_be_chosen(source, home):
    wanted = ImportOptions(f"{source.name}-other", span_layers=(1, 2), document_layers=(0, 1))
    bundle = import_checkpoint(str(source), wanted, home=home)
    assert bundle.name == f"{source.name}-other"
    assert (bundle.pooling.span_layers, bundle.pooling.document_layers) == ((1, 2), (0, 1))
    assert len(encoder(bundle).encode_texts(["heat pump"])[0]) == 32


# -- training


class Pairs:
    """A recipe of four pairs that are always the same."""

    def __init__(self, network, words):
        self.network, self.padding = network, words.padding
        texts = ["The heat pump is safe.", "A heat pump warms.", "The cell is thin.", "A cell membrane"]
        texts += ["solid state", "The solid state battery", "a house and", "The warm house"]
        self.views = view_all(words, [(text, (0, len(text)), False) for text in texts])

    def parameters(self):
        return self.network.parameters()

    def vectors(self):
        return embed(self.network, self.views, self.padding)

    def loss(self, step):
        vectors = self.vectors()
        return info_nce(vectors[0::2], vectors[1::2])

    def score(self):
        return 0.0


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 2])
def test_two_steps_are_learned_saved_and_loaded(imported, rank):
    torch.manual_seed(0)  # of the adapter's first weights
    words = TokenizerFile(imported.base_folder / "tokenizer.json")
    network = Network(imported)
    before = Pairs(network, words).vectors().detach()
    if rank:
        add_lora(network, rank)
    else:
        only_layers(network)
    recipe = Pairs(network, words)
    steps = list(train(recipe, network, TrainConfig(steps=2, warmup=1, learning_rate=1e-2)))
    assert len(steps) == 2
    network.eval()
    learned = recipe.vectors().detach()
    assert (learned - before).abs().max() > 0.05

    folder = imported.folder.parent / f"{imported.name}-trained-{rank}"
    bundle = replace(
        imported, name=folder.name, base=imported.base_beside, adapter={"scale": 1.0}, folder=folder
    )
    folder.mkdir()
    save_file(adapter_of(network, imported), folder / ADAPTER)
    write_bundle(bundle, folder)
    loaded = Pairs(Network(read_bundle(folder)), words).vectors().detach()
    assert loaded.numpy() == pytest.approx(learned.numpy(), abs=0.02)  # eight bits
    again = Pairs(Network(read_bundle(folder)), words).vectors().detach()
    assert torch.equal(loaded, again)
    with pytest.raises(ModelError, match=f"'{imported.name}' cannot be removed: .*trained"):
        Registry(folder.parent.parent).remove(imported.name)


# -- LUKE's entities


@pytest.fixture(scope="module")
def luke(tmp_path_factory):
    source = write_checkpoint(tmp_path_factory.mktemp("luke") / "luke", "luke", num_hidden_layers=1)
    return source, import_checkpoint(str(source), ImportOptions(), home=source.parent)


def test_a_mention_is_the_entity_that_transformers_computes(luke):
    """With one layer; with more, words look at entities there, and not here."""
    from transformers import AutoTokenizer

    source, bundle = luke
    tokenizer, model = (
        AutoTokenizer.from_pretrained(source),
        transformers().AutoModel.from_pretrained(source).eval(),
    )
    [encoding] = encoder(bundle).encode([Window(TEXT, SPANS)])
    for row, span in enumerate(SPANS):
        inputs = tokenizer(TEXT, entity_spans=[span], return_tensors="pt")
        assert inputs["entity_ids"].tolist() == [[4]]  # [MASK] of its entity vocabulary
        with torch.inference_mode():
            [[entity]] = model(**inputs).entity_last_hidden_state.numpy()
        assert encoding.mentions[row] == pytest.approx(unit(entity), abs=1e-5)
    assert (
        transformers().AutoConfig.from_pretrained(bundle.base_folder).entity_vocab_size == 3
    )  # the others are left out


def test_mentions_do_not_change_each_other_or_the_document(tmp_path):
    bundle = import_checkpoint(
        str(write_checkpoint(tmp_path / "luke", "luke")), ImportOptions(), home=tmp_path
    )
    some = encoder(bundle)
    [all_of_them] = some.encode([Window(TEXT, SPANS)])
    for row, span in enumerate(SPANS):
        [alone] = some.encode([Window(TEXT, (span,))])
        assert alone.mentions[0] == pytest.approx(all_of_them.mentions[row], abs=1e-5)
        assert alone.attention[0] == pytest.approx(all_of_them.attention[row], rel=1e-4)
        assert alone.document == pytest.approx(all_of_them.document, abs=1e-5)
    assert all_of_them.mentions[0] @ all_of_them.mentions[1] < 0.9999


def test_a_phrase_alone_is_the_entity_over_all_of_it(luke):
    _, bundle = luke
    some = encoder(bundle)
    [encoding] = some.encode([Window("heat pumps", ((0, 10),))])
    assert some.encode_phrases(["heat pumps", ""])[0] == pytest.approx(encoding.mentions[0], abs=1e-5)


def test_the_layer_that_uctopic_adds_is_kept(luke, tmp_path, monkeypatch):
    """tanh(W x + b), with W twice the identity and b = 0.1."""
    source, bundle = luke
    folder = shutil.copytree(source, tmp_path / "uctopic")
    weights = load_file(folder / "model.safetensors")
    weights["mlp.dense.weight"] = 2 * np.eye(32, dtype=np.float32)
    weights["mlp.dense.bias"] = np.full(32, 0.1, np.float32)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    theirs = import_checkpoint(str(folder), ImportOptions(), home=tmp_path)
    assert theirs.heads == ("mentions", "mentions_bias")
    network = Network(bundle)
    words = TokenizerFile(bundle.base_folder / "tokenizer.json")
    views = view_all(words, [(TEXT, SPANS[1], False)])
    monkeypatch.setattr("trainer.base.autocast.multiplies_bfloat16", lambda: False)
    [plain] = embed(network, views, words.padding).detach().numpy()
    [headed] = encoder(theirs).encode([Window(TEXT, SPANS)])
    assert headed.mentions[1] == pytest.approx(unit(np.tanh(2 * plain + 0.1)), abs=1e-5)


# -- what is refused


@pytest.fixture
def bert(tmp_path):
    return write_checkpoint(tmp_path / "some" / "bert", "bert")


def refused(source, tmp_path, error=BundleIncompatible):
    with pytest.raises(error) as caught:
        import_checkpoint(str(source), ImportOptions(), home=tmp_path / "home")
    assert not [*(tmp_path / "home").rglob("*")]
    return str(caught.value), caught.value.hint


def set_config(folder, **values):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))


def test_an_unknown_architecture_is_refused_with_those_that_are_known(bert, tmp_path):
    set_config(bert, model_type="mamba")
    message, _ = refused(bert, tmp_path)
    assert (
        "architecture 'mamba'; known are: bert, roberta, xlm-roberta, camembert, distilbert, luke, bart."
        in message
    )


def test_code_that_comes_with_a_model_is_refused(bert, tmp_path):
    set_config(bert, auto_map={"AutoModel": "modeling.Special"})
    assert "wants to run code of its own" in refused(bert, tmp_path)[0]


def test_pickles_are_refused_with_a_way_out(bert, tmp_path):
    (bert / "model.safetensors").rename(bert / "pytorch_model.bin")
    message, hint = refused(bert, tmp_path)
    assert "only there pickled (pytorch_model.bin)" in message
    assert "weights_only=True" in hint


def test_a_folder_without_weights_is_refused_as_such(bert, tmp_path):
    (bert / "model.safetensors").unlink()
    message, hint = refused(bert, tmp_path)
    assert message.startswith("There are no weights in")
    assert hint == "They are in model.safetensors."


@pytest.mark.slow
def test_the_way_out_of_pickles_works(bert, tmp_path):
    import shlex
    import subprocess
    import sys

    from models.import_ import AS_SAFETENSORS

    torch.save(transformers().AutoModel.from_pretrained(bert).state_dict(), bert / "pytorch_model.bin")
    (bert / "model.safetensors").unlink()
    subprocess.run([sys.executable, *shlex.split(AS_SAFETENSORS)[1:]], cwd=bert, check=True)
    assert import_checkpoint(str(bert), ImportOptions(), home=tmp_path / "home").dims == 32


def test_missing_weights_are_named(bert, tmp_path):
    weights = load_file(bert / "model.safetensors")
    del weights["encoder.layer.1.output.dense.bias"]
    save_file(weights, bert / "model.safetensors", metadata={"format": "pt"})
    message, _ = refused(bert, tmp_path)
    assert message.endswith("lacks 1 weights, the first: encoder.layer.1.output.dense.bias.")


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json"])
def test_damaged_files_are_refused(bert, tmp_path, file):
    (bert / file).write_bytes(b"{")
    assert "bert" in refused(bert, tmp_path)[0]


def test_a_tokenizer_that_is_too_large_is_refused(tmp_path):
    folder = write_checkpoint(tmp_path / "some" / "bert", "bert", vocab_size=10)
    assert "has 23 word pieces, its model 10." in refused(folder, tmp_path)[0]


def test_what_is_no_checkpoint_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "it has no config.json" in refused(tmp_path / "empty", tmp_path, BundleMissing)[0]
    assert "There is no folder not/a/name" in refused("not/a/name", tmp_path, BundleMissing)[0]


def test_without_network_one_sentence_says_so(tmp_path):
    message, hint = refused("JiachengLi/uctopic-base", tmp_path, BundleMissing)
    assert "the hub cannot be reached" in message
    assert "Copy its files here" in hint


def test_a_name_that_is_taken_is_refused(bert, tmp_path):
    import_checkpoint(str(bert), ImportOptions(), home=tmp_path)
    with pytest.raises(ModelError, match="There is a bundle 'bert' already"):
        import_checkpoint(str(bert), ImportOptions(), home=tmp_path)
