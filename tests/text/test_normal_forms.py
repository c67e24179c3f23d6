import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.text import normal_form, stemmed
from indexer.text.normal_forms import IRREGULAR, UNCHANGED, singular


@pytest.mark.parametrize(
    ("surface", "form"),
    [
        ("Neural Networks", "neural network"),
        ("The Finite-State Machines", "finite state machine"),
        ("its cost", "cost"),
        ("the", "the"),  # nothing is left without it
        ("long–term   memory\n models", "long term memory model"),
        ("Newton’s method", "newton's method"),
        ("(k-means)", "k means"),
        ("ﬁnite ﬁelds", "finite field"),  # ligatures, as PDFs have them
        ("soft\u00adware", "software"),
        ("C++", "c++"),
        ("time series", "time series"),
        ("naive Bayes", "naive bayes"),
        ("methods of analysis", "methods of analysis"),
        ("künstliche Intelligenz", "künstliche intelligenz"),
        ("机器学习", "机器学习"),
        ("", ""),
        (" - ", ""),
    ],
)
def test_normal_form(surface, form):
    assert normal_form(surface) == form


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("networks", "network"), ("queries", "query"), ("series", "series"), ("movies", "movie"),
        ("analyses", "analysis"), ("hypotheses", "hypothesis"), ("databases", "database"), ("phases", "phase"),
        ("biases", "bias"), ("viruses", "virus"), ("causes", "cause"), ("classes", "class"), ("boxes", "box"),
        ("matrices", "matrix"), ("devices", "device"), ("caches", "cache"), ("approaches", "approach"),
        ("sizes", "size"), ("heroes", "hero"), ("halves", "half"), ("curves", "curve"), ("areas", "area"),
        ("arrays", "array"), ("topics", "topic"), ("physics", "physics"), ("criteria", "criterion"), ("gpus", "gpu"),
    ],
)  # fmt: skip
def test_singular(plural, expected):
    assert singular(plural) == expected


@pytest.mark.parametrize(
    "word",
    [
        "bayes",
        "physics",
        "lens",
        "process",
        "bias",
        "bus",
        "corpus",
        "basis",
        "chaos",
        "means",
        "class",
        "dns",
    ],
)
def test_singular_leaves_alone_what_is_no_plural(word):
    assert singular(word) == word


def test_the_word_lists_agree():
    assert all(singular(singular(word)) == singular(word) for word in [*UNCHANGED, *IRREGULAR])


@given(st.text())
def test_normal_form_twice_is_once(text):
    assert normal_form(normal_form(text)) == normal_form(text)


@given(st.from_regex(r"[a-z]{0,6}(s|es|ies|ses|xes|ics|us|is)", fullmatch=True))
def test_normal_form_of_anything_like_a_plural_twice_is_once(word):
    assert normal_form(normal_form(word)) == normal_form(word)


@given(st.text())
def test_normal_form_is_one_line(text):
    form = normal_form(text)
    assert form == form.strip()
    assert "\n" not in form
    assert "  " not in form


def test_stemmed_splits_hyphens_and_drops_punctuation():
    assert stemmed("Multi-layer Networks, (trained) 3D!") == "multi layer network train 3d"
