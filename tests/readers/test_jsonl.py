import gzip
import io
import json
import sys
import tracemalloc

import pytest

from indexer.errors import InputError
from indexer.readers import ReadOptions, read
from indexer.records import Document


def test_a_line_gives_a_document_with_its_fields(read_file):
    record = {
        "id": 7,
        "title": "T",
        "text": "Some text.",
        "year": 2019,
        "tags": ["x", "y"],
        "by": {"name": "A"},
    }
    documents, errors = read_file("a.jsonl", json.dumps(record) + "\n")
    meta = {"year": 2019, "tags": ["x", "y"], "by.name": "A"}
    assert (documents, errors) == ([Document("7", "Some text.", "T", meta, "a.jsonl:1")], [])


def test_a_bad_line_is_an_error_and_the_rest_is_read(folder):
    (folder / "a.jsonl").write_text('{"text": "one"}\n{"text": \n\n{"text": "two"}')
    one, error, two = read(["a.jsonl"])
    assert (one.text, two.text, two.source) == ("one", "two", "a.jsonl:4")
    assert isinstance(error, InputError)
    assert str(error) == "a.jsonl:2: not valid JSON: Expecting value at column 10."
    assert error.facts == {"source": "a.jsonl", "line": 2}


@pytest.mark.parametrize("name", ["text", "body", "content", "abstract", "Abstract", "TEXT"])
def test_the_usual_names_are_text(read_file, name):
    (document,), _ = read_file("a.jsonl", json.dumps({name: "x", "Title": "T", "year": 1}))
    assert (document.text, document.title, document.meta) == ("x", "T", {"year": 1})


def test_the_first_usual_name_wins_and_the_others_stay_in_meta(read_file):
    (document,), _ = read_file("a.jsonl", '{"abstract": "short", "body": "long"}')
    assert (document.text, document.meta) == ("long", {"abstract": "short"})


def test_fields_can_be_named_also_inside_objects(read_file):
    record = {"_id": "x", "_source": {"head": "H", "story": "S", "year": 3}}
    options = {"text_field": "_source.story", "title_field": "_source.head", "id_field": "_id"}
    (document,), _ = read_file("a.jsonl", json.dumps(record), **options)
    assert document == Document("x", "S", "H", {"_source.year": 3}, "a.jsonl:1")


def test_several_text_fields_are_joined_by_a_blank_line(read_file):
    data = '{"abstract": "A", "body": "B"}\n{"body": "only"}\n{"other": "x"}'
    documents, errors = read_file("a.jsonl", data, text_field="abstract, body")
    assert [document.text for document in documents] == ["A\n\nB", "only"]
    assert errors == ['a.jsonl:3: the text "abstract, body" is missing or empty. Found: other.']


def test_a_record_whose_text_is_empty_consists_of_its_title(read_file):
    data = '{"title": "T", "text": ""}\n{"title": "U", "text": null}\n{"title": " ", "text": ""}'
    documents, errors = read_file("a.jsonl", data)
    assert [(document.title, document.text) for document in documents] == [("T", ""), ("U", "")]
    assert errors == ['a.jsonl:3: the text "text" is missing or empty. Found: title, text.']


def test_an_id_may_be_called_as_elasticsearch_calls_it(read_file):
    documents, _ = read_file("a.jsonl", '{"_id": "7", "text": "x"}\n{"_id": "7", "id": "8", "text": "x"}')
    assert [document.id for document in documents] == ["7", "8"]


def test_a_record_without_id_gets_one_from_its_content(folder):
    (folder / "a.jsonl").write_text('{"text": "x", "n": 1}\n{"text": "x", "n": 2}')
    (folder / "b.jsonl").write_text('{"n": 2, "text": "x"}')
    (one, two), (again,) = list(read(["a.jsonl"])), list(read(["b.jsonl"]))
    assert one.id != two.id == again.id
    assert len(one.id) == 24


def test_meta_is_flat_and_storable(read_file):
    record = {
        "text": "x",
        "date": "2024-05-01",
        "open": True,
        "score": 0.5,
        "nothing": None,
        "empty": "",
        "none": [],
        "mixed": [1, True, None, "a"],
        "authors": [{"name": "A", "age": 1}, {"name": "B"}],
        "a": {"b": {"c": 1}},
        "not": float("nan"),
    }
    (document,), _ = read_file("a.jsonl", json.dumps(record))
    assert document.meta == {
        "date": "2024-05-01",
        "open": True,
        "score": 0.5,
        "mixed": ["1", "true", "a"],
        "authors.name": ["A", "B"],
        "authors.age": ["1"],
        "a.b.c": 1,
    }


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("[1, 2]", "expected an object, found a list."),
        ('"text"', "expected an object, found text."),
        ("7", "expected an object, found a number."),
        (
            '{"id": 1, "head": "x"}',
            "no text. Expected one of text, body, content, abstract; found: id, head.",
        ),
        ('{"text": ["a"]}', '"text" must be text, found a list.'),
        ('{"text": 3}', '"text" must be text, found a number.'),
        ('{"text": " \\n"}', 'the text "text" is missing or empty. Found: text.'),
        ('{"text": null}', 'the text "text" is missing or empty. Found: text.'),
        ('{"text": "x", "title": {}}', '"title" must be text, found an object.'),
        ('{"text": "x", "id": 1.5}', 'the id "id" must be text or a whole number, found a number.'),
        ('{"text": "x", "id": true}', 'the id "id" must be text or a whole number, found true or false.'),
        (
            '{"text": "x", "id": "a\\u0000b"}',
            "the id 'a\\x00b' is blank, or has control characters or broken",
        ),
        ('{"text": "x", "id": "\\ud800"}', "the id '\\ud800' is blank, or has control characters or broken"),
        ('{"text": "x", "id": "' + "é" * 300 + '"}', "the id has 600 bytes; at most 512 are possible."),
        ('{"text": "x", "n": 1e999}', 'the number in "n" is infinite or too large.'),
        ('{"text": "x", "n": -Infinity}', 'the number in "n" is infinite or too large.'),
        ('{"text": "x", "n": 9223372036854775808}', 'the number in "n" does not fit into 64 bits'),
        ('{"text": "x", "n": ' + "9" * 5000 + "}", "not usable JSON: Exceeds the limit"),
        ('{"text": "x", "": 1}', 'a field has the name "";'),
        ('{"text": "x", "a..b": 1}', 'a field has the name "a..b";'),
        ('{"text": "x", "a": {"b": 1}, "a.b": 2}', 'the field "a.b" is there twice.'),
        ('{"text": "x", "d": ' + '{"d": ' * 20 + "1" + "}" * 21, "is nested more than 10 deep."),
        ('{"text": "x", "d": ' + "[" * 100_000 + "]" * 100_000 + "}", "not usable JSON: nested too deep."),
        ('{"text": "a\x00b"}', "NUL byte at byte 11 of the line."),
        ('{"text": "a\tb"}', "not valid JSON: Invalid control character at"),
    ],
)
def test_what_is_wrong_is_said(read_file, line, what):
    documents, (error,) = read_file("a.jsonl", '{"text": "first"}\n' + line + '\n{"text": "last"}\n')
    assert error.startswith("a.jsonl:2: ")
    assert what in error
    assert [document.text for document in documents] == ["first", "last"]


def test_lists_inside_lists_are_one_list_up_to_a_depth_of_ten(read_file):
    nested = '{"text": "x", "d": ' + "[" * 9 + "%s" + "]" * 9 + "}\n"
    (document,), (error,) = read_file("a.jsonl", nested % '1, "y"' + nested % "[2]")
    assert document.meta == {"d": ["1", "y"]}
    assert error == 'a.jsonl:2: the field "d" is nested more than 10 deep.'


def test_other_json_is_one_error_not_one_for_each_line(read_file):
    problem = "a.jsonl:1: expected JSON Lines, one object per line, found"
    array = f"{problem} a JSON array. Convert it: jq -c '.[]' FILE > FILE.jsonl"
    assert read_file("a.jsonl", '[\n{"text": "x"},\n{"text": "y"}\n]') == ([], [array])
    object_ = f"{problem} one object over several lines. Convert it: jq -c '.' FILE > FILE.jsonl"
    assert read_file("a.jsonl", '{\n"text": "x"\n}\n') == ([], [object_])


def test_broken_unicode_and_nul_escapes_are_replaced_one_for_one(read_file):
    (document,), _ = read_file("a.jsonl", r'{"text": "a\ud800b\u0000c \ud83d\ude00", "k\udc00": ["\udfff"]}')
    assert document.text == "a\ufffdb\ufffdc 😀"
    assert document.meta == {"k\ufffd": ["\ufffd"]}


def test_bytes_that_are_not_utf8_are_an_error_of_their_line(read_file):
    data = '{"text": "größer"}\n'.encode() + b'{"text": "gr\xf6\xdfer"}\n{"text": "x"}'
    documents, errors = read_file("a.jsonl", data)
    assert [document.text for document in documents] == ["größer", "x"]
    assert errors == ["a.jsonl:2: not UTF-8 at byte 12 (0xf6) of the line."]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_other_encodings_are_recognised(read_file, encoding):
    lines = [
        json.dumps({"text": f"Größe und Maß Nummer {number}"}, ensure_ascii=False) for number in range(3)
    ]
    documents, errors = read_file("a.jsonl", "\r\n".join(lines).encode(encoding))
    assert not errors
    assert [document.text for document in documents] == [f"Größe und Maß Nummer {n}" for n in range(3)]


@pytest.mark.slow
def test_gzip_is_unpacked_and_a_cut_one_is_read_to_its_end(read_file):
    data = gzip.compress(
        b"".join(b'{"text": "%d %s"}\n' % (n, str(hash(str(n))).encode()) for n in range(20_000))
    )
    documents, errors = read_file("a.jsonl.gz", data)
    assert (len(documents), errors) == (20_000, [])
    documents, errors = read_file("a.jsonl.gz", data[: len(data) // 2])
    assert len(documents) > 5_000
    assert errors == ["a.jsonl.gz: the gzip data ends too early: the file is cut off."]
    damaged = data[:1000] + bytes(100) + data[1100:]
    assert "the gzip data is damaged" in read_file("a.jsonl.gz", damaged)[1][-1]
    assert read_file("a.jsonl.gz", b'{"text": "x"}')[1] == [
        "a.jsonl.gz: not gzip data, though the name ends in .gz."
    ]


def test_a_text_over_the_limit_is_refused(read_file):
    documents, errors = read_file(
        "a.jsonl", '{"id": "a", "text": "éé", "title": "x"}\n{"text": "éé"}', max_bytes=4
    )
    assert [document.text for document in documents] == ["éé"]
    assert errors == ["a.jsonl:1: the document has 5 bytes of text; the limit is 4."]


def test_a_huge_line_is_passed_over_in_little_memory(folder):
    with open("a.jsonl", "wb") as stream:
        stream.write(b'{"text": "' + b"x" * 50_000_000 + b'"}\n{"text": "next"}\n')
    tracemalloc.start()
    error, document = read(["a.jsonl"], ReadOptions(max_bytes=1_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(error) == "a.jsonl:1: the line has 50,000,013 bytes; at most 4,000,000 are read."
    assert document.source == "a.jsonl:2"
    assert peak < 20_000_000


def test_standard_input_is_json_lines(monkeypatch):
    data = io.BytesIO(b'{"text": "one"}\nx\n')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    document, error = read(["-"])
    assert (document.text, document.source) == ("one", "stdin:1")
    assert str(error) == "stdin:2: not valid JSON: Expecting value at column 1."
    assert not data.closed


def test_an_empty_file_has_no_documents(read_file):
    assert read_file("a.jsonl", "") == ([], [])
    assert read_file("a.jsonl", "\n\n") == ([], [])
    assert read_file("a.jsonl.gz", "") == ([], [])
