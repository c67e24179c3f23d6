"""Sound files of each format with bytes changed, removed or repeated: documents and InputErrors, within seconds."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache

import docx
import pytest
from fuzzing import examples, within
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from tests.readers.test_any_bytes import check

TEXT = "The solar wind is a stream of particles, and the ocean waves are not."
RECORD = {"id": "a1", "title": "Wind", "text": TEXT, "year": 2004, "tags": ["sun", "sea"]}


def pdf() -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, pageCompression=1)
    for page in (TEXT, TEXT[::-1]):
        canvas.drawString(50, 700, page)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def word() -> bytes:
    out = io.BytesIO()
    document = docx.Document()
    document.add_heading("Wind", 0)
    document.add_paragraph(TEXT)
    document.add_table(2, 2).cell(0, 0).text = TEXT
    document.save(out)
    return out.getvalue()


@cache
def sound(suffix: str) -> bytes:
    """A file of this format that has a document."""
    rows = [f'id,title,text,year\n{i},Wind,"{TEXT}",2004' for i in range(3)]
    files = {
        "txt": f"Wind\n\n{TEXT}\n\n{TEXT}",
        "md": f"---\ntitle: Wind\ntags: [sun, sea]\n---\n# Wind\n\n{TEXT}\n\n- one\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "html": f"<!doctype html><html><head><title>Wind</title></head><body><nav>x</nav><p>{TEXT}</p>"
        f"<table><tr><td>{TEXT}</td></tr></table></body></html>",
        "csv": "\n".join([rows[0], *(row.split("\n")[1] for row in rows[1:])]),
        "tsv": f"id\ttext\n1\t{TEXT}\n2\t{TEXT}\n",
        "jsonl": "".join(json.dumps({**RECORD, "id": str(i)}) + "\n" for i in range(3)),
    }  # fmt: skip
    return {"pdf": pdf, "docx": word}[suffix]() if suffix in ("pdf", "docx") else files[suffix].encode()


MUTATIONS = st.lists(
    st.tuples(
        st.sampled_from(["change", "remove", "repeat", "insert"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(1, 400),
        st.binary(min_size=1, max_size=8) | st.sampled_from([b"\x00", b"\xff", b"<", b'"', b"{", b"9" * 40]),
    ),
    min_size=1,
    max_size=6,
)


def mutated(data: bytes, mutations: list[tuple[str, float, int, bytes]]) -> bytes:
    for kind, place, length, new in mutations:
        at = int(place * len(data))
        end = at + length
        middle = {"change": new, "remove": b"", "repeat": data[at:end] * 3, "insert": new + data[at:end]}[
            kind
        ]
        data = data[:at] + middle + data[at + len(new) if kind == "change" else end :]
    return data


def mutated_within(data: bytes, place: float, mutations: list[tuple[str, float, int, bytes]]) -> bytes:
    """Change one part of a zip file, whose other parts and checksums are sound."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as parts, zipfile.ZipFile(out, "w") as changed:
        names = parts.namelist()
        chosen = names[int(place * len(names))]
        for name in names:
            content = parts.read(name)
            changed.writestr(name, mutated(content, mutations) if name == chosen else content)
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["txt", "md", "html", "csv", "tsv", "jsonl", "pdf", "docx"])
@settings(
    max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(mutations=MUTATIONS, place=st.floats(0, 1, exclude_max=True), whole=st.booleans())
def test_mutated_files(tmp_path, suffix, mutations, place, whole):
    data = sound(suffix)
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(
        mutated_within(data, place, mutations) if suffix == "docx" and not whole else mutated(data, mutations)
    )
    with within(20):
        check(path, 100_000)
