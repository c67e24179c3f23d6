import pytest

from indexer.text import Preparer
from indexer.text.pool import without_torch


@pytest.fixture(scope="session")
def preparer() -> Preparer:
    """The shipped tagger, loaded once, so that tests see the same tags whatever else is installed."""
    with without_torch():
        return Preparer("shipped")
