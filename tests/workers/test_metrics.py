"""Figures of several processes are shown as their sum."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from services.ports import free_port

from indexer.errors import SettingsError
from workers.metrics import serve_metrics

ROOT = Path(__file__).parents[2]
WORK = """
from indexer.pipeline import metrics
metrics.through("encode", {done}, {failed})
metrics.ENCODE_SECONDS.observe(2)
"""


@pytest.mark.slow
def test_the_sum_of_all_processes_is_serve_metrics():
    port = free_port()
    with serve_metrics(str(port)) as environment:
        for done, failed in ((3, 0), (4, 1)):
            subprocess.run(
                [sys.executable, "-c", WORK.format(done=done, failed=failed)],
                env={**os.environ, **environment}, cwd=ROOT, check=True,
            )  # fmt: skip
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            told = answer.read().decode()
    assert 'indexer_documents_total{result="done",stage="encode"} 7.0' in told
    assert 'indexer_documents_total{result="failed",stage="encode"} 1.0' in told
    assert "indexer_encode_seconds_sum 4.0" in told
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics")


@pytest.mark.parametrize("address", ["many", "127.0.0.1:", "70000", "no.such.host.invalid:9100"])
def test_an_address_that_cannot_be_is_named(address):
    with (
        pytest.raises(SettingsError, match=f"Metrics cannot be served at '{address}'"),
        serve_metrics(address),
    ):
        pass
