"""A format is one file: what a module of `indexer.readers.formats` declares is all that a reader needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from indexer.errors import SettingsError
from indexer.readers import read
from indexer.readers.registry import FORMATS, MAGIC, register

ROOT = Path(__file__).parents[2]
READER = """
from indexer.readers.encoding import decode
from indexer.readers.single import Page, all_bytes

SUFFIXES = ("tides",)

def parse(file, options):
    lines = decode(all_bytes(file, options, options.max_bytes), file).splitlines()
    return Page(title=lines[0], text="\\n".join(lines[2:]).strip())
"""
PARSE = "staticmethod(lambda file, options: Page(file.path.name))"
USE = """
import sys
from importlib import reload
from indexer.readers import formats, read, registry
formats.__path__.append(sys.argv[1])
reload(registry)
for document in read([sys.argv[2]]):
    print(*(getattr(document, name, document) for name in ("title", "text")), sep=" | ")
"""


def test_a_module_in_the_folder_is_a_reader(tmp_path: Path) -> None:
    folder = tmp_path / "formats"
    folder.mkdir()
    (folder / "tide_tables.py").write_text(READER, encoding="utf-8")
    (tmp_path / "ebb.tides").write_text("Tides\n=====\n\nTides move the sea ice.\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", USE, str(folder), str(tmp_path / "ebb.tides")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("Tides | Tides move the sea ice.\n", "")


@pytest.fixture
def own_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's modules; the readers they register are forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    for known in (FORMATS, MAGIC):
        for suffix in ("tides", "pdf"):
            monkeypatch.setitem(known, suffix, known.get(suffix))
            if known[suffix] is None:
                del known[suffix]
    return tmp_path


def test_a_registered_module_reads_its_suffix(own_readers: Path) -> None:
    (own_readers / "own_tides.py").write_text(READER, encoding="utf-8")
    (own_readers / "ebb.tides").write_text("Tides\n=====\n\nTides move the sea ice.\n", encoding="utf-8")
    register("own_tides")
    [document] = read([own_readers / "ebb.tides"])
    assert (document.title, document.text) == ("Tides", "Tides move the sea ice.")


def test_a_registered_class_replaces_a_reader_and_its_magic(own_readers: Path) -> None:
    code = f"class Plain:\n    SUFFIXES = ('pdf',)\n    parse = {PARSE}\n"
    (own_readers / "own_pdf.py").write_text(f"from indexer.readers.single import Page\n\n{code}")
    (own_readers / "ice.pdf").write_bytes(b"not a PDF")
    register("own_pdf.Plain")
    assert [document.text for document in read([own_readers / "ice.pdf"])] == ["ice.pdf"]
    assert "pdf" not in MAGIC


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("", "is not a reader"),
        ("SUFFIXES = ('tides',)", "is not a reader"),
        ("SUFFIXES = 'tides'\ndef parse(file, options): ...", "is not a reader"),
        (
            "SUFFIXES = ('tides',)\ndef parse(file, options): ...\ndef read(file, options): ...",
            "is not a reader",
        ),
        ("import nowhere", "cannot be imported"),
    ],
)
def test_what_is_not_a_reader_is_refused(own_readers: Path, code: str, reason: str) -> None:
    name = f"own_{abs(hash(code))}"
    (own_readers / f"{name}.py").write_text(code, encoding="utf-8")
    with pytest.raises(SettingsError, match=reason):
        register(name)
    assert "tides" not in FORMATS


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_parses_or_reads(suffix: str) -> None:
    assert hasattr(FORMATS[suffix], "parse") != hasattr(FORMATS[suffix], "read")


def test_formats_of_packed_files_declare_how_they_begin() -> None:
    assert MAGIC == {"docx": b"PK\x03\x04", "pdf": b"%PDF-"}
