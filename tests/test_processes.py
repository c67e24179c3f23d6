"""Starting processes."""

from __future__ import annotations

import os
import signal

import pytest

from indexer.processes import main_left_alone


def test_ctrl_c_while_a_process_is_started_comes_when_it_is():
    steps = []

    def start() -> None:
        with main_left_alone():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert steps == ["started"]
