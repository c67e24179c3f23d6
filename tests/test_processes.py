"""Starting processes."""

from __future__ import annotations

import os
import signal

import pytest

from indexer.processes import killed_after, main_left_alone


def test_ctrl_c_while_a_process_is_started_comes_when_it_is():
    steps = []

    def start() -> None:
        with main_left_alone():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert steps == ["started"]


def test_the_time_that_a_block_may_take_runs_in_it_and_not_after_it():
    with killed_after(60):
        left, _ = signal.getitimer(signal.ITIMER_REAL)
    assert 50 < left <= 60
    with pytest.raises(ZeroDivisionError), killed_after(60):
        _ = 1 / 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
