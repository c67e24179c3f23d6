import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from models.bundle import ADAPTER, read_bundle, write_bundle
from models.torch.network import Network
from trainer.base.adapters import adapter_of, add_lora, in_eight_bits, only_layers

pytestmark = pytest.mark.xdist_group("transformers")  # one process alone imports that library


def shaken(network):
    """Move everything that may move, as training does."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter += 0.01 * torch.randn_like(parameter)
    return network


def outputs(network):
    ids = torch.tensor([[2, 5, 7, 8, 12, 3]])
    ones = torch.ones_like(ids)
    with torch.inference_mode():
        return network.eval()(ids, ones, ones.float(), ones.float() / 6, attention=False)[1]


@pytest.mark.parametrize("way", ["whole", "lora"])
def test_the_bundle_says_what_the_trained_network_says(bundle, tmp_path, way):
    network = Network(bundle)
    before = outputs(network)
    only_layers(network) if way == "whole" else add_lora(network, 2)
    shaken(network)
    trained = outputs(network)
    write_bundle(bundle, tmp_path)
    save_file(adapter_of(network, bundle), tmp_path / ADAPTER)
    loaded = outputs(Network(read_bundle(tmp_path)))
    moved = (trained - before).norm()
    assert (loaded - trained).norm() < 0.02 * moved
    assert moved > 0.1


def test_training_a_trained_bundle_again_keeps_both(bundle, tmp_path):
    """LoRA on a bundle with an adapter of its own: the new file holds the sum, over the same base model."""
    first = shaken(_whole(Network(bundle)))
    write_bundle(bundle, tmp_path / "first")
    save_file(adapter_of(first, bundle), tmp_path / "first" / ADAPTER)
    once = read_bundle(tmp_path / "first")
    network = Network(once)
    add_lora(network, 2)
    trained = outputs(shaken(network))
    write_bundle(once, tmp_path / "second")
    save_file(adapter_of(network, once), tmp_path / "second" / ADAPTER)
    loaded = outputs(Network(read_bundle(tmp_path / "second")))
    assert (loaded - trained).norm() < 0.02 * (trained - outputs(Network(bundle))).norm()


def _whole(network):
    only_layers(network)
    return network


def test_lora_begins_where_the_base_is(bundle):
    plain, changed = Network(bundle), Network(bundle)
    add_lora(changed, 2)
    assert torch.allclose(outputs(plain), outputs(changed), atol=1e-6)
    assert (
        sum(p.requires_grad for p in changed.parameters()) == 2 * 6 * 2 + 1
    )  # layers, linears, a and b; documents


def test_eight_bits_by_hand():
    small, scale = in_eight_bits(np.float32([[1.27, -0.635, 0], [0, 0, 0]]))
    assert small.tolist() == [[127, -64, 0], [0, 0, 0]]
    assert scale[0] == pytest.approx(0.01)
