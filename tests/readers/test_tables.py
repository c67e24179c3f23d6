import pytest


def test_a_row_gives_a_document_with_typed_meta(read_file):
    data = (
        "id,title,text,year,price,open,zip,when,note\n"
        "a,T1,First text.,2019,1.50,true,01234,2024-01-01,\n"
        'b,T2,"Second, with ""quotes""\nand a line.",2020,2,FALSE,98765,2024-01-02,x\n'
    )
    (one, two), errors = read_file("a.csv", data)
    assert not errors
    assert (one.id, one.title, one.text, one.source) == ("a", "T1", "First text.", "a.csv:2")
    assert one.meta == {"year": 2019, "price": 1.5, "open": True, "zip": "01234", "when": "2024-01-01"}
    assert (two.text, two.source) == ('Second, with "quotes"\nand a line.', "a.csv:3")
    assert two.meta["note"] == "x"


def test_a_column_has_one_type_in_all_rows(read_file):
    documents, _ = read_file("a.csv", "text,n\nfirst,1\nsecond,2\nthird,n/a\n")
    assert [document.meta["n"] for document in documents] == ["1", "2", "n/a"]
    documents, _ = read_file("a.csv", "text,n\nfirst,1\nsecond,2.5\nthird,\n")
    assert [document.meta.get("n") for document in documents] == [1.0, 2.5, None]


def test_text_title_and_id_stay_text(read_file):
    (document,), _ = read_file("a.csv", "id,text,title\n1,2019,3\n")
    assert (document.id, document.text, document.title) == ("1", "2019", "3")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_or_given(read_file, name, delimiter):
    data = f"text{delimiter}n\nx: y{delimiter}1\n"
    given = {} if name == "a.csv" else {"delimiter": delimiter}
    (document,), errors = read_file(name, data, **given)
    assert (document.text, document.meta, errors) == ("x: y", {"n": 1}, [])


def test_tsv_without_quoting_is_recognised(read_file):
    data = 'text\tn\n"Hello" she said\t1\n"never closed\t2\nlast\t3\n'
    documents, errors = read_file("a.tsv", data)
    assert [document.text for document in documents] == ['"Hello" she said', '"never closed', "last"]
    assert not errors


def test_a_bad_row_is_an_error_and_the_rest_is_read(read_file):
    data = 'text,n\none,1\ntwo\n\nthree,3,4\n"bad"x,5\nfour,4\nfi\x00ve,5\n,6\n'
    documents, errors = read_file("a.csv", data)
    assert [document.text for document in documents] == ["one", "four"]
    assert errors == [
        "a.csv:3: expected 2 columns, found 1.",
        "a.csv:5: expected 2 columns, found 3.",
        "a.csv:6: not valid CSV: ',' expected after '\"'.",
        "a.csv:8: NUL byte at byte 2 of the line.",
        'a.csv:9: the text "text" is missing or empty. Found: text, n.',
    ]


def test_a_quote_that_is_never_closed_is_told(read_file):
    documents, errors = read_file("a.csv", 'text,n\none,1\n"two,2\nthree,3\nfour,4\n')
    assert [document.text for document in documents] == ["one"]
    assert errors == [
        "a.csv:3: a quote that opens in this row is never closed; the 2 lines after it could not be read."
    ]


@pytest.mark.parametrize(
    ("data", "options", "what"),
    [
        ("a,b\n1,2\n", {}, "no text. Expected one of text, body, content, abstract; found: a, b."),
        ("a,b\n1,2\n", {"text_field": "story"}, 'no column "story". Found: a, b.'),
        ("text,b\n1,2\n", {"id_field": "key"}, 'no column "key". Found: text, b.'),
        ("text,b,b\n1,2,3\n", {}, 'the column "b" is there twice.'),
    ],
)
def test_a_header_that_cannot_be_used_is_one_error(read_file, data, options, what):
    assert read_file("a.csv", data, **options) == ([], [f"a.csv:1: {what}"])


def test_columns_can_be_named_also_with_a_comma(read_file):
    data = '"Text, full",Head,Key\nstory,h,k\n'
    (document,), _ = read_file("a.csv", data, text_field="Text, full", title_field="Head", id_field="Key")
    assert (document.text, document.title, document.id, document.meta) == ("story", "h", "k", {})


def test_a_column_without_a_name_is_left_out(read_file):
    (document,), _ = read_file("a.csv", ",text\n0,x\n")
    assert document.meta == {}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_what_spreadsheets_write_is_read(read_file, encoding):
    data = "text;größe\r\nEin längerer Text – schön;12\r\n".encode(encoding)
    (document,), errors = read_file("a.csv", data)
    assert (document.text, document.meta, errors) == ("Ein längerer Text – schön", {"größe": 12}, [])


def test_a_long_cell_is_read(read_file):
    (document,), _ = read_file("a.csv", f"text,n\n{'word ' * 100_000},1\n")
    assert len(document.text) == 500_000


def test_a_header_alone_or_nothing_gives_nothing(read_file):
    assert read_file("a.csv", "text,n\n") == ([], [])
    assert read_file("a.csv", "") == ([], [])
