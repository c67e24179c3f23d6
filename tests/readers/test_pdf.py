import gzip
import io

import pytest
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas


def pdf(*pages: str, **info: str) -> bytes:
    """A PDF with a line of text for each line given."""
    data = io.BytesIO()
    canvas = Canvas(data)
    for name, value in info.items():
        getattr(canvas, f"set{name.capitalize()}")(value)
    for page in pages:
        text = canvas.beginText(50, 800)
        text.textLines(page)
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    return data.getvalue()


def encrypted(data: bytes, **passwords: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(algorithm="RC4-128", **passwords)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_the_text_of_all_pages_is_read(read_file):
    data = pdf(
        "First page, exam-\nple text.", "Second page.", title="My PDF", author="Ann", keywords="heat; pump"
    )
    (document,), errors = read_file("a.pdf", data)
    assert not errors
    assert document.text == "First page, example text.\n\nSecond page."
    assert document.title == "My PDF"
    assert (document.meta["author"], document.meta["pages"]) == ("Ann", 2)
    assert document.meta["keywords"] == ["heat", "pump"]
    assert document.meta["created"].startswith("20")


@pytest.mark.parametrize("title", ["untitled", "Microsoft Word - report.doc", "thesis.tex"])
def test_a_title_that_a_program_made_up_is_left_out(read_file, title):
    (document,), _ = read_file("a.pdf", pdf("Text.", title=title))
    assert document.title == ""


def test_a_packed_pdf_is_read(read_file):
    (document,), _ = read_file("a.pdf.gz", gzip.compress(pdf("Text.")))
    assert document.text == "Text."


def test_a_scan_is_told(read_file):
    assert read_file("a.pdf", pdf("", "")) == ([], ["a.pdf: no text in 2 pages: probably a scan."])


def test_only_a_pdf_that_needs_a_password_is_refused(read_file):
    data = pdf("Secret text.")
    refused = "a.pdf: the PDF is encrypted: it opens only with a password."
    assert read_file("a.pdf", encrypted(data, user_password="x")) == ([], [refused])
    (document,), _ = read_file("a.pdf", encrypted(data, user_password="", owner_password="x"))
    assert document.text == "Secret text."


@pytest.mark.parametrize(
    "damage", [b"", b"not a PDF at all", pdf("Text.")[:300]], ids=["empty", "text", "cut"]
)
def test_a_damaged_pdf_is_told_quietly(read_file, capfd, damage):
    documents, (error,) = read_file("a.pdf", damage)
    assert not documents
    assert error.startswith("a.pdf: cannot be read as PDF: ")
    assert capfd.readouterr() == ("", "")


def test_a_pdf_over_the_limit_is_refused(read_file):
    _, (error,) = read_file("a.pdf", pdf("word " * 10, "word " * 10), max_bytes=60)
    assert "bytes of text; the limit is 60." in error
