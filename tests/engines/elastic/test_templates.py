"""Index templates of the cluster: shards are theirs to set, fields are not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from contract_rows import DIMS, axis, document, mention, mined
from services.asking import needs
from services.elastic import elasticsearch, no_indices

from indexer.engines.elastic import ElasticEngine
from indexer.engines.elastic.cluster import connect

pytestmark = needs("elasticsearch")

PREFIX = "templates"


@pytest.fixture
def url(version: str) -> Iterator[str]:
    url = elasticsearch(version)
    yield url
    no_indices(url, f"{PREFIX}-*")


def test_a_template_sets_the_shards_of_new_indices(url):
    template = {
        "index_patterns": [f"{PREFIX}-*-mentions-*"],
        "template": {"settings": {"number_of_shards": 3}},
    }
    with closing(connect(url)) as cluster:
        cluster.client.indices.put_index_template(name=PREFIX, **template)
        try:
            with closing(ElasticEngine(connect(url), PREFIX, "main", DIMS)) as engine:
                engine.store([document("a")])
                engine.write_mined([mined("a", axis(0), mentions=(mention("a", "wind", axis(1)),))])
                assert [row.document_id for row, _ in engine.nearest_mentions(axis(1))] == ["a"]
            found = cluster.client.indices.get_settings(index=f"{PREFIX}-main-*", flat_settings=True)
        finally:
            cluster.client.indices.delete_index_template(name=PREFIX)
    shards = {name: entry["settings"]["index.number_of_shards"] for name, entry in found.items()}
    assert sorted(shards.values()) == ["1", "1", "1", "1", "3"]
    assert shards[f"{PREFIX}-main-mentions-000001"] == "3"
