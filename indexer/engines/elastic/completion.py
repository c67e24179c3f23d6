"""Keyphrases and titles that begin with what is being typed."""

from __future__ import annotations

import re

from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import Names
from indexer.engines.elastic.search import counted, counting

KEYPHRASE = "keyphrase"
_SIGN = re.compile(r"[.?+*|{}\[\]()\"\\#@&<>~^$-]")  # has a meaning in the server's regular expressions


def keyphrases_with(cluster: Cluster, names: Names, beginning: str, limit: int) -> list[tuple[str, int]]:
    """Return keyphrases that begin so, and the number of documents of each, most documents first."""
    first = beginning.casefold()
    wanted = counting([KEYPHRASE], limit)
    (field,) = wanted.values()
    field["terms"]["include"] = _SIGN.sub(r"\\\g<0>", first) + ".*"
    body = {
        "size": 0,
        "track_total_hits": False,
        "query": {"prefix": {field["terms"]["field"]: {"value": first}}},
        "aggs": wanted,
    }
    (answer,) = cluster.search_many([(names.documents, body)])
    return list(counted(answer["aggregations"], [KEYPHRASE], limit)[KEYPHRASE])


def titles_with(cluster: Cluster, names: Names, beginning: str, limit: int) -> list[tuple[str, str]]:
    """Return ids and titles of documents whose titles begin so. Indices of earlier versions find none."""
    body = {
        "size": limit,
        "track_total_hits": False,
        "_source": ["title"],
        "query": {"prefix": {"title.key": {"value": beginning.lower()}}},
    }
    (answer,) = cluster.search_many([(names.documents, body)])
    return [(hit["_id"], hit["_source"]["title"]) for hit in answer["hits"]["hits"]]
