"""Whatever bytes a file holds, reading gives documents and InputErrors, and nothing else."""

import json

import pytest
from fuzzing import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.errors import InputError
from indexer.readers import ReadOptions, count, read
from indexer.records import Document

PIECES = st.sampled_from(
    [b"text,n\n", b'{"text": "a"}\n', b'"', b"\n", b"\r", b"\xff\xfe", b"\xef\xbb\xbf", b"\x00"]
)
NOISE = st.lists(st.one_of(PIECES, st.binary(max_size=20)), max_size=12).map(b"".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
FAST = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def check(path, most=100):
    for item in read([path], ReadOptions(max_bytes=most)):
        assert isinstance(item, Document | InputError)
        if isinstance(item, Document):
            assert item.id
            assert item.content.strip()  # a record without a text is its title
            item.content.encode()
            json.dumps(dict(item.meta), allow_nan=False, ensure_ascii=False).encode()
        str(item).encode()
    assert count([path]) is not None


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["txt", "jsonl", "csv", "tsv", "md", "html", "pdf", "docx", "jsonl.gz"])
@FAST
@given(data=NOISE)
def test_any_bytes(tmp_path, suffix, data):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(data)
    check(path)


@pytest.mark.slow
@FAST
@given(record=st.dictionaries(st.sampled_from(["id", "text", "title", "a", "a.b", ""]), JSON, max_size=4))
def test_any_record(tmp_path, record):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record))
    check(path)
