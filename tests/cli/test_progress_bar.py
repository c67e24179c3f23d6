"""The progress bar: what it says, and when."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console

from indexer.cli import progress as module


@pytest.fixture
def screen(monkeypatch):
    """A terminal that remembers what was written to it."""
    written = io.StringIO()
    monkeypatch.setattr(
        module,
        "Console",
        lambda **_: Console(file=written, force_terminal=True, width=100, color_system=None),
    )
    return written


def seen(screen):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())


def test_work_that_is_done_at_once_draws_nothing(screen):
    with module.ProgressBar() as progress:
        progress("read", 600, 600)
    assert seen(screen) == ""


def test_longer_work_says_stage_number_and_total(screen, monkeypatch):
    monkeypatch.setattr(module, "DRAW_AFTER_S", 0.0)
    with module.ProgressBar() as progress:
        progress("mine", 0, 1200)
        deadline = time.monotonic() + 5
        while "0/1,200" not in seen(screen) and time.monotonic() < deadline:
            time.sleep(0.01)
        progress("mine", 64, 1200)
        progress("fit topics", 0, None)
        while "Finding topics" not in seen(screen) and time.monotonic() < deadline:
            time.sleep(0.01)
    shown = seen(screen)
    assert "Finding phrases" in shown
    assert "0/1,200" in shown
    assert "Finding topics" in shown


def test_an_estimate_that_was_too_low_grows(screen, monkeypatch):
    monkeypatch.setattr(module, "DRAW_AFTER_S", 0.0)
    with module.ProgressBar() as progress:
        progress("read", 7, 5)
        deadline = time.monotonic() + 5
        while "7/7" not in seen(screen) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "7/7" in seen(screen)


def test_a_stage_without_a_name_of_its_own_is_shown_as_it_is(screen, monkeypatch):
    monkeypatch.setattr(module, "DRAW_AFTER_S", 0.0)
    with module.ProgressBar() as progress:
        progress("polish", 0, None)
        deadline = time.monotonic() + 5
        while "Polish" not in seen(screen) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "Polish" in seen(screen)


def test_every_stage_of_a_run_has_a_name_for_people(indexed, run, home, tmp_path, corpus, write):
    from indexer.collection import Collection

    stages = []
    source = write(tmp_path / "docs.jsonl", corpus(6))
    with Collection.open(home=home) as collection:
        collection.index([source], progress=lambda stage, done, total: stages.append(stage))
    assert set(stages) <= set(module.NAMES)


def test_loading_the_encoder_is_a_stage_too(indexed):
    from indexer.cli.opened import OpenedCollection

    stages = []
    with OpenedCollection.open(home=indexed) as collection:
        collection.progress = lambda stage, done, total: stages.append(stage)
        assert collection.encoder is collection.encoder
    assert stages == ["measure"]
    with OpenedCollection.open(home=indexed, backend="onnx-fp32") as collection:
        collection.progress = lambda stage, done, total: stages.append(stage)
        assert collection.encoder
    assert stages == ["measure", "load"]
