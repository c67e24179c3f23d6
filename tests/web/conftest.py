"""A real collection behind the real application; only encoder and tagger are small."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_parts import small_parts
from web_client import indexed, made, serving


@pytest.fixture(scope="module", autouse=True)
def parts():
    with small_parts():
        yield


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """A home with 21 documents and 3 topics. For reading only."""
    with small_parts():
        return indexed(tmp_path_factory.mktemp("library") / "home", made())


@pytest.fixture(scope="module")
def web(library):
    """A client that only reads."""
    with serving(library) as client:
        yield client


@pytest.fixture(scope="session")
def twelve(tmp_path_factory):
    """A home with 12 documents. For copying only."""
    with small_parts():
        return indexed(tmp_path_factory.mktemp("twelve") / "home", made(12))


@pytest.fixture
def own(tmp_path, twelve):
    """A home of one's own with 12 documents."""
    return Path(shutil.copytree(twelve, tmp_path / "home"))


@pytest.fixture
def client(own):
    """A client that may change things."""
    with serving(own) as found:
        yield found
