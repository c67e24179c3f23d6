"""Near words of the documents, for words that none of them has. The server's own suggester knows stems only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from indexer.engines.base import Clause, WordQuery
from indexer.engines.elastic import queries
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import Names
from indexer.engines.elastic.queries import Query
from indexer.engines.spelling import beginnings, most_edits, near_words

DOCUMENTS = 10  # with a stem that is near a beginning of the word
CHOICES = 8  # words of which the one that most documents have is taken
FRAGMENTS = {"number_of_fragments": 2, "fragment_size": 60, "pre_tags": [" "], "post_tags": [" "]}
FIELDS = ("title", "text")
MARKED_CHARACTERS = 100_000  # of a field


def documents_of(cluster: Cluster, names: Names, words: Sequence[str]) -> dict[str, int]:
    """Map words to the number of documents that have them."""
    bodies = [
        {"size": 0, "track_total_hits": True, "query": queries.of_words(_one(word))[0]} for word in words
    ]
    answers = cluster.search_many([(names.documents, body) for body in bodies]) if words else []
    return {word: int(answer["hits"]["total"]["value"]) for word, answer in zip(words, answers, strict=True)}


def near(cluster: Cluster, names: Names, missing: Sequence[str]) -> dict[str, str]:
    """Return the nearest word for each of these, where one is near."""
    found = {word: near_words(word, _fragments(cluster, names, word))[:CHOICES] for word in missing}
    counted = documents_of(cluster, names, sorted({choice for some in found.values() for choice in some}))
    return {word: max(some, key=lambda choice: counted[choice]) for word, some in found.items() if some}


def _one(word: str) -> WordQuery:
    return WordQuery((Clause(word),))


def _fragments(cluster: Cluster, names: Names, word: str) -> Iterator[str]:
    """Iterate over what stands around stems that are near a beginning of the word."""
    edits = most_edits(word)
    stem = [{"match": {field: {"query": word, "fuzziness": edits}}} for field in FIELDS]
    begun = [
        [{"fuzzy": {field: {"value": beginning, "fuzziness": edits}}} for field in FIELDS]
        for beginning in beginnings(word)
    ]
    bodies = [_any_of(wanted) for wanted in (stem, *begun)]
    for answer in cluster.search_many([(names.documents, body) for body in bodies]):
        for hit in answer["hits"]["hits"]:
            for some in hit.get("highlight", {}).values():
                yield from some


def _any_of(wanted: Sequence[Query]) -> Query:
    return {
        "size": DOCUMENTS,
        "track_total_hits": False,
        "_source": False,
        "query": {"bool": {"should": wanted}},
        "highlight": {
            **FRAGMENTS,
            "max_analyzed_offset": MARKED_CHARACTERS,
            "fields": {f: {} for f in FIELDS},
        },
    }
