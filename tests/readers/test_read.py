import gzip
import io
import os
import pickle
import subprocess
import sys
import threading

import pytest

from indexer.errors import InputError, QueryError
from indexer.readers import ReadOptions, count, read, read_one


def test_a_missing_source_is_raised_before_anything_is_read(folder):
    (folder / "a.txt").write_text("text")
    with pytest.raises(InputError, match=r"^b\.txt: there is no such file or folder\.$"):
        read(["a.txt", "b.txt"])
    with pytest.raises(InputError, match="no such file"):
        count(["b.txt"])


def test_an_id_that_comes_twice_is_an_error(folder):
    (folder / "a.jsonl").write_text(
        '{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}\n{"text": "c"}\n{"text": "c"}'
    )
    first, error, third, same = read(["a.jsonl"])
    assert (first.text, third.text) == ("a", "c")
    assert str(error) == "a.jsonl:2: the id '1' was read before in this run."
    assert error.facts == {"source": "a.jsonl", "line": 2, "document_id": "1"}
    assert str(same) == "a.jsonl:4: the same title, text and fields were read before in this run."


def test_files_with_the_same_path_in_two_folders_are_told(folder):
    for name in ("one/docs", "two/docs"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.txt").write_text(name)
    first, error = read(["one/docs", "two/docs"])
    assert first.text == "one/docs"
    assert str(error) == "two/docs/a.txt: another file with the path docs/a.txt was read before in this run."


def test_a_file_given_twice_is_read_once(folder):
    (folder / "x").mkdir()
    (folder / "x" / "a.txt").write_text("text")
    assert len(list(read(["x", "x/a.txt", folder / "x"]))) == 1


def test_an_unreadable_file_is_an_error_in_the_stream(folder, monkeypatch):
    (folder / "a.txt").write_text("text")
    (folder / "b.txt").write_text("text")
    documents = read(["a.txt", "b.txt"])
    next(documents)
    (folder / "b.txt").unlink()
    assert [str(error) for error in documents] == ["b.txt: cannot be read: No such file or directory."]


def test_a_pipe_is_json_lines(folder):
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: (folder / "pipe").write_text('{"text": "a"}\n{"text": "b"}\n'))
    writer.start()
    assert [document.text for document in read(["pipe"])] == ["a", "b"]
    writer.join()


def test_errors_survive_pickle(folder):
    (folder / "a.jsonl").write_text("x")
    (error,) = read(["a.jsonl"])
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.facts) == (str(error), error.facts)


def test_options_are_checked():
    with pytest.raises(QueryError, match="it must be one character, or 'tab'"):
        ReadOptions(delimiter=",,")
    with pytest.raises(QueryError, match="must be at least 1"):
        ReadOptions(max_bytes=0)
    assert ReadOptions(delimiter="tab").delimiter == "\t"


def test_count_is_exact_for_small_files(folder):
    (folder / "a.jsonl").write_text('{"text": "a"}\n{"text": "b"}')
    (folder / "b.csv").write_text('text,n\n"one\nline",1\ntwo,2\n')
    (folder / "c.txt").write_text("text")
    (folder / "d.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a"}\n' * 10))
    (folder / "e.png").write_text("image")
    (folder / "f.jsonl").write_text("")
    assert count(["."]) == 2 + 2 + 1 + 10
    assert count(["a.jsonl", "-"]) is None


@pytest.mark.slow
def test_count_estimates_large_files(folder):
    line = b'{"text": "%s"}\n' % (b"x" * 985)
    (folder / "a.jsonl").write_bytes(line * 20_000)
    noise = b"".join(b'{"text": "%s"}\n' % os.urandom(500).hex().encode() for _ in range(20_000))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(noise, 1))
    assert count(["a.jsonl"]) == pytest.approx(20_000, rel=0.01)
    assert count(["b.jsonl.gz"]) == pytest.approx(20_000, rel=0.02)


def test_read_one_gives_the_document_of_a_file(folder, monkeypatch):
    (folder / "a.md").write_text("# T\n\nText.")
    (folder / "README").write_text("Plain.")
    (folder / "one.jsonl").write_text('{"text": "x"}')
    (folder / "two.jsonl").write_text('{"text": "x"}\n{"text": "y"}')
    (folder / "bad.jsonl").write_text("x")
    (folder / "no.jsonl").write_text("")
    assert read_one(folder / "a.md").title == "T"
    assert read_one(folder / "README").text == "Plain."
    assert read_one(folder / "one.jsonl").text == "x"
    for name, what in [
        ("two.jsonl", "expected one document, found several."),
        ("bad.jsonl", ":1: not valid JSON"),
        ("no.jsonl", "the file holds no document."),
        (".", "expected a file, found a folder."),
        ("gone.txt", "there is no such file or folder."),
    ]:
        with pytest.raises(InputError, match=what):
            read_one(folder / name)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"From a pipe.")))
    document = read_one("-")
    assert (document.text, document.meta, document.source) == ("From a pipe.", {}, "stdin")


def test_heavy_libraries_are_not_imported():
    heavy = {"pypdf", "docx", "trafilatura", "lxml", "markdown_it", "charset_normalizer", "numpy.testing"}
    code = f"import sys, indexer.readers; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
