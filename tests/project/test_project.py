"""The project's own files agree with each other: dependencies, lock files, Makefile, version."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FULL, BENCH, LIGHT, SERVER = LOCKS = [
    "requirements.lock", "requirements-bench.lock", "requirements-light.lock", "requirements-server.lock",
]  # fmt: skip
EXTRAS = {
    FULL: ("dev", "all"),
    BENCH: ("bench", "train"),
    LIGHT: (),
    SERVER: ("model", "postgres", "workers"),
}
HEAVY = {"torch", "transformers", "sentence-transformers", "huggingface-hub", "matplotlib", "triton"}
OURS = {"indexer", "models", "trainer", "workers", "mappings"}
NAME = re.compile(r"[A-Za-z0-9._-]+")


def normal(requirement: str) -> str:
    """The package of a requirement, in the spelling that packages are compared by."""
    found = NAME.match(requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def declared(*extras: str) -> set[str]:
    project = PROJECT["project"]
    wanted = [
        *project["dependencies"],
        *(r for extra in extras for r in project["optional-dependencies"][extra]),
    ]
    nested = {extra for r in wanted for extra in re.findall(r"^indexer\[(.*)\]", r)}
    names = {normal(requirement) for requirement in wanted} - {"indexer"}
    return names | declared(*",".join(nested).split(",")) if nested else names


def locked(lock: str) -> list[str]:
    """Each entry of a lock file as one line: name==version ; marker --hash=…"""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_a_version_and_a_hash(lock: str) -> None:
    entries = locked(lock)
    assert len(entries) > 75
    bad = [
        e for e in entries if not re.match(r"[a-z0-9._-]+(\[[a-z,]+\])?==\S+ .*--hash=sha256:[0-9a-f]{64}", e)
    ]
    assert bad == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_neither_an_address_nor_a_path(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert re.findall(r".*(?:://|--index|--extra-index|--find-links|file:| @ |/).*", text) == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_everything_that_is_declared(lock: str) -> None:
    assert declared(*EXTRAS[lock]) - {normal(entry) for entry in locked(lock)} == set()


@pytest.mark.parametrize("lock", [BENCH, LIGHT, SERVER])
def test_the_locks_have_the_same_versions(lock: str) -> None:
    """Otherwise the benchmark and the demo would run another program than the tests test."""
    product, other = ({entry.split(" ")[0] for entry in locked(name)} for name in (FULL, lock))
    names = {entry.split("==")[0] for entry in product}
    assert {entry for entry in other if entry.split("==")[0] in names} - product == set()


@pytest.mark.parametrize("lock", [LIGHT, SERVER])
def test_a_light_lock_is_a_part_of_the_full_one_and_has_nothing_for_training(lock: str) -> None:
    names, full = ({normal(entry) for entry in locked(name)} for name in (lock, FULL))
    assert names <= full
    assert {name for name in names if name in HEAVY or name.startswith("nvidia")} == set()


def test_the_extra_all_has_every_extra_of_the_product() -> None:
    extras = PROJECT["project"]["optional-dependencies"].keys() - {"all", "dev", "bench"}
    assert declared("all") == declared(*extras)


@pytest.mark.slow
def test_every_import_is_declared() -> None:
    files = [path for top in OURS for path in (ROOT / top).rglob("*.py")]
    tops = {top for path in files for top in imported(path)} - OURS - set(sys.stdlib_module_names)
    packages = packages_distributions()
    may = declared("all")
    missing = {top for top in tops if not {normal(name) for name in packages.get(top, [top])} & may}
    assert missing == set()


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def test_the_packages_are_there() -> None:
    found = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {pattern.removesuffix("*") for pattern in found} == OURS
    assert [name for name in OURS if not (ROOT / name / "__init__.py").is_file()] == []


def test_every_file_of_a_package_is_installed() -> None:
    """A data file that pyproject.toml does not name works from a checkout only."""
    data = PROJECT["tool"]["setuptools"]["package-data"]
    named = {path for top in data for glob in data[top] for path in (ROOT / top).glob(glob)}
    there = {path for top in OURS for path in (ROOT / top).rglob("*") if path.is_file()}
    forgotten = {path for path in there - named if path.suffix not in (".py", ".pyc")}
    assert sorted(str(path.relative_to(ROOT)) for path in forgotten) == []


def test_folders_of_code_are_packages() -> None:
    """A folder without __init__.py works from a checkout, and is missing from an installed package."""
    folders = {path.parent for top in OURS for path in (ROOT / top).rglob("*.py")}
    assert [
        str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").is_file()
    ] == []


def test_make_alone_lists_the_targets() -> None:
    done = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    listed = {line.split()[1] for line in done.stdout.splitlines()}
    assert {"demo", "install", "test", "check", "bench", "clean", "lock", "help"} <= listed
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert phony is not None
    assert listed == set(phony[1].split())


def test_the_changelog_begins_with_this_version() -> None:
    file = ROOT / "CHANGELOG.md"
    if not file.is_file():
        pytest.skip("There is no CHANGELOG.md yet.")
    headings = re.findall(r"^## \[?v?([^\]\s]+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    versions = [heading for heading in headings if heading.lower() != "unreleased"]
    assert versions[:1] == [PROJECT["project"]["version"]]
