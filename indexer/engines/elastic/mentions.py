"""Reading mentions: of documents, of phrases, and of all phrases.

A document stores the topics, keyphrases and sentences of its mentions (see `Choice`), so that each row of a mention is
joined with its document. In order of documents this costs one read for each document. In order of phrases it costs one
for nearly each mention: all phrases are therefore read in order of documents, and sorted in files on this machine.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from operator import attrgetter, itemgetter
from tempfile import TemporaryFile
from typing import Any

import orjson

from indexer.common import batches
from indexer.engines.elastic import rows
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import Names
from indexer.engines.elastic.reading import PAGE, by_id, stream, vectors_by_id
from indexer.engines.elastic.rows import Choice, Row
from indexer.engines.elastic.vector_cache import VectorCache
from indexer.engines.elastic.vectors import NO_VECTOR, to_vectors, vectors_of
from indexer.records import MentionRow, Vector

DOCUMENTS_AT_ONCE = 256
SLICE_ROWS = 50_000  # read with one query, and sorted at once
MAX_DIGITS = 2  # of a phrase id, which name a slice: 256 files are open at once
MAX_CHOICES = 20_000  # documents whose choices are remembered during a stream: about 100 MB
VECTORS_AT_ONCE = 4_000
FIELDS = ["document_id", "phrase_id", "phrase", "surface", "score", "places", "sentence", "vector_key"]

Joined = tuple[Row, Choice]  # a hit of the index of mentions, with what its document stores about it


def mentions_of_documents(
    cluster: Cluster, names: Names, ids: Sequence[str], cache: VectorCache | None
) -> list[MentionRow]:
    """Return mention rows by document in the order given, then by score."""
    found: dict[str, list[MentionRow]] = {}
    for some in batches(rows.usable(ids), DOCUMENTS_AT_ONCE):
        query = {"terms": {"document_id": some}}
        order = ["document_id", "phrase_id"]
        hits = stream(cluster, names.mentions, query, sort=order, vectors=True, cache=cache)
        for row in _with_vectors(joined(cluster, names, hits)):
            found.setdefault(row.document_id, []).append(row)
    for group in found.values():
        group.sort(key=lambda row: (-row.score, row.phrase_id))
    return [row for id_ in ids for row in found.get(id_, [])]


def mentions_of_phrases(
    cluster: Cluster, names: Names, ids: Sequence[str], limit: int, cache: VectorCache | None
) -> Iterator[list[MentionRow]]:
    """Iterate over groups by phrase id; at most `limit` rows of each carry their vector."""
    query = {"terms": {"phrase_id": list(ids)}}
    order = ["phrase_id", "chance", "document_id"]
    hits = stream(cluster, names.mentions, query, sort=order, vectors=True, cache=cache)
    found = _with_vectors(joined(cluster, names, _limited(hits, limit)))
    for _, group in groupby(found, key=attrgetter("phrase_id")):
        yield list(group)


def joined(cluster: Cluster, names: Names, hits: Iterable[Row]) -> Iterator[Joined]:
    """Iterate over the mentions that their documents name, with what these store about them."""
    choices: dict[str, Choice] = {}
    for some in batches(hits, PAGE):
        if len(choices) > MAX_CHOICES:
            choices.clear()
        documents = {hit["_source"]["document_id"] for hit in some}
        choices |= _choices(cluster, names, sorted(documents - choices.keys()))
        for hit in some:
            row = hit["_source"]
            choice = choices.get(row["document_id"])
            if choice and row["phrase_id"] in choice.topics:
                yield hit, choice


def _choices(cluster: Cluster, names: Names, documents: Sequence[str]) -> dict[str, Choice]:
    found = by_id(cluster, names.documents, documents, rows.JOINED_FIELDS)
    return {id_: rows.to_choice(row) for id_, row in found.items()}


def _with_vectors(found: Iterable[Joined]) -> Iterator[MentionRow]:
    for some in batches(found, VECTORS_AT_ONCE):
        vectors = vectors_of([hit for hit, _ in some])
        for (hit, choice), vector in zip(some, vectors, strict=True):
            yield rows.to_mention(hit["_source"], choice, vector)


def _limited(hits: Iterable[Row], limit: int) -> Iterator[Row]:
    """Iterate over hits, and drop the vectors after the first `limit` of each phrase."""
    last, count = None, 0
    for hit in hits:
        phrase = hit["_source"]["phrase_id"]
        count = count + 1 if phrase == last else 1
        last = phrase
        if count > limit:
            hit.pop("fields", None)
            hit["_source"].pop("vector", None)
        yield hit


# -- all phrases ---------------------------------------------------------------------------------------------


def all_by_phrase(
    cluster: Cluster, names: Names, limit: int, cache: VectorCache | None
) -> Iterator[list[MentionRow]]:
    """Iterate over groups of all phrases by phrase id; at most `limit` rows of each carry their vector.

    Takes some 300 bytes of disk for each mention, and the memory of one slice. The files have no names, so that they
    are gone with this process, however it ends.
    """
    edges = _edges(cluster, names)
    folder = cache.folder if cache and cache.folder.is_dir() else None
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile(dir=folder)) for _ in range(len(edges) + 1)]
        for low, high in zip([None, *edges], [*edges, None], strict=True):
            query = {"range": {"chance": {"gte": low, "lt": high}}}
            order = ["chance", "document_id", "phrase_id"]
            hits = stream(cluster, names.mentions, query, sort=order, fields=FIELDS)
            for hit, choice in joined(cluster, names, hits):
                row = rows.to_mention(hit["_source"], choice, None)
                file = files[bisect_right(edges, row.phrase_id)]
                file.write(_line(row, hit))
        for file in files:
            file.seek(0)
            # Sorted by phrase, then by chance, as `mentions_of_phrases` has them.
            lines = sorted(map(orjson.loads, file), key=itemgetter(0))
            file.close()
            yield from _groups(cluster, names, lines, limit, cache)


def _edges(cluster: Cluster, names: Names) -> list[str]:
    """Return prefixes of hexadecimal hashes between slices of equal size.

    For each page the server looks at all rows that a query matches: without slices, the time to read all pages would
    grow with the square of their number. Phrase ids and `chance` are such hashes; ids of another kind are in slices
    too, of any size.
    """
    found = int(cluster.ask(cluster.client.count, index=names.mentions)["count"])
    digits = 0
    while digits < MAX_DIGITS and found > SLICE_ROWS * 16**digits:
        digits += 1
    return [f"{number:0{digits}x}" for number in range(1, 16**digits)]


def _line(row: MentionRow, hit: Row) -> bytes:
    chance, source = hit["sort"][0], hit["_source"]
    key = [row.phrase_id, chance, row.document_id]
    rest = [row.phrase, row.surface, row.score, source["places"], row.sentence, row.topic, row.keyphrase]
    return orjson.dumps([key, *rest, source.get("vector_key")], option=orjson.OPT_APPEND_NEWLINE)


def _groups(
    cluster: Cluster, names: Names, lines: Sequence[Any], limit: int, cache: VectorCache | None
) -> Iterator[list[MentionRow]]:
    """Iterate over the groups of one slice. A row that was removed in the meantime is skipped."""
    groups = (list(group) for _, group in groupby(lines, key=lambda line: line[0][0]))
    for some in batches(groups, VECTORS_AT_ONCE):
        vectors = _vectors(cluster, names, [line for group in some for line in group[:limit]], cache)
        for group in some:
            found = [_to_mention(line, vectors.get(_id(line))) for line in group[:limit]]
            found = [row for row in found if len(row.vector)]
            if found:
                yield found + [_to_mention(line, None) for line in group[limit:]]


def _vectors(
    cluster: Cluster, names: Names, lines: Sequence[Any], cache: VectorCache | None
) -> dict[str, Vector]:
    """Return vectors by the ids of mentions, from this machine or else from the server."""
    kept = to_vectors(cache.find([line[-1] for line in lines])) if cache else [None] * len(lines)
    ids = [_id(line) for line in lines]
    found = {id_: vector for id_, vector in zip(ids, kept, strict=True) if vector is not None}
    return found | vectors_by_id(cluster, names.mentions, [id_ for id_ in ids if id_ not in found])


def _id(line: Sequence[Any]) -> str:
    phrase, _, document = line[0]
    return rows.mention_id(document, phrase)


def _to_mention(line: Sequence[Any], vector: Vector | None) -> MentionRow:
    (phrase_id, _, document_id), phrase, surface, score, places, sentence, topic, keyphrase, _ = line
    places = rows.to_places(places)
    vector = NO_VECTOR if vector is None else vector
    return MentionRow(
        document_id, phrase_id, phrase, surface, score, places, sentence, vector, topic, keyphrase
    )
