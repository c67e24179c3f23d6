import pytest

from indexer.errors import SettingsError
from indexer.topics.models.registry import TopicRequest


@pytest.mark.parametrize(
    ("said", "finder", "number"),
    [
        (None, "", None),
        (40, "", 40),
        ("40", "", 40),
        ("clusters", "clusters", None),
        ("clusters:2", "clusters", 2),
        ("pntm:40", "pntm", 40),
    ],
)
def test_topics_are_asked_for_by_number_by_finder_or_by_both(said, finder, number):
    assert TopicRequest.read(said) == TopicRequest(finder, number)


@pytest.mark.parametrize(
    "said", [0, 1, "1", -3, "clusters:1", "clusters:", ":40", "40:clusters", "magic", "Clusters"]
)
def test_what_cannot_be_asked_for(said):
    with pytest.raises(
        SettingsError, match=rf"requested topics are '{said}'; it must be a number from 2, one of clusters"
    ):
        TopicRequest.read(said)
