"""A real collection in a temporary home; only the two heavy parts are small: the encoder and the tagger."""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import partial

import pytest
from click.testing import CliRunner
from small_parts import PlainPreparer, small_parts

from indexer.cli import main

SUBJECTS = {
    "robots": ["robot arm", "motion planning", "grasping", "path", "controller", "mobile robot"],
    "oceans": ["ocean waves", "surface gravity waves", "sea ice", "tides", "salinity", "currents"],
    "markets": ["stock market", "option prices", "volatility", "traders", "portfolio", "returns"],
}


def made(number=21):
    """Short documents on three subjects."""
    documents = []
    for i in range(number):
        subject = list(SUBJECTS)[i % 3]
        terms = SUBJECTS[subject]
        a, b, c = (terms[(i + k) % len(terms)] for k in range(3))
        documents.append(
            {
                "id": f"d{i:02d}",
                "title": f"On {a} and {b}",
                "text": f"We study the {a} of a system. The {b} depends on the {c}. Results on {a} are given.",
                "subject": subject,
                "year": 2000 + i,
            }
        )
    return documents


def written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def invoked(*args, home=None, **kwargs):
    """Call the program as a shell would; what a user would see as a traceback fails the test."""
    given = [] if home is None else ["--home", str(home)]
    result = CliRunner().invoke(main, [*given, *map(str, args)], **kwargs)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(scope="module", autouse=True)
def parts():
    with _command_parts():
        yield


@contextmanager
def _command_parts():
    with small_parts() as patch:
        patch.setattr("indexer.text.Preparer", PlainPreparer)
        patch.setattr("os.nice", lambda more: 0)  # the other tests would be slower too
        yield


@pytest.fixture(autouse=True)
def plain_surroundings(tmp_path, monkeypatch):
    """An empty current folder, and nothing in the environment that changes the output."""
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run():
    return invoked


@pytest.fixture
def corpus():
    return made


@pytest.fixture
def write():
    return written


@pytest.fixture(scope="session")
def indexed(tmp_path_factory):
    """A home with 21 documents and 3 topics. For reading only."""
    folder = tmp_path_factory.mktemp("indexed")
    with _command_parts():
        result = invoked(
            "index", written(folder / "docs.jsonl", made()), "--topics", "3", home=folder / "home"
        )
    assert result.exit_code == 0, result.output
    return folder / "home"


@pytest.fixture(scope="session")
def compared(tmp_path_factory):
    """A home of these documents with their near duplicates, and what the run said. For reading only."""
    folder = tmp_path_factory.mktemp("compared")
    with _command_parts(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("INDEXER_DUPLICATES", "on")
        result = invoked(
            "index", written(folder / "docs.jsonl", made()), "--topics", "3", home=folder / "home"
        )
    assert result.exit_code == 0, result.output
    return folder / "home", result.stdout


@pytest.fixture
def read(indexed):
    """Call a command that only reads, on the indexed home."""
    return partial(invoked, home=indexed)


@pytest.fixture
def home(tmp_path):
    """A home of one's own, not made yet."""
    return tmp_path / "home"
