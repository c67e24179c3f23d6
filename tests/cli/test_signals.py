"""Ctrl-C and SIGTERM end a run at once, whatever its threads and processes do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.conftest import made, written

SLOW = """
import time
from pathlib import Path
from hash_encoder import HashEncoder

class SlowEncoder(HashEncoder):
    def encode(self, windows):
        Path("encoding").touch()
        time.sleep(60)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_ends_at_once(tmp_path, number, code):
    (tmp_path / "slow.py").write_text(SLOW)
    source = written(tmp_path / "a.jsonl", made())
    folders = [str(tmp_path), *sys.path]
    command = ["--home", "home", "--encoder", "slow.SlowEncoder", "index", str(source)]
    with subprocess.Popen(
        [sys.executable, "-m", "indexer.cli", *command],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as run:  # fmt: skip
        try:
            until = time.monotonic() + 60
            while not (tmp_path / "encoding").exists() and run.poll() is None:
                assert time.monotonic() < until
                time.sleep(0.05)
            run.send_signal(number)
            _, errors = run.communicate(timeout=20)
        finally:
            run.kill()
    assert run.returncode == code, errors
    assert errors.strip() == "Stopped. Written data is kept; the same command resumes."
