"""A real collection behind the real application; only encoder and tagger are small."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_parts import PlainPreparer, WideHashEncoder
from web_client import indexed, made, serving


@pytest.fixture(scope="module", autouse=True)
def small_parts():
    """No torch, no spaCy, no worker processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.load.load_encoder", lambda *args, **kwargs: WideHashEncoder())
        patch.setattr("indexer.text.pool._preparer", PlainPreparer)
        patch.setattr("indexer.collection.TAGGERS", 0)
        yield


@pytest.fixture(scope="module")
def library(tmp_path_factory, small_parts):
    """A home with 21 documents and 3 topics. For reading only."""
    return indexed(tmp_path_factory.mktemp("library") / "home", made())


@pytest.fixture(scope="module")
def web(library):
    """A client that only reads."""
    with serving(library) as client:
        yield client


@pytest.fixture(scope="module")
def twelve(tmp_path_factory, small_parts):
    """A home with 12 documents. For copying only."""
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
