"""Progress as lines of a log."""

from __future__ import annotations

import re
import threading

import pytest

from indexer.cli.progress import ProgressLines


def test_a_line_for_each_stage_and_each_minute(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("indexer.cli.progress.time.monotonic", lambda: now[0])
    with ProgressLines() as lines:
        lines("tag", 64, None)
        lines("train: loss 3.200", 1, 600)
        now[0] = 159.0
        lines("train: loss 3.100", 40, 600)
        now[0] = 160.0
        lines("train: loss 3.000", 41, 600)
        lines("note: Goes on with a training at step 41 of 600.", 0, None)
        lines("judge", 0, None)
    shown = capsys.readouterr().err.splitlines()
    assert [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in shown] == [
        "Finding training phrases, 64",
        "Training, 1 of 600, loss 3.200",
        "Training, 41 of 600, loss 3.000",
        "Goes on with a training at step 41 of 600.",
        "Comparing encoders",
    ]


def test_short_work_has_no_lines(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("indexer.cli.progress.time.monotonic", lambda: now[0])
    with ProgressLines(quiet=30.0) as lines:
        lines("read", 1, None)
        now[0] = 129.0
        lines("mine", 64, 600)
        assert capsys.readouterr().err == ""
        now[0] = 130.0
        lines("mine", 128, 600)
        lines("fit topics", 0, None)
    shown = capsys.readouterr().err.splitlines()
    assert [line[9:] for line in shown] == ["Finding phrases, 128 of 600", "Finding topics"]


def test_a_stage_that_tells_nothing_has_a_line_now_and_then_too(monkeypatch):
    def echo(line: str, err: bool) -> None:
        said.append(line[9:])
        if len(said) == 3:
            enough.set()

    said: list[str] = []
    enough = threading.Event()
    for name, value in {"LINE_INTERVAL_S": 0.02, "POLL_INTERVAL_S": 0.01, "click.echo": echo}.items():
        monkeypatch.setattr(f"indexer.cli.progress.{name}", value)
    with ProgressLines() as lines:
        lines("judge", 0, None)
        assert enough.wait(30)
    assert said[:3] == ["Comparing encoders"] * 3


@pytest.mark.parametrize("drawn", [True, False])
def test_on_a_terminal_a_note_is_a_line_too(drawn, capsys, monkeypatch):
    from indexer.cli import progress

    monkeypatch.setattr(progress, "DRAW_AFTER_S", 0.0 if drawn else 60.0)
    with progress.ProgressBar() as progress:
        progress("train", 1, 600)
        progress("note: Goes on with a training at step 41 of 600.", 0, None)
    assert "Goes on with a training at step 41 of 600." in capsys.readouterr().err
