"""What a language model is shown of a topic, and which names can be used."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from indexer.common import unit
from indexer.records import Document, Topic
from indexer.topics.hierarchy import TopicTree
from indexer.topics.naming import flaw, message, name_in, nearer_topic, rivals, shortened, shown

EYE = np.eye(4, dtype=np.float32)


def topic(number: int, *phrases: str, **values: object) -> Topic:
    return Topic(f"t-{number:06d}", phrases[0], phrases, 10 - number, EYE[number], **values)  # type: ignore[arg-type]


SUN = topic(0, "solar wind", "corona", parent="t-000003")
SEA = topic(1, "deep sea", "vents", parent="t-000003")
TAX = topic(2, "tax law", "income tax")
NATURE = topic(3, "solar wind", "deep sea")
TREE = TopicTree([SUN, SEA, TAX, NATURE])


def test_a_topic_of_documents_is_shown_with_these_and_the_names_of_the_others() -> None:
    document = Document("a", "One\n\n two" + " x" * 500, "A title\ud800")
    found = shown(SUN, TREE, [document])
    assert found["phrases"] == ["solar wind", "corona"]
    assert found["documents"][0]["title"] == "A title?"
    assert found["documents"][0]["passage"].startswith("One two x x")
    assert len(found["documents"][0]["passage"]) <= 241
    assert found["other_topics"] == ["deep sea", "tax law"]
    assert list(found) == ["phrases", "documents", "other_topics"]
    assert json.loads(message(found)) == found


def test_a_parent_is_shown_with_the_phrases_of_its_subtopics() -> None:
    found = shown(NATURE, TREE, [])
    assert found == {
        "phrases": ["solar wind", "deep sea"],
        "subtopics": [["solar wind", "corona"], ["deep sea", "vents"]],
    }


def test_rivals_are_of_the_same_kind_and_on_other_branches() -> None:
    assert rivals(SUN, TREE) == [SEA, TAX]
    assert rivals(NATURE, TREE) == []
    law = topic(3, "law")
    tree = TopicTree([SUN, SEA, replace(TAX, parent="t-000009"), NATURE, replace(law, id="t-000009")])
    assert [other.id for other in rivals(NATURE, tree)] == ["t-000009"]
    above = replace(law, id="t-000010")
    tree = TopicTree([SUN, SEA, TAX, replace(NATURE, parent="t-000010"), above])
    assert rivals(tree.by_id["t-000003"], tree) == []


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ('{"name": "Space weather"}', "Space weather"),
        (' {"name": " Space weather "}\n', "Space weather"),
        ('```json\n{"name": "Space weather"}\n```', "Space weather"),
        ('"Space weather"', "Space weather"),
        ("Space weather", "Space weather"),
        ('{"name": 3}', ""),
        ('["Space weather"]', ""),
        ("3", ""),
        ("", ""),
    ],
)
def test_the_name_in_an_answer(said: str, name: str) -> None:
    assert name_in(said) == name


@pytest.mark.parametrize(
    "name",
    [
        "Space weather",
        "R&D",
        "C++ and C#",
        "Bose-Einstein condensation",
        "मशीन लर्निंग",
        "機械学習",
        "l’été (2003)",
    ],
)
def test_names_in_any_language_are_possible(name: str) -> None:
    assert flaw(name, ["Solar wind"]) == ""


@pytest.mark.parametrize("name", ["solar winds", "Wind, solar", "SOLAR WIND"])
def test_another_form_of_a_name_is_no_other_name(name: str) -> None:
    assert flaw(name, ["Taxes", "Solar wind"]) == "another topic is named 'Solar wind'"


def test_a_name_in_a_script_without_stems_is_compared_as_it_is() -> None:
    assert flaw("機械学習", ["機械学習"]) == "another topic is named '機械学習'"
    assert flaw("機械学習", ["深海"]) == ""


def test_a_name_belongs_to_the_topic_that_it_is_nearest_to_from_the_middle_of_all() -> None:
    """The cosines to the centroids themselves are .6, .8 and 0."""
    assert nearer_topic(np.array([0.6, 0.8, 0, 0], np.float32), SUN, [SEA, TAX]) == SEA
    assert nearer_topic(np.array([0.8, 0.6, 0, 0], np.float32), SUN, [SEA, TAX]) is None
    near = [replace(one, centroid=unit(one.centroid + 9 * EYE[3])) for one in (SUN, SEA, TAX)]
    assert nearer_topic(np.array([0.6, 0.8, 0, 0], np.float32), near[0], near[1:]) == near[1]


def test_a_topic_without_rivals_has_any_name() -> None:
    assert nearer_topic(EYE[2], SUN, []) is None


def test_a_text_is_shortened_to_a_line() -> None:
    assert shortened("a\n b\tc", 9) == "a b c"
    assert shortened("abcdef", 3) == "abc…"
