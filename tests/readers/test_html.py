PROSE = "A heat pump moves heat from a cold place to a warm one, using work. " * 8
PAGE = f"""<!DOCTYPE html><html lang="en"><head><title>Heat pumps &amp; more</title>
<meta name="author" content="Ann Author"><meta name="Description" content="About  pumps.">
<meta property="article:published_time" content="2024-05-01T10:00:00Z">
<meta name="keywords" content="heat, pump">
<script>var hidden = 1;</script></head>
<body><nav><a href="/">Home</a> <a href="/all">All articles</a></nav>
<article><h1>Heat pumps &amp; more</h1><p>{PROSE}</p><p>Second paragraph with <b>bold</b> words.</p></article>
<footer>Copyright notice</footer></body></html>"""


def test_the_main_text_is_read_and_the_head_becomes_meta(read_file):
    (document,), errors = read_file("a.html", PAGE)
    assert not errors
    assert document.title == "Heat pumps & more"
    assert document.text.split("\n\n") == [PROSE.strip(), "Second paragraph with bold words."]
    assert document.meta["author"] == "Ann Author"
    assert document.meta["description"] == "About pumps."
    assert document.meta["date"] == "2024-05-01T10:00:00Z"
    assert document.meta["keywords"] == ["heat", "pump"]
    assert document.meta["language"] == "en"


def test_the_first_heading_is_the_title_when_there_is_no_other(read_file):
    (document,), _ = read_file("a.htm", f"<h1>Pumps</h1><p>{PROSE}")
    assert document.title == "Pumps"


def test_the_name_of_the_site_is_no_part_of_the_title(read_file):
    (document,), _ = read_file("a.html", f"<title>Pumps | My site</title><h1>Pumps</h1><p>{PROSE}")
    assert document.title == "Pumps"


def test_a_tiny_page_is_read_whole(read_file):
    (document,), _ = read_file("a.html", "<p>short</p>")
    assert document.text == "short"


def test_a_tiny_page_is_read_without_its_menus(read_file):
    (document,), _ = read_file("a.html", "<nav>Home</nav><p>Waves and <b>tides</b>.</p><footer>2024</footer>")
    assert document.text == "Waves and tides."
    (document,), _ = read_file("b.html", "<nav>Home</nav>")
    assert document.text == "Home"


def test_a_declared_encoding_counts(read_file):
    page = (
        f'<?xml version="1.0" encoding="koi8-r"?><html><body><p>{"Тепловой насос. " * 20}</p></body></html>'
    )
    (document,), _ = read_file("a.xhtml", page.encode("koi8-r"))
    assert document.text.startswith("Тепловой насос.")
    page = f'<html><head><meta charset="iso-8859-1"></head><p>{"It’s “fine”, naïve. " * 20}</p>'
    (document,), _ = read_file("a.html", page.encode("cp1252"))
    assert document.text.startswith("It’s “fine”, naïve.")


def test_a_date_that_is_none_is_left_out(read_file):
    (document,), _ = read_file("a.html", PAGE.replace("2024-05-01T10:00:00Z", "last week"))
    assert "date" not in document.meta


def test_a_page_without_text_is_told(read_file, capfd):
    assert read_file("a.html", "<html><script>1</script></html>") == ([], ["a.html: the file has no text."])
    assert read_file("a.html", "")[1] == ["a.html: the file has no text."]
    read_file("a.html", "<div>" * 5000)
    assert capfd.readouterr() == ("", "")
