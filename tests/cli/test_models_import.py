"""indexer models import: a small random BERT of somebody else becomes an encoder that can be listed and removed."""

from __future__ import annotations

import json

import pytest
from click import BadParameter

from indexer.cli.models import Layers
from tests.cli.conftest import invoked
from tests.models.small_checkpoints import write_checkpoint

pytestmark = pytest.mark.xdist_group("transformers")  # one process alone imports that library


def test_a_folder_becomes_an_encoder(tmp_path):
    folder, home = write_checkpoint(tmp_path / "theirs", "bert"), tmp_path / "home"
    done = invoked("models", "import", folder, "--name", "mine", "--document-layers", "1-2", home=home)
    assert done.exit_code == 0
    assert "index SOURCE --bundle mine" in done.stdout
    shown = json.loads(invoked("models", "show", "mine", "--json", home=home).stdout)
    assert (shown["dims"], shown["window_tokens"]) == (32, 48)  # 50 positions, two of them for special tokens
    card = json.loads((home / "bundles" / "mine" / "bundle.json").read_text())
    assert (card["pooling"]["span_layers"], card["pooling"]["document_layers"]) == ([2], [1, 2])
    assert invoked("models", "remove", "mine", "--yes", home=home).exit_code == 0


def test_what_cannot_be_read_is_one_sentence(tmp_path):
    refused = invoked("models", "import", "whaleloops/phrase-bert", home=tmp_path)
    assert refused.exit_code == 1
    assert "the hub cannot be reached" in refused.stderr


@pytest.mark.parametrize(("said", "meant"), [("6", (6,)), ("3-6", (3, 4, 5, 6)), ("0,5-6", (0, 5, 6))])
def test_layers_are_read(said, meant):
    assert Layers().convert(said, None, None) == meant


@pytest.mark.parametrize("said", ["", "six", "6-3", "1,,2", "-1"])
def test_invalid_layers_are_refused(said):
    with pytest.raises(BadParameter, match="are not layers; write 3-6 or 0,5,6"):
        Layers().convert(said, None, None)
