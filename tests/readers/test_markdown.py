SOURCE = """Intro with `code` and
a [link](http://x.y), ![a picture](p.png), <b>bold</b> &amp; \\*stars\\*.

# The *title*

```python
dropped = 1
```

    dropped too

- one
- two
  1. nested

| h1 | h2 |
|----|----|
| a  | b  |

<div>raw</div>

> quoted
"""


def test_markdown_becomes_plain_text(read_file):
    (document,), _ = read_file("a.md", SOURCE)
    assert document.title == "The title"
    assert document.text == (
        "Intro with code and a link, a picture, bold & *stars*.\n\n"
        "one\n\ntwo\n\nnested\n\nh1\th2\n\na\tb\n\nquoted"
    )
    assert document.meta["extension"] == "md"


def test_front_matter_becomes_meta(read_file):
    source = (
        '---\ntitle: "From: above"\ndate: 2024-05-01\ntags: [a, "b"]\nauthors:\n  - Ann\n  - Bob\n'
        "draft: false\nweight: 3\nratio: 0.5\nempty:\nnested: {a: 1}\n---\n# Heading\n\nBody.\n"
    )
    (document,), _ = read_file("a.md", source)
    assert (document.title, document.text) == ("From: above", "Heading\n\nBody.")
    assert {
        name: document.meta[name] for name in document.meta if name not in {"file", "folder", "extension"}
    } == {
        "date": "2024-05-01",
        "tags": ["a", "b"],
        "authors": ["Ann", "Bob"],
        "draft": False,
        "weight": 3,
        "ratio": 0.5,
    }


def test_toml_front_matter_becomes_meta(read_file):
    source = '+++\ntitle = "T"\ndate = 2024-05-01T10:00:00Z\n[params]\nlevel = 2\n+++\nBody.\n'
    (document,), _ = read_file("a.md", source)
    assert (document.title, document.text) == ("T", "Body.")
    assert document.meta["date"] == "2024-05-01T10:00:00+00:00"
    assert document.meta["params.level"] == 2


def test_a_rule_at_the_beginning_is_no_front_matter(read_file):
    (document,), _ = read_file("a.md", "---\n\nOnly text.\n\n---\n\nMore text.\n")
    assert document.text == "Only text.\n\nMore text."


def test_a_file_of_code_alone_has_no_text(read_file):
    assert read_file("a.md", "```\ncode\n```\n") == ([], ["a.md: the file has no text."])
