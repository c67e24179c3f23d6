"""Views of texts: every piece of the table has its own place, so that what stands in for what can be told."""

from __future__ import annotations

import numpy as np
import pytest

from trainer.hsgc import data as module
from trainer.hsgc.data import Views

SPECIAL = [0, 1]
# 2 and 3 point alike, 4 and 5 too; the special ones point where 2 does.
TABLE = np.array([[1, 0], [1, 0], [1, 0.1], [1, 0.2], [0.1, 1], [0.2, 1]], np.float32)
TEXT = np.array([2, 4] * 20)


@pytest.fixture
def nearest_one(monkeypatch):
    monkeypatch.setattr(module, "NEAREST", 1)


def made(**chances):
    return Views([TEXT], TABLE, SPECIAL, chances.pop("longest", 100))


def view(seed=0, **settings):
    return made(**settings).of(TEXT, np.random.default_rng(seed))


def test_a_piece_is_replaced_by_the_nearest_that_is_not_special(nearest_one, monkeypatch):
    monkeypatch.setattr(module, "SUBSTITUTED", 1.0)
    monkeypatch.setattr(module, "DROPPED", 0.0)
    assert view().tolist() == [3, 5] * 20


def test_nothing_happens_without_chances(monkeypatch):
    monkeypatch.setattr(module, "SUBSTITUTED", 0.0)
    monkeypatch.setattr(module, "DROPPED", 0.0)
    assert view().tolist() == TEXT.tolist()


def test_shares_are_as_said(nearest_one):
    """Of 4,000 pieces 20 % are replaced and 10 % dropped; three standard deviations are 2 points."""
    some = made()
    draw = np.random.default_rng(0)
    pieces = np.concatenate([some.of(TEXT, draw) for _ in range(100)])
    assert len(pieces) / 4000 == pytest.approx(0.9, abs=0.02)
    assert np.isin(pieces, [3, 5]).sum() / 4000 == pytest.approx(0.2, abs=0.02)


def test_a_view_is_a_part_of_a_long_text(monkeypatch):
    monkeypatch.setattr(module, "SUBSTITUTED", 0.0)
    monkeypatch.setattr(module, "DROPPED", 0.0)
    starts = {tuple(view(seed, longest=5).tolist()) for seed in range(10)}
    assert starts == {(2, 4, 2, 4, 2), (4, 2, 4, 2, 4)}


def test_a_view_is_never_empty(monkeypatch):
    monkeypatch.setattr(module, "DROPPED", 1.0)
    assert len(view()) == 1


def test_the_same_draw_gives_the_same_view():
    assert view(3).tolist() == view(3).tolist() != view(4).tolist()
