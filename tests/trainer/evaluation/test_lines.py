"""Reading the data of an evaluation: every fault is named with its place."""

from __future__ import annotations

import gzip

import psutil
import pytest

from indexer.errors import InputError
from trainer.evaluation.lines import Line, read_lines


@pytest.fixture
def file(tmp_path):
    def write(text, name="data.jsonl"):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def text_of(line):
    return line.text("text")


@pytest.mark.parametrize("name", ["data.jsonl", "data.jsonl.gz"])
def test_lines_compressed_or_not(file, name):
    path = file('{"text": "a"}\n{"text": "b"}\n{"text": "c"}\n', name)
    assert read_lines(path, text_of) == ["a", "b", "c"]
    assert len(read_lines(path, text_of, limit=2)) == 2


def test_a_limit_samples_a_file_that_is_sorted_by_label(file):
    path = file("".join(f'{{"text": "{label} {i}"}}\n' for label in "abcd" for i in range(50)))
    found = read_lines(path, text_of, limit=40)
    assert {text[0] for text in found} == set("abcd")
    assert found == sorted(found, key=lambda text: (text[0], int(text[2:])))  # in the order of the file
    assert found == read_lines(path, text_of, limit=40)
    assert set(read_lines(path, text_of, limit=10)) < set(found)
    assert len(read_lines(path, text_of, limit=500)) == 200


def test_a_sample_depends_on_the_id_and_not_on_the_position(file):
    lines = [f'{{"id": {i}, "text": "{i}"}}\n' for i in range(50)]
    forward, backward = file("".join(lines)), file("".join(reversed(lines)), "reversed.jsonl")
    found = read_lines(forward, text_of, limit=10)
    assert read_lines(backward, text_of, limit=10) == found[::-1]
    longer = file("".join(line.replace("}", ', "more": 1}') for line in lines), "longer.jsonl")
    assert read_lines(longer, text_of, limit=10) == found


def test_lines_with_the_same_key_are_sampled_together(file):
    path = file("".join(f'{{"text": "{i}", "sentence": {i % 20}}}\n' for i in range(60)))
    sentences = [int(text) % 20 for text in read_lines(path, text_of, limit=9, key="sentence")]
    assert {sentences.count(s) for s in sentences} == {3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"text": "a"}\n{"text": \n', ":2: this is not JSON"),
        ('{"text": "a"}\n\n', ":2: this is not JSON"),
        ("[1, 2]\n", r":1: expected an object, found \[1, 2\]"),
        ('{"id": 1, "body": "a"}\n', r':1: "text" is missing. Found: id, body\.'),
        ("{}\n", r':1: "text" is missing. Found: nothing\.'),
        ('{"text": 7}\n', ':1: "text" must be a text, not 7'),
        ('{"text": "  "}\n', ':1: "text" must be a text, not "  "'),
        (b'{"text": "\xff"}\n', "this cannot be read"),
        ("", "there are no lines in it"),
    ],
)
def test_faults_are_named_with_their_place(file, text, message):
    path = file(text)
    with pytest.raises(InputError, match=message) as caught:
        read_lines(path, text_of)
    assert str(caught.value).startswith(str(path))


def test_a_damaged_archive(tmp_path):
    path = tmp_path / "data.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a"}\n' * 100)[:30])
    with pytest.raises(InputError, match="this cannot be read"):
        read_lines(path, text_of)
    path.write_bytes(b'{"text": "a"}\n')
    with pytest.raises(InputError, match="this cannot be read"):
        read_lines(path, text_of)


FIELDS = Line(
    "f:1", {"n": 3, "x": 0.5, "yes": True, "list": ["a", "b"], "mixed": ["a", 1], "nan": float("nan")}
)


def test_fields_of_the_right_kind():
    assert FIELDS.integer("n") == 3
    assert (FIELDS.number("n"), FIELDS.number("x")) == (3.0, 0.5)
    assert FIELDS.texts("list") == ["a", "b"]
    assert FIELDS.name("n") == "3"
    assert Line("f:1", {"title": ""}).text("title", empty=True) == ""


@pytest.mark.parametrize(
    ("kind", "name"),
    [("integer", "x"), ("integer", "yes"), ("number", "yes"), ("number", "nan"), ("texts", "mixed"), ("texts", "n"),
     ("name", "x"), ("name", "yes"), ("integer", "list")],
)  # fmt: skip
def test_fields_of_the_wrong_kind(kind, name):
    with pytest.raises(InputError, match=f'f:1: "{name}" must be'):
        getattr(FIELDS, kind)(name)


def test_a_file_is_closed_where_a_line_is_wrong(file):
    path = file('{"text": "a"}\n{"text": 1}\n{"text": "c"}\n')
    with pytest.raises(InputError) as caught:
        read_lines(path, text_of)
    assert ":2: " in str(caught.value)
    assert str(path) not in [opened.path for opened in psutil.Process().open_files()]
