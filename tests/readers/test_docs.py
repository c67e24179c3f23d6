from pathlib import Path

import pytest

from indexer.readers import registry
from indexer.readers.fields import TEXT_FIELDS

PAGE = (Path(__file__).parents[2] / "docs" / "readers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", registry.FORMATS)
def test_every_type_is_documented(suffix):
    assert f"`.{suffix}`" in PAGE


@pytest.mark.parametrize("name", TEXT_FIELDS)
def test_every_usual_text_field_is_documented(name):
    assert f"`{name}`" in PAGE
