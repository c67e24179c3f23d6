"""Files that take too long, too much memory or the whole process: a problem each, and the next file is read."""

from __future__ import annotations

import os
import time
from importlib import import_module

import pytest

from indexer.errors import InputError
from indexer.readers.options import ReadOptions
from indexer.readers.parser_process import ParserProcess
from indexer.readers.single import Page
from indexer.readers.source import File


def well(file, options):
    return Page(f"{file.name} in {os.getpid()}")


def endless(file, options):
    time.sleep(600)


def dying(file, options):
    os._exit(1)


def huge(file, options):
    return Page("x" * 10_000_000_000)


def refusing(file, options):
    raise file.problem("not a text.", hint="Leave it.")


@pytest.fixture(scope="module")
def apart():
    with ParserProcess() as found:
        yield found


@pytest.fixture
def file(tmp_path):
    return File(tmp_path / "a.html", "a.html")


@pytest.mark.parametrize(
    ("parser", "problem"),
    [
        (endless, "a.html: reading it takes more than 0.5 seconds."),
        (dying, "a.html: the process that read it has died of it."),
        (huge, "a.html: reading it takes more than 4,000,000,000 bytes of memory."),
        (refusing, "a.html: not a text."),
    ],
)
def test_a_bad_file_is_a_problem_and_the_next_is_read(apart, file, parser, problem):
    assert apart.parse(well, file, ReadOptions()).text.startswith("a.html in ")
    with pytest.raises(InputError) as caught:
        apart.parse(parser, file, ReadOptions(seconds=0.5))
    assert str(caught.value) == problem
    assert apart.parse(well, file, ReadOptions()).text != f"a.html in {os.getpid()}"


def test_a_function_that_the_other_process_cannot_import_is_called_here(apart, file):
    assert apart.parse(lambda file, options: well(file, options), file, ReadOptions()).text == (
        f"a.html in {os.getpid()}"
    )


def test_the_process_ends_with_the_block(file):
    with ParserProcess() as found:
        pid = int(found.parse(well, file, ReadOptions()).text.split()[-1])
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_function_of_a_module_that_is_only_known_here_is_called_here(apart, file, tmp_path, monkeypatch):
    (tmp_path / "known_here.py").write_text(
        "from indexer.readers.single import Page\ndef parse(file, options): return Page(file.name)\n"
    )
    apart.parse(well, file, ReadOptions())  # is started, with the path as it was
    monkeypatch.syspath_prepend(tmp_path)
    parse = import_module("known_here").parse
    assert apart.parse(parse, file, ReadOptions()).text == "a.html"
    assert apart.parse(well, file, ReadOptions()).text != f"a.html in {os.getpid()}"
