import numpy as np
import pytest

from indexer.topics.labels import (
    LabelMaker,
    PhraseCount,
    best_surface,
    label_of,
    lasting,
    mined_label,
    parent_label,
)

DIMS = 8


def axis(i):
    return np.eye(DIMS, dtype=np.float32)[i]


def between(first, second, cosine):
    """At this cosine to the first axis, and otherwise along the second."""
    return (cosine * axis(first) + np.sqrt(1 - cosine**2) * axis(second)).astype(np.float32)


def maker(sizes=None):
    return LabelMaker({"a": axis(0), "b": axis(1)}, sizes or {"a": 30, "b": 30})


def count(phrase, at=0, **topics):
    return PhraseCount(phrase, {phrase: sum(topics.values())}, topics, axis(at))


def test_typical_phrases_lead_and_common_ones_do_not():
    labels = maker()
    labels.add(count("solar wind", a=10))
    labels.add(count("recent results", a=12, b=12))
    assert labels.leading()["a"][0] == "solar wind"


def test_no_two_topics_share_a_label():
    labels = maker({"a": 40, "b": 20})
    labels.add(PhraseCount("solar wind", {"solar wind": 18}, {"a": 10, "b": 8}, between(0, 1, 0.7)))
    labels.add(count("magnetic storm", 1, b=3))
    leading = labels.leading()
    assert leading["a"][0] == "solar wind"
    assert leading["b"][0] == "magnetic storm"


def test_near_duplicates_are_listed_once():
    labels = maker()
    labels.add(count("solar wind", a=10))
    labels.add(count("solar winds", a=5))
    labels.add(count("wind", a=5))
    assert labels.leading()["a"] == ("solar wind",)


def test_what_covers_other_phrases_of_the_topic_comes_first():
    labels = maker()
    labels.add(PhraseCount("wind speed", {"wind speed": 10}, {"a": 10}, between(0, 2, 0.7)))
    for phrase, sentences, vector in (
        ("climate models", 9, between(0, 3, 0.7)),
        ("global climate", 8, between(0, 3, 0.65)),
        ("climate system", 8, between(0, 3, 0.65)),
    ):
        labels.add(PhraseCount(phrase, {phrase: sentences}, {"a": sentences}, vector))
    assert labels.leading()["a"][0] == "climate models"


def test_what_covers_other_topics_too_comes_later():
    """Both words are near to two of the four phrases, one of them also to a phrase of the other topic."""
    labels = maker()
    for phrase, topic, vector in (
        ("result", "a", between(2, 1, 0.9)), ("good result", "a", axis(2)), ("bad result", "b", axis(2)),
        ("medicine", "a", between(3, 0, 0.9)), ("patient", "a", axis(3)),
    ):  # fmt: skip
        labels.add(PhraseCount(phrase, {phrase: 5}, {topic: 5}, vector))
    leading = labels.leading()["a"]
    assert set(leading[:2]) == {"medicine", "patient"}


@pytest.mark.parametrize("least", [0.2, 0.6])
def test_the_nearer_phrase_leads_however_wide_an_encoder_spreads_cosines(least):
    """Cosines from .2 or from .6 to .8; the nearest phrase is rarer than the others."""
    labels = maker()
    for at, (phrase, place, sentences) in enumerate(
        (("wind speed", 0.2, 11), ("climate models", 1, 9), ("field data", 0, 10)), 2
    ):
        vector = between(0, at, least + (0.8 - least) * place)
        labels.add(PhraseCount(phrase, {phrase: sentences}, {"a": sentences}, vector))
    assert labels.leading()["a"] == ("climate models", "wind speed", "field data")


def test_in_a_small_collection_the_nearest_phrases_lead_where_each_stands_once():
    labels = maker({"a": 6, "b": 6})
    for at, (phrase, cosine) in enumerate({"alpine hut": 0.2, "book": 0.3, "solar wind": 0.9}.items(), 2):
        labels.add(PhraseCount(phrase, {phrase: 1}, {"a": 1}, between(0, at, cosine)))
    assert labels.leading()["a"][0] == "solar wind"


def test_a_hyphenated_word_is_one_word():
    labels = maker()
    labels.add(count("high-risk", a=10))
    labels.add(count("risk factors", a=9))
    assert labels.leading()["a"][0] == "risk factors"


def test_a_phrase_of_one_document_does_not_label_a_large_topic():
    labels = maker()
    labels.add(count("strange thing", a=1))
    assert labels.leading()["a"] == ()


def test_the_surface_is_the_most_frequent_and_among_equals_the_plainest():
    assert best_surface({"Solar Wind": 3, "solar wind": 3, "SOLAR WIND": 1}) == "solar wind"
    assert best_surface({"NASA": 5, "nasa": 1}) == "NASA"
    assert best_surface({"armed\ncitizens": 2}) == "armed citizens"


def test_label_of_begins_with_a_capital_and_keeps_the_rest():
    assert label_of(("solar wind", "x")) == "Solar wind"
    assert label_of(("mRNA levels", "x")) == "mRNA levels"
    assert label_of(()) == "no phrases"


def of_as_many_subjects(*phrases):
    """A topic whose phrases are all unlike each other: each covers an equal share of it."""
    labels = LabelMaker({"a": np.ones(DIMS, np.float32) / np.sqrt(DIMS)}, {"a": 30})
    for at, phrase in enumerate(phrases):
        labels.add(count(phrase, at, a=9))
    return labels.labels(labels.leading())["a"]


def test_a_phrase_that_covers_a_sixth_of_the_topic_names_it_alone():
    assert of_as_many_subjects("arch", "bread", "cloud", "drum", "elm", "fog") == "Arch"


def test_one_that_covers_an_eighth_is_joined_by_another():
    assert (
        of_as_many_subjects("arch", "bread", "cloud", "drum", "elm", "fog", "gate", "hill") == "Arch · bread"
    )


def test_a_part_that_is_too_long_for_a_name_is_left_out():
    others = (
        "bread and other things that are baked in large ovens",
        "cloud",
        "drum",
        "elm",
        "fog",
        "gate",
        "hill",
    )
    assert of_as_many_subjects("arch", *others) == "Arch · cloud"


def test_the_part_is_the_one_that_covers_most():
    labels = LabelMaker({"a": np.ones(DIMS, np.float32) / np.sqrt(DIMS)}, {"a": 30})
    for at, phrase in enumerate(("arch", "bread", "cloud", "drum", "elm", "fog", "gate", "hill")):
        labels.add(count(phrase, at, a=9))
    labels.add(count("loaf", 1, a=9))  # so "bread" covers two of nine phrases, and the others one
    assert labels.labels({"a": ("arch", "cloud", "bread")})["a"] == "Arch · bread"


def test_a_name_stays_while_it_is_one_of_the_best_phrases():
    phrases = ("star", "planet", "moon", "orbit", "comet")
    assert lasting(phrases, "Star", "Moon") == (("moon", "star", "planet", "orbit", "comet"), "Moon")
    assert lasting(phrases, "Star", "Comet") == lasting(phrases, "Star", "Given by hand") == (phrases, "Star")
    assert lasting((), "no phrases", "Moon") == ((), "no phrases")


def test_a_joined_name_stays_while_all_its_parts_lead():
    phrases = ("star", "planet", "moon", "orbit", "comet")
    assert lasting(phrases, "Star", "Planet · comet")[1] == "Planet · comet"
    assert lasting(phrases, "Star", "Planet · dust")[1] == "Star"
    assert lasting(phrases, "Star · comet", "Star")[1] == "Star · comet"
    assert lasting(phrases, "Star", "Star · comet")[1] == "Star · comet"
    assert mined_label("Planet · comet", phrases) == "Planet · comet"
    assert mined_label("Planet · dust", phrases) == mined_label("", phrases) == "Star"


def test_a_parent_is_not_named_like_a_topic():
    heads = ["Solar wind", "Corona", "A very long name of a topic about the sun and its planets"]
    assert parent_label(heads) == "Solar wind · Corona"
    assert parent_label(heads, {"solar wind · corona"}) == " · ".join(heads)
