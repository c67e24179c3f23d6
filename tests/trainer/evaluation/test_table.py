"""A table for people, an object for programs."""

from __future__ import annotations

from pathlib import Path

from trainer.evaluation.figures import Figure
from trainer.evaluation.table import Table, known

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
    seeds=(0, 1),
    more={"links": 7},
)


def test_the_table_as_text():
    assert TABLE.render().splitlines() == [
        "wnut.jsonl: 3,890 mentions, 6 labels",
        "Encoder: b",
        "Protocol: true K",
        "",
        "                     ACC            NMI",
        "K-means              0.432 ± 0.010  0.200 ± 0.000",
        "mixture              0.500 ± 0.000  -",
        "UCTopic (published)  -              0.314",
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


def test_published_rows_by_the_name_of_the_file():
    tables = {"ppdb_filtered": {"a": 1}, "ppdb": {"b": 2}}
    assert known(Path("/x/PPDB_filtered.jsonl.gz"), tables) == {"a": 1}
    assert known(Path("ppdb.jsonl.gz"), tables) == {"b": 2}
    assert known(Path("/ppdb/mine.jsonl"), tables) == {}
