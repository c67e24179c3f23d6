import json

from indexer.errors import InputError
from indexer.readers import read
from indexer.records import Document


def test_jsonl_gives_documents_with_their_fields(tmp_path):
    path = tmp_path / "a.jsonl"
    record = {"id": 7, "title": "T", "text": "Some text.", "year": 2019, "tags": ["x", "y"], "by": {"name": "A"}}
    path.write_text(json.dumps(record) + "\n")
    assert list(read([path])) == [
        Document(
            "7", "Some text.", "T", {"year": 2019, "tags": ["x", "y"], "by.name": "A"}, f"{path.as_posix()}:1"
        )
    ]


def test_a_bad_line_is_an_error_and_the_rest_is_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one"}\n{"text": \n\n{"text": "two"}\n')
    one, error, two = read([path])
    assert (one.text, two.text) == ("one", "two")
    assert isinstance(error, InputError)
    assert str(error) == f"{path.as_posix()}:2: not valid JSON: Expecting value at column 10."
    assert error.facts == {"source": path.as_posix(), "line": 2}
