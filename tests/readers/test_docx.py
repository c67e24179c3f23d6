import io
import zipfile
from datetime import datetime

import docx
from docx.oxml import parse_xml

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def saved(document) -> bytes:
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def test_paragraphs_and_tables_are_read_in_order(read_file):
    document = docx.Document()
    document.core_properties.author = "Ann"
    document.core_properties.created = datetime(2024, 5, 1, 10, 0)
    document.core_properties.keywords = "heat, pump"
    document.add_heading("The title", 1)
    document.add_paragraph("First paragraph.").add_run("\nNew line.\tTab.")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    document.add_paragraph("Last paragraph.")
    (read,), errors = read_file("a.docx", saved(document))
    assert not errors
    assert read.title == "The title"
    assert read.text == "First paragraph.\nNew line.\tTab.\n\nleft\n\nright\n\nLast paragraph."
    assert read.meta["author"] == "Ann"
    assert read.meta["created"].startswith("2024-05-01T10:00:00")
    assert read.meta["keywords"] == ["heat", "pump"]


def test_what_an_author_inserted_is_read_and_what_was_deleted_is_not(read_file):
    document = docx.Document()
    paragraph = document.add_paragraph("Kept ")._p
    paragraph.append(parse_xml(f"<w:ins {W}><w:r><w:t>inserted</w:t></w:r></w:ins>"))
    paragraph.append(parse_xml(f"<w:del {W}><w:r><w:delText>deleted</w:delText></w:r></w:del>"))
    (read,), _ = read_file("a.docx", saved(document))
    assert read.text == "Kept inserted"


def test_the_title_of_the_properties_comes_first(read_file):
    document = docx.Document()
    document.core_properties.title = "Proper title"
    document.add_heading("Heading", 1)
    (read,), _ = read_file("a.docx", saved(document))
    assert (read.title, read.text) == ("Proper title", "Heading")


def test_what_is_no_docx_is_told(read_file):
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("x", "y")
    assert read_file("a.docx", saved(docx.Document()))[1] == ["a.docx: the file has no text."]
    assert read_file("a.docx", b"plain text")[1] == [
        "a.docx: cannot be read as DOCX: File is not a zip file."
    ]
    assert "cannot be read as DOCX" in read_file("a.docx", empty.getvalue())[1][0]
    assert (
        "an encrypted file or one of Word's old format"
        in read_file("a.docx", b"\xd0\xcf\x11\xe0" + bytes(99))[1][0]
    )


def test_a_file_that_unpacks_to_too_much_is_refused(read_file):
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(30_000_000))
    _, (error,) = read_file("a.docx", bomb.getvalue(), max_bytes=1000)
    assert error == "a.docx: the file unpacks to 30,000,000 bytes; at most 20,000,000 are read."
