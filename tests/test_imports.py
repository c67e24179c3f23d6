"""Imports point one way: cli, web, collection ► workers ► trainer ► models ► the rest of indexer."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OUTER = (
    "indexer.cli",
    "indexer.web",
    "indexer.collection",
)  # inside the folder of the core, but above everything
OURS = {"indexer", "models", "trainer", "workers", *OUTER}
MAY_IMPORT = {
    "indexer": {"indexer"},
    "models": {"models", "indexer"},
    "trainer": {"trainer", "models", "indexer"},
    "workers": OURS,
    **dict.fromkeys(OUTER, OURS),
}
FILES = sorted(
    path for top in ("indexer", "models", "trainer", "workers") for path in (ROOT / top).rglob("*.py")
)


def layer_of(module: str) -> str | None:
    """The layer that a dotted name belongs to; None when it is not ours."""
    for outer in OUTER:
        if module == outer or module.startswith(outer + "."):
            return outer
    top = module.split(".")[0]
    return top if top in OURS else None


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST, path: Path) -> Iterator[str]:
    """Every dotted name imported anywhere in the file, with what comes `from` a module as a part of it."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = ".".join([*base, *(node.module.split(".") if node.module else ())])
            yield from (f"{start}.{alias.name}" for alias in node.names)


def at_start(tree: ast.Module) -> ast.Module:
    """The file without the bodies of its functions: what runs when it is imported."""

    class Drop(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

        def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
            return None

        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if "TYPE_CHECKING" in ast.unparse(node.test) else self.generic_visit(node)

    Drop().visit(tree)  # in place
    return tree


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_imports_point_inwards(path: Path) -> None:
    layer = layer_of(module_of(path))
    assert layer is not None
    layers = {layer_of(module) for module in imported(parsed(path), path)} - {None}
    assert layers <= MAY_IMPORT[layer]


CORE = [path for path in FILES if layer_of(module_of(path)) == "indexer"]


@pytest.mark.parametrize("path", CORE, ids=name)
def test_the_core_knows_neither_torch_nor_celery(path: Path) -> None:
    tops = {module.split(".")[0] for module in imported(parsed(path), path)}
    assert tops & {"torch", "celery"} == set()


@pytest.mark.parametrize("path", CORE, ids=name)
def test_the_core_imports_spacy_only_when_it_is_needed(path: Path) -> None:
    """spaCy imports torch: in the parent of a forking pool that costs memory and, with CUDA, the child."""
    tops = {module.split(".")[0] for module in imported(at_start(parsed(path)), path)}
    assert tops & {"spacy", "thinc", "transformers"} == set()


def test_the_command_line_starts_without_the_heavy_packages() -> None:
    heavy = {"torch", "spacy", "celery", "transformers", "numpy", "sqlalchemy", "pydantic"}
    code = f"import indexer.cli, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_a_retrain_that_has_nothing_to_do_does_not_wait_for_torch() -> None:
    code = "import trainer.retrain.run, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import indexer.cli.main", "indexer.cli"),
        ("from indexer import collection", "indexer.collection"),
        ("from . import web", "indexer.web"),
        ("from .engines import base", "indexer"),
        ("from models.encoder import load", "models"),
        ("import numpy", None),
    ],
)
def test_the_test_sees_every_way_to_import(source: str, found: str | None) -> None:
    path = ROOT / "indexer" / "pipeline.py"
    assert [layer_of(module) for module in imported(ast.parse(source), path)] == [found]


def test_the_test_has_files_to_look_at() -> None:
    assert ROOT / "indexer" / "records.py" in FILES
