"""Parts of phrases, after algorithm 1 of SimCKP."""

from __future__ import annotations

from indexer.records import Document, Mention, Prepared, Sentence
from indexer.text.subspans import with_parts


def parts_of(text: str, *phrases: str) -> list[str]:
    document = Document("a", text)
    mentions = tuple(Mention(at := text.index(p), at + len(p), p.lower()) for p in phrases)
    found = with_parts(document, Prepared((Sentence(0, len(text)),), mentions))
    assert found.mentions == mentions
    return [text[part.start : part.end] for part in found.parts]


def test_the_example_of_the_paper():
    found = parts_of("We show applications of machine learning.", "applications", "machine learning")
    assert sorted(found) == sorted(
        ["machine", "learning", "applications of machine", "applications of machine learning"]
    )


def test_only_joining_words_connect_phrases():
    assert parts_of("heat pump, cell wall", "heat pump", "cell wall") == ["heat", "pump", "cell", "wall"]


def test_a_part_has_six_words_at_most():
    found = parts_of("a b c d e f g", "a b c d e f g")
    assert max(len(part.split()) for part in found) == 6
    assert "b c d e f g" in found


def test_hyphens_part_words():
    assert parts_of("finite-state machine", "finite-state machine") == [
        "finite",
        "finite-state",
        "state",
        "state machine",
        "machine",
    ]
