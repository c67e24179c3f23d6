import gzip
import os
import random

import pytest

from indexer.readers import ReadOptions, read


def test_the_text_is_exactly_the_file(read_file):
    text = "\tFirst line.\r\nSecond\u2028line.\n\n"
    (document,), _ = read_file("a.txt", text)
    assert (document.text, document.title, document.source) == (text, "", "a.txt")
    assert document.meta["file"] == "a.txt"
    assert document.meta["extension"] == "txt"


def test_a_changed_file_is_the_same_document(read_file):
    (old,), _ = read_file("a.txt", "old text")
    (new,), _ = read_file("a.txt", "new text")
    assert old.id == new.id
    assert old.content_hash != new.content_hash


def test_touching_a_file_changes_nothing(folder):
    path = folder / "a.txt"
    path.write_text("text")
    (before,) = read([path])
    os.utime(path, (1, 1))
    (after,) = read([path])
    assert before.content_hash == after.content_hash


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Größe und Maß", "utf-8-sig"),
        ("Größe und Maß", "utf-16"),
        ("Größe und Maß", "utf-32-be"),
        ("Le café est déjà fermé.", "cp1252"),
        ("The naïve approach – it’s “good”.", "cp1252"),
        ("Привет, как дела? Это текст.", "cp1251"),
        ("Привет, как дела? Это текст.", "koi8_r"),
        ("Zażółć gęślą jaźń", "cp1250"),
        ("日本語のテキストです。", "cp932"),
        ("这是一个中文文本。", "gb18030"),
    ],
)
def test_the_encoding_is_recognised(read_file, text, encoding):
    mark = "\ufeff" if encoding == "utf-32-be" else ""
    (document,), _ = read_file("a.txt", (mark + text).encode(encoding))
    assert document.text == text


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "the file has no text."),
        (b" \n\t\n", "the file has no text."),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not a text file: NUL byte at byte 8."),
        (random.Random(1).randbytes(3000).replace(b"\0", b"\1"), "not UTF-8 at byte 0 (0xf5)."),
        (b"\x01\x02\x03\x04", "not a text file: more than a tenth"),
        ("schöne Größe ".encode() * 20 + b"\xff" + "schöne Größe".encode(), "not UTF-8 at byte 320 (0xff)."),
        (b"\xff\xfea", "not UTF-16 at byte 2 (0x61)."),
    ],
)
def test_what_is_no_text_is_told(read_file, data, what):
    documents, (error,) = read_file("a.txt", data)
    assert not documents
    assert error.startswith(f"a.txt: {what}")


def test_a_file_over_the_limit_is_refused_unread(read_file):
    assert read_file("a.txt", "x" * 10, max_bytes=10)[1] == []
    assert read_file("a.txt", "x" * 11, max_bytes=10)[1] == [
        "a.txt: the file has more than 10 bytes; the limit for the text of one document is 10."
    ]
    assert "more than 10 bytes" in read_file("a.txt.gz", gzip.compress(bytes(1_000_000)), max_bytes=10)[1][0]


def test_an_error_knows_its_document(folder):
    (folder / "a.txt").write_text("good")
    (document,) = read(["a.txt"])
    (error,) = read(["a.txt"], ReadOptions(max_bytes=1))
    assert error.facts == {"source": "a.txt", "document_id": document.id}
    assert "max_document_bytes" in error.hint
