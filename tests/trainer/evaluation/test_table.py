"""Figures with their spread, published ones, and tables of both as text and as JSON."""

from __future__ import annotations

import math

import pytest

from indexer.errors import InputError
from trainer.evaluation.published import PUBLISHED, published_for
from trainer.evaluation.table import Figure, Table, bootstrapped, repeated, resampled


def test_repeated_has_the_standard_deviation_over_the_repetitions():
    assert repeated([1.0, 3.0]) == Figure(2.0, 1.0)
    assert repeated([]) == Figure(None)


def test_bootstrap_of_a_share_is_the_known_spread():
    """Half of n values are 1: the spread of the mean is .5 / sqrt(n)."""
    figure = bootstrapped([0.0, 1.0] * 50)
    assert figure.mean == 0.5
    assert figure.spread == pytest.approx(0.05, rel=0.1)


def test_what_could_not_be_measured_is_left_out():
    assert bootstrapped([math.nan, 0.4, math.nan]) == Figure(0.4, 0.0)
    assert bootstrapped([math.nan]) == Figure(None)


def test_the_same_values_have_the_same_spread_again():
    assert bootstrapped([0.1, 0.7, 0.4]) == bootstrapped([0.1, 0.7, 0.4])


def test_resampled_measures_all_rows_once_for_the_mean():
    figure = resampled(4, lambda rows: float(len(set(rows.tolist()))), resamples=50)
    assert figure.mean == 4.0
    assert figure.spread > 0  # drawn with replacement, some rows are missing


@pytest.mark.parametrize(
    ("figure", "text", "plain"),
    [
        (Figure(0.12344, 0.01), "0.123 ± 0.010", {"mean": 0.1234, "spread": 0.01}),
        (Figure(0.5), "0.500", {"mean": 0.5, "spread": 0.0}),
        (Figure(None), "-", {"mean": None, "spread": 0.0}),
    ],
)
def test_how_a_figure_is_told(figure, text, plain):
    assert str(figure) == text
    assert figure.as_json() == plain


# -- tables -----------------------------------------------------------------------------------------------


TABLE = Table(
    task="entities",
    data="wnut.jsonl",
    size={"mentions": 3890, "labels": 6},
    bundle="b",
    protocol="true K",
    rows={
        "K-means": {"acc": Figure(0.4321, 0.01), "nmi": Figure(0.2)},
        "mixture": {"acc": Figure(0.5), "nmi": Figure(None)},
    },
    main="mixture",
    published={"UCTopic": {"nmi": 0.314}},
    published_set="wnut2017",
    seeds=(0, 1),
    more={"links": 7},
)


def test_the_table_as_text():
    assert TABLE.render().splitlines() == [
        "wnut.jsonl: 3,890 mentions, 6 labels",
        "Encoder: b",
        "Protocol: true K",
        "",
        "                                  ACC            NMI",
        "K-means                           0.432 ± 0.010  0.200 ± 0.000",
        "mixture                           0.500 ± 0.000  -",
        "UCTopic (published for wnut2017)  -              0.314",
    ]


def test_the_table_for_programs():
    found = TABLE.as_json()
    assert list(found)[:6] == ["task", "data", "mentions", "labels", "bundle", "links"]
    assert found["seeds"] == [0, 1]
    assert found["metrics"] == {"acc": {"mean": 0.5, "spread": 0.0}, "nmi": {"mean": None, "spread": 0.0}}
    assert found["rows"]["K-means"]["acc"] == {"mean": 0.4321, "spread": 0.01}
    assert found["published"] == {"UCTopic": {"nmi": 0.314}}


def test_without_seeds_a_spread_is_shown_where_there_is_one():
    rows = {"row": {"pearson": Figure(0.5), "spearman": Figure(0.4, 0.1)}}
    one = Table("t", "d", {"lines": 1}, "b", "p", rows, "row", digits=2)
    assert one.render().splitlines()[-2:] == ["     pearson  spearman", "row  0.50     0.40 ± 0.10"]


def test_published_rows_by_the_name_of_the_set():
    assert published_for("phrases", "ppdb") == {"Phrase-BERT": {"acc": 0.976}}
    assert published_for("texts", "") == {}
    assert published_for("entities", "wnut2017")["UCTopic"] == {"acc": 0.521, "nmi": 0.314}
    assert published_for("keyphrases", "inspec")["PromptRank"] == {"f1@5": 31.73, "f1@10": 37.88}


def test_a_set_of_another_protocol_is_an_error():
    with pytest.raises(
        InputError, match="Nothing is published for 'nus' here: choose inspec, krapivin, kp20k"
    ):
        published_for("simckp", "nus")


@pytest.mark.parametrize("task", PUBLISHED)
def test_a_sample_is_not_compared_with_figures_of_the_whole_set(task):
    name = next(iter(PUBLISHED[task]))
    assert published_for(task, name)
    with pytest.raises(InputError, match="are of the whole set: leave out --limit or --published"):
        published_for(task, name, limit=100)
