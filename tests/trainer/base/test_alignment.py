"""Documents turned back by a matrix."""

import copy

import numpy as np
import pytest
import torch

from models.torch.network import Network
from trainer.base.alignment import align_documents

pytestmark = pytest.mark.xdist_group("transformers")  # one process alone imports that library

TEXTS = [[2, *ids, 3] for ids in np.random.default_rng(0).integers(5, 20, (400, 6)).tolist()]


def documents(network):
    ids = torch.tensor(TEXTS)
    ones = torch.ones_like(ids)
    with torch.inference_mode():
        vectors = network.eval()(ids, ones, ones.float(), ones.float() / 8, attention=False)[0]
    return torch.nn.functional.normalize(vectors)


def test_documents_that_were_turned_are_turned_back(bundle):
    """Swapping dimensions is a matrix, so little is left of it: the ridge, with texts as few and alike as these."""
    before, network = Network(bundle), Network(bundle)
    with torch.no_grad():
        network.documents.copy_(torch.eye(32).roll(16, dims=1))
    assert (documents(network) * documents(before)).sum(dim=1).mean() < 0.9
    align_documents(network, before, TEXTS, padding=0)
    assert (documents(network) * documents(before)).sum(dim=1).mean() > 0.98


def test_with_little_time_it_reads_fewer_texts(bundle, monkeypatch):
    read = []

    def vectors(network, texts, padding, *reported):
        read.append(len(texts))
        return torch.eye(32)[torch.arange(len(texts)) % 32]

    monkeypatch.setattr("trainer.base.alignment._vectors", vectors)
    monkeypatch.setattr("trainer.base.alignment.time.perf_counter", iter([0.0, 1.0]).__next__)
    align_documents(Network(bundle), Network(bundle), TEXTS, padding=0, seconds=5.0)
    # 32 texts took a second, so both networks need 25 for 400: every fifth is read.
    assert read == [32, 80, 80]


def test_it_tells_how_far_it_is(bundle):
    reported = []
    align_documents(
        Network(bundle), Network(bundle), TEXTS, padding=0, progress=lambda *far: reported.append(far)
    )
    assert reported[0] == ("align", 32, 800)  # both networks read all texts
    assert reported[-1] == ("align", 800, 800)


def test_what_has_not_moved_stays(bundle):
    network = Network(bundle)
    head = copy.deepcopy(network.documents)
    align_documents(network, Network(bundle), TEXTS, padding=0)
    assert torch.allclose(network.documents, head, atol=1e-5)


def test_without_texts_nothing_changes(bundle):
    network = Network(bundle)
    align_documents(network, Network(bundle), [], padding=0)
    assert torch.equal(network.documents, torch.eye(32))
