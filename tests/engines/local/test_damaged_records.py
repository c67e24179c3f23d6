"""Small files beside the tables, damaged: an error that names the file, or as if it were not there."""

from __future__ import annotations

from contextlib import closing

import pytest
from contract_rows import DIMS

from indexer.engines.local.generations import LocalGenerations
from indexer.errors import EngineUnavailable


@pytest.fixture
def generations(tmp_path):
    generations = LocalGenerations(tmp_path / "main")
    with closing(generations.make(DIMS, bundle="plain")):
        generations.switch(1)
    return generations


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\0" * 69, b"\xff\xfe", b"[]", b'{"bundle": "plain", "created": "then"}']
)
def test_a_damaged_record_of_a_generation_is_like_none(generations, content):
    (generations.root / "generation.json").write_bytes(content)
    [only] = generations.all()
    assert (only.bundle, only.number, only.state) == ("", 1, "live")


@pytest.mark.parametrize("content", [b"", b"one", b"\0\0", b"\xff\xfe"])
def test_a_damaged_pointer_is_named(generations, content):
    pointer = generations.root / "generations" / "live"
    pointer.write_bytes(content)
    with pytest.raises(EngineUnavailable, match="names no generation") as caught:
        generations.live()
    assert str(pointer) in str(caught.value)
    assert "restore" in caught.value.hint
