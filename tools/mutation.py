"""Change the product in one small place at a time, and see whether the tests that run that place notice.

    python -m tools.mutation --mutants 300 --seed 1 --log build/mutation.jsonl

The first run measures which test runs which line (`build/mutation.coverage`, a run of all tests; remove the file to
measure again). Each mutant then gets the tests that cover its line, at most so many as `STAGES` says: the fast ones
first, then the slow and the live ones.
Every twentieth mutant is preceded by a control, the same tests on unchanged code: a control that fails says that these
tests fail for another reason. What the log holds already is not tried again, so an interrupted run can be continued.
Servers that are not named as for the tests (INDEXER_TEST_ELASTICSEARCH_9 and others) are started once for all mutants.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from coverage import CoverageData

ROOT = Path(__file__).parents[1]
PACKAGES = ("indexer", "mappings", "models", "trainer", "workers")
CONTROL_EVERY = 20
# Marks, seconds, and the most tests: those that know the place best are kept, so the score can only be too low.
STAGES = {"fast": ("not slow and not live", 600, 500), "slow": ("slow or live", 1800, 60)}
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
NO_TESTS = 5  # exit code of pytest: the marks left none
GROUP = re.compile(r"@[\w-]+$")  # that pytest-xdist adds to the name of a test
# Tests of the sources' style see every mutant, and would prove nothing.
LEFT_OUT = "tests/project/"

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One changed place: the bytes from `start` to `end` of a file become `new`. `first` and `last` are its lines."""

    path: str
    start: int
    end: int
    first: int
    last: int
    old: str
    new: str

    @property
    def key(self) -> str:
        return f"{self.path}:{self.start}:{self.end}:{self.new}"

    def __str__(self) -> str:
        return f"{self.path}:{self.first}  {shorten(self.old)}  ►  {shorten(self.new)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--log", type=Path, default=ROOT / "build" / "mutation.jsonl")
    parser.add_argument("--only", default="", metavar="TEXT", help="files whose path contains this")
    arguments = parser.parse_args()
    arguments.log.parent.mkdir(exist_ok=True)
    coverage = Covering(ROOT / "build" / "mutation.coverage")
    places = [mutant for path in sources() if arguments.only in path for mutant in mutants_of(path)]
    drawn = random.Random(arguments.seed).sample(places, min(arguments.mutants, len(places)))
    print(f"{len(drawn)} of {len(places)} places", flush=True)
    tried = Tried(arguments.log)
    name_servers()
    with Copies(arguments.processes) as copies:

        def judge(number: int, mutant: Mutant) -> None:
            tests = coverage.of(mutant)
            if number % CONTROL_EVERY == 0 and not tried.has(mutant):
                tried.control(mutant, copies.verdict(None, tests))
            if not tried.has(mutant):
                tried.add(mutant, copies.verdict(mutant, tests), sum(map(len, tests.values())))

        with ThreadPoolExecutor(arguments.processes) as threads:
            for future in [threads.submit(judge, *each) for each in enumerate(drawn)]:
                future.result()
        tried.show(drawn)


def name_servers() -> None:
    """Start what the tests of every mutant would start again; it ends with this process."""
    sys.path.insert(0, str(ROOT / "tests"))
    from services.distribution import VERSIONS
    from services.elastic import elasticsearch
    from services.postgres import postgres
    from services.redis import redis

    os.environ.update({version.variable: elasticsearch(name) for name, version in VERSIONS.items()})
    os.environ.update(INDEXER_TEST_POSTGRES=postgres(), INDEXER_TEST_REDIS=redis())


def sources() -> list[str]:
    files = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [path for path in files.stdout.split() if path.endswith(".py")]


def mutants_of(path: str) -> Iterator[Mutant]:
    """Every change that can be made in a file, one or two for each place."""
    code = (ROOT / path).read_bytes()
    begins = [0]
    for line in code.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    for node in nodes_of(ast.parse(code)):
        for place, changed in changes(node):
            start = begins[place.lineno - 1] + place.col_offset
            end = begins[place.end_lineno - 1] + place.end_col_offset
            new = ast.unparse(ast.fix_missing_locations(changed))
            new = new if isinstance(changed, ast.stmt) else f"({new})"
            yield Mutant(path, start, end, place.lineno, place.end_lineno, code[start:end].decode(), new)


def nodes_of(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that can be changed: no annotation, no text with fields (its nodes have no place), no TYPE_CHECKING."""
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    ):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from nodes_of(child)


def changes(node: Any) -> Iterator[tuple[Any, ast.AST]]:
    """The places in a node, each with what comes there."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield node, with_fields(node, ops=[COMPARISONS[type(op)]()])
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield node, with_fields(node, op=ARITHMETIC[type(op)]())
        case ast.BoolOp(op=op):
            yield node, with_fields(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node, node.operand
        case ast.Constant(value=bool()):
            yield node, ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield node, ast.Constant(node.value + 1)
        case ast.Expr(value=ast.Call()):
            yield node, ast.Pass()
        case ast.Return(value=ast.expr() as value) if ast.dump(value) != "Constant(value=None)":
            yield node, ast.Return(None)
        case ast.Continue():
            yield node, ast.Break()
        case ast.Break():
            yield node, ast.Continue()
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.comprehension(ifs=[test]):
            if isinstance(test, ast.Name | ast.Attribute | ast.Call):  # the others are places themselves
                yield test, ast.UnaryOp(ast.Not(), test)


def with_fields(node: ast.AST, **fields: object) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


class Covering:
    """Which tests run a line, as measured with all tests of this working tree."""

    def __init__(self, file: Path) -> None:
        if not file.exists():
            measure(file)
        self._data = CoverageData(str(file))
        self._data.read()
        self._there = {stage: collected(marks) for stage, (marks, _, _) in STAGES.items()}

    def of(self, mutant: Mutant) -> dict[str, list[str]]:
        """Test identifiers of each stage, those in the fewest tests of a file first: they know the place best."""
        by_line = self._data.contexts_by_lineno(self._measured(mutant.path))
        lines = range(mutant.first, mutant.last + 1)
        tests = {test for line in lines for test in tests_in(by_line.get(line, []))}
        # What runs at import, or in another process, has no test of its own.
        tests = tests or {test for contexts in by_line.values() for test in tests_in(contexts)}
        files = Counter(test.split("::")[0] for test in tests)
        best = sorted(tests, key=lambda test: (files[test.split("::")[0]], test))
        # pytest fails for a name that it does not know, and that would look like a kill
        return {
            stage: [test for test in best if test in self._there[stage]][:most]
            for stage, (_, _, most) in STAGES.items()
        }

    def _measured(self, path: str) -> str:
        return next((file for file in self._data.measured_files() if file.endswith(f"/{path}")), path)


def measure(file: Path) -> None:
    packages = [f"--cov={package}" for package in PACKAGES]
    command = [*PYTEST, "-n", "2", "--dist", "loadgroup", *packages, "--cov-context=test", "--cov-report="]
    asked = {
        "COVERAGE_FILE": str(file),
        "REQUIRE_SERVICES": "1",
    }  # without it the live tests would be left out
    subprocess.run(command, cwd=ROOT, env={**os.environ, **asked}, check=True)


def collected(marks: str) -> set[str]:
    """The names of all tests with these marks, and of their files."""
    command = [
        *PYTEST,
        "--collect-only",
        "-m",
        marks,
    ]  # quiet already, by pyproject.toml: more would list files only
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    tests = {GROUP.sub("", line) for line in listed.stdout.splitlines() if "::" in line}
    return tests | {test.split("::")[0] for test in tests}


def tests_in(contexts: Sequence[str]) -> Iterator[str]:
    """Of `tests/a/test_b.py::test_c@group|run`. What a fixture does may serve all tests of its file: all are tried."""
    for context in contexts:
        test, _, stage = context.rpartition("|")
        test = GROUP.sub("", test)
        if test and not test.startswith(LEFT_OUT):
            yield test if stage == "run" else test.split("::")[0]


class Copies:
    """Copies of the working tree, each used by one thread at a time."""

    def __init__(self, count: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mutation-")
        os.chmod(self._folder.name, 0o755)  # some tests read it as another user
        self._free: SimpleQueue[Path] = SimpleQueue()
        for number in range(count):
            self._free.put(copied(Path(self._folder.name) / str(number)))

    def __enter__(self) -> Copies:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def verdict(self, mutant: Mutant | None, tests: Mapping[str, Sequence[str]]) -> str:
        """`killed fast`, `killed slow` (or `timeout …`), or `survived`."""
        tree = self._free.get()
        try:
            with changed_file(tree, mutant):
                return tested(tree, tests)
        finally:
            self._free.put(tree)


def copied(folder: Path) -> Path:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for path in files.stdout.splitlines():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path)
    return folder


@contextmanager
def changed_file(tree: Path, mutant: Mutant | None) -> Iterator[None]:
    if mutant is None:
        yield
        return
    path = tree / mutant.path
    code = path.read_bytes()
    path.write_bytes(code[: mutant.start] + mutant.new.encode() + code[mutant.end :])
    try:
        yield
    finally:
        path.write_bytes(code)


def tested(tree: Path, tests: Mapping[str, Sequence[str]]) -> str:
    if not any(tests.values()):
        return "no tests"
    for stage, (marks, seconds, _) in STAGES.items():
        if not tests[stage]:  # pytest would run all
            continue
        command = [*PYTEST, "-x", "-m", marks, *tests[stage]]
        env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=tree, env=env, capture_output=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return f"timeout {stage}"
        if done.returncode not in (0, NO_TESTS):
            return f"killed {stage}"
    return "survived"


class Tried:
    """The verdicts, a line of JSON each."""

    def __init__(self, log: Path) -> None:
        self._log = log
        lines = log.read_text("utf-8").splitlines() if log.exists() else []
        self._rows = {row["key"]: row for row in map(json.loads, lines)}

    def has(self, mutant: Mutant) -> bool:
        return mutant.key in self._rows

    def add(self, mutant: Mutant, verdict: str, tests: int) -> None:
        self._write({"key": mutant.key, "verdict": verdict, "tests": tests, "mutant": str(mutant)})

    def control(self, mutant: Mutant, verdict: str) -> None:
        self._write({"key": f"control {mutant.key}", "verdict": verdict})

    def _write(self, row: dict[str, Any]) -> None:
        self._rows[row["key"]] = row
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def show(self, drawn: Sequence[Mutant]) -> None:
        rows = [self._rows[mutant.key] for mutant in drawn]
        alive = [row for row in rows if row["verdict"] in ("survived", "no tests")]
        controls = [row for key, row in self._rows.items() if key.startswith("control ")]
        print(Counter(row["verdict"] for row in rows))
        print(f"killed: {1 - len(alive) / len(rows):.1%} of {len(rows)}")
        print("controls:", Counter(row["verdict"] for row in controls))
        for row in alive:
            print(f"{row['verdict']}: {row['mutant']}")


def shorten(text: str) -> str:
    return textwrap.shorten(text, 100, placeholder=" …")


if __name__ == "__main__":
    main()
