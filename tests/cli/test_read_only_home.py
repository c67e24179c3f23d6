"""A home where nobody may write can be searched."""

from __future__ import annotations

import shutil
from contextlib import chdir
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from other_user import as_another_user

from tests.cli.conftest import invoked, made, written

COMMANDS = [
    (("search", "robot arm"), "On robot arm"),
    (("topics",), "t-00000"),
    (("phrases", "sea ice"), "sea ice"),
    (("status",), "21"),
    (("generations",), "live"),
]


def _asked(home, *command):
    with chdir("/"), as_another_user():
        return invoked(*command, home=home)


@pytest.fixture(scope="module")
def locked(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("locked")
    home = folder / "home"
    assert invoked("index", written(folder / "a.jsonl", made()), "--topics", "3", home=home).exit_code == 0
    for command in [command for command, _ in COMMANDS] + [("doctor",)]:
        invoked(*command, home=home)  # imports what the other user may not read
    with TemporaryDirectory() as name:  # the folders of pytest are closed to other users
        Path(name).chmod(0o755)
        copy = Path(shutil.copytree(home, Path(name) / "home"))
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield partial(_asked, copy)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.parametrize(("command", "shown"), COMMANDS)
def test_it_is_read_as_any_other(locked, command, shown):
    result = locked(*command)
    assert (result.exit_code, shown in result.output) == (0, True), result.output


def test_doctor_warns_and_finds_no_fault(locked):
    result = locked("doctor")
    assert "cannot be written, only searched" in result.output
    assert "FAIL" not in result.output


def test_what_would_write_says_that_it_cannot(locked):
    result = locked("topics", "rename", "t-000001", "Robots")
    assert result.exit_code == 1
    assert "Check the permissions" in result.output or "may be written" in result.output
