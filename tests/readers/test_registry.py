"""A format is one file: what a module of `indexer.readers.formats` declares is all that a reader needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from indexer.readers.registry import FORMATS, MAGIC

ROOT = Path(__file__).parents[2]
READER = """
from indexer.readers.encoding import decode
from indexer.readers.single import Page, all_bytes

SUFFIXES = ("rst",)

def parse(file, options):
    lines = decode(all_bytes(file, options, options.max_bytes), file).splitlines()
    return Page(title=lines[0], text="\\n".join(lines[2:]).strip())
"""
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
    (folder / "restructured_text.py").write_text(READER, encoding="utf-8")
    (tmp_path / "tides.rst").write_text("Tides\n=====\n\nTides move the sea ice.\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", USE, str(folder), str(tmp_path / "tides.rst")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("Tides | Tides move the sea ice.\n", "")


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_parses_or_reads(suffix: str) -> None:
    assert hasattr(FORMATS[suffix], "parse") != hasattr(FORMATS[suffix], "read")


def test_formats_of_packed_files_declare_how_they_begin() -> None:
    assert MAGIC == {"docx": b"PK\x03\x04", "pdf": b"%PDF-"}
