"""Real tagger, catalog and engine; an encoder without a model."""

from __future__ import annotations

import pytest
from hash_encoder import HashEncoder


@pytest.fixture
def encoder():
    return HashEncoder()
