"""Near duplicates in Elasticsearch: the same as in the embedded engine; indices of 0.1.0 get the field."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from hash_encoder import HashEncoder
from schema_2 import make_schema_2
from services.elastic import elasticsearch, no_indices

from indexer.collection import Collection
from indexer.engines.base import NO_DUPLICATES, SearchRequest
from indexer.engines.elastic.cluster import connect
from indexer.engines.elastic.indices import Names
from indexer.text import Preparer

PREFIX = "test-duplicates"
TEXTS = (
    "The solar wind comes from the solar corona, and the magnetic field of the earth protects us from it.",
    "Tax law sets the income tax rate, and a tax court decides about every disputed bill of a citizen.",
    "Deep sea fish live near hydrothermal vents, where the ocean floor feeds bacteria without any light.",
)


@pytest.fixture
def source(tmp_path):
    """Twelve documents: each text is there four times, with another number."""
    records = [{"id": f"d{at:02}", "text": f"{TEXTS[at % 3]} Station {at}."} for at in range(12)]
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def opened(home, **given):
    return Collection.open(home=home, encoder=HashEncoder(), tagger=Preparer(), duplicates=True, **given)


@pytest.fixture
def url(version):
    url = elasticsearch(version)
    yield url
    no_indices(url, f"{PREFIX}-*")


def test_they_are_the_same_in_both_engines(url, source, tmp_path):
    found = []
    for engine in ("local", url):
        with opened(tmp_path / f"{len(found)}", engine=engine, index_prefix=PREFIX) as collection:
            steps = [collection.index([source], topics=3).duplicates, collection.engine.duplicates()]
            collection.delete(["d00", "d04"])
            steps += [collection.engine.duplicates(), collection.search("", filters=[NO_DUPLICATES]).total]
            collection.reindex()
            steps += [collection.engine.duplicates(), collection.index([source]).duplicates]
            found.append([*steps, collection.engine.duplicates()])
    assert found[0] == found[1]
    first, after = found[0][1], found[0][2]
    assert (first["d03"], first["d10"], len(first)) == ("d00", "d01", 9)
    assert (after["d06"], after["d10"], len(after)) == ("d03", "d01", 7)


@pytest.mark.usefixtures("only_elasticsearch")
def test_indices_of_an_earlier_version_get_the_field(url, source, tmp_path):
    with closing(connect(url)) as cluster:
        make_schema_2(cluster, Names.of(PREFIX, "main"), HashEncoder.dims)
    with opened(tmp_path / "home", engine=url, index_prefix=PREFIX, create=False) as collection:
        every = collection.engine.search(SearchRequest(filters=(NO_DUPLICATES,), facets=("duplicate_of",)))
        assert (every.words.total, every.facets) == (0, {"duplicate_of": ()})
        assert collection.engine.duplicates() == {}
        assert collection.index([source], topics=3).duplicates == 9
        assert collection.search("", filters=[NO_DUPLICATES]).total == 3
