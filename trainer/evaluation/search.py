"""`indexer evaluate search`: how well the documents of a file are found, without human judgements.

The documents are indexed without their titles; the titles then serve as queries. Two kinds of query:

known item  the title; the only relevant document is its own
phrase      a phrase of two words or more: one of the document's ``keyphrases`` where it has this field, otherwise a
            noun phrase of its title; all documents whose keyphrases (or title) contain it are relevant

Each is searched by words, by meaning and by both.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import get_args

from indexer.common import batches
from indexer.errors import InputError
from indexer.protocols import Progress, no_progress
from indexer.records import Document
from indexer.search.results import Mode
from trainer.evaluation.coherence import Words, occurrences, words_of
from trainer.evaluation.documents import Miner, mine, read_documents
from trainer.evaluation.table import RESAMPLES, SEED, Figure, Table, bootstrapped

KEYPHRASES = "keyphrases"  # the field of a document
QUERIES = 1_000  # of each kind at most
DEPTH = 10  # hits that count
CHUNK = 64  # documents whose titles are tagged at once
MODES: tuple[Mode, ...] = get_args(Mode)
PROTOCOL = (
    f"indexed without titles; known item: the title finds its document; phrase: a keyphrase, or a noun phrase of the "
    f"title, of two words or more finds all documents whose keyphrases or title contain it (normal form); up to "
    f"{QUERIES:,} queries of each kind; ± is the bootstrap over queries"
)
_OPERATOR = re.compile(r"(?<!\S)(AND|OR|NOT)(?!\S)")
_SYNTAX = re.compile(r"(?<!\S)[-+]+|\*+(?!\S)")  # parsed as an exclusion or a prefix


@dataclass(frozen=True)
class Query:
    """A query text, and the ids of the relevant documents."""

    text: str
    relevant: frozenset[str]


def evaluate_search(
    collection: Miner, path: Path, *, limit: int | None = None, progress: Progress = no_progress
) -> Table:
    """Index a file without its titles and search it with them.

    Args:
        collection: An empty one.
        path: Anything that can be indexed; the documents must have titles, or a field ``keyphrases``.
        limit: Number of documents of a sample by id.

    Raises:
        InputError: A record is invalid, or the file has neither titles nor keyphrases.
    """
    documents = read_documents(path, limit)
    order = random.Random(SEED).sample(documents, len(documents))
    kinds = {
        "known item": list(islice(known_items(order), QUERIES)),
        "phrase": phrase_queries(order, collection.settings.tagger),
    }
    kinds = {kind: queries for kind, queries in kinds.items() if queries}
    if not kinds:
        raise InputError(
            f"{path}: no document has a title, or keyphrases, that could be searched for.",
            hint='Give the documents a field "title" or "keyphrases".',
        )
    mine(collection, documents, titles=False, progress=progress)
    rows: dict[str, dict[str, Figure]] = {}
    total = sum(map(len, kinds.values())) * len(MODES)
    for kind, queries in kinds.items():
        for mode in MODES:
            done = len(rows) * len(queries)
            values: dict[str, list[float]] = {}
            for number, query in enumerate(queries):
                hits = collection.search(query.text, mode=mode, facets=(), limit=DEPTH).hits
                found = [hit.stored.document.id for hit in hits]
                for name, value in scores(found, query.relevant).items():
                    values.setdefault(name, []).append(value)
                progress("evaluate", done + number + 1, total)
            rows[f"{kind}, {mode}"] = {name: bootstrapped(some) for name, some in values.items()}
    return Table(
        task="search",
        data=str(path),
        size={"documents": len(documents), **{f"{kind} queries": len(q) for kind, q in kinds.items()}},
        bundle=collection.encoder.bundle,
        protocol=PROTOCOL,
        rows=rows,
        main=f"{next(iter(kinds))}, both",
        seeds=(SEED,),
        more={"resamples": RESAMPLES, "relevant": {kind: _relevant(q) for kind, q in kinds.items()}},
    )


# -- queries ------------------------------------------------------------------------------------------------


def known_items(documents: Sequence[Document]) -> Iterator[Query]:
    """A query for each document with a title that no other document has."""
    titles = [words_of(document.title) for document in documents]
    times = Counter(titles)
    for document, title in zip(documents, titles, strict=True):
        if title and times[title] == 1 and (text := without_syntax(document.title)):
            yield Query(text, frozenset({document.id}))


def phrase_queries(
    documents: Sequence[Document], tagger: str, most: int = QUERIES, seed: int = SEED
) -> list[Query]:
    """A query for each document in turn, up to `most` distinct ones.

    The relevant documents are those among `documents` that contain the phrase.
    """
    texts: dict[Words, str] = {}
    choose = random.Random(seed)
    for candidates in _candidates(documents, tagger):
        fresh = {form: text for form, text in candidates.items() if form not in texts}
        if fresh:
            form = choose.choice(sorted(fresh))
            texts[form] = fresh[form]
        if len(texts) == most:
            break
    found = occurrences(texts, [_searchable(document) for document in documents])
    # A phrase that ends inside a word, as at an accent in LaTeX, is in no document.
    return [
        Query(text, frozenset(documents[at].id for at in found[form]))
        for form, text in texts.items()
        if found[form]
    ]


def _candidates(documents: Sequence[Document], tagger: str) -> Iterator[dict[Words, str]]:
    """The phrases of each document that may become its query: normal form ► surface form."""
    from indexer.text import Preparer

    preparer = Preparer(tagger)
    for some in batches(documents, CHUNK):
        titles = [replace(d, text="", meta={}) if not _keyphrases(d) else Document(d.id, "") for d in some]
        for document, title, prepared in zip(some, titles, preparer.prepare(titles), strict=True):
            phrases = _keyphrases(document) or [
                title.content[mention.start : mention.end] for mention in prepared.mentions
            ]
            texts = {words_of(phrase): without_syntax(phrase) for phrase in phrases}
            yield {form: text for form, text in texts.items() if len(form) > 1 and text}


def _keyphrases(document: Document) -> list[str]:
    given = document.meta.get(KEYPHRASES)
    return given if isinstance(given, list) else []


def _searchable(document: Document) -> Words:
    """The words of the keyphrases, with an empty word between two of them; or those of the title."""
    given = _keyphrases(document)
    if not given:
        return words_of(document.title)
    return tuple(word for phrase in given for word in (*words_of(phrase), ""))


def without_syntax(text: str) -> str:
    """A text as a query for its words, without query syntax."""
    words = " ".join(_SYNTAX.sub(" ", text.replace('"', " ")).split())
    return _OPERATOR.sub(lambda found: found[0].lower(), words)


def _relevant(queries: Sequence[Query]) -> float:
    """Mean number of relevant documents of a query."""
    return round(sum(len(query.relevant) for query in queries) / len(queries), 2)


# -- scores -------------------------------------------------------------------------------------------------


def scores(found: Sequence[str], relevant: Set[str], depth: int = DEPTH) -> Mapping[str, float]:
    """Recall, reciprocal rank and nDCG of the first `depth` hits, each 0 to 1.

    Args:
        found: Distinct ids, best first.
        relevant: Ids of all relevant documents, at least one. With more than `depth` of them, recall stays below 1.

    Source: for nDCG, with gains of 0 and 1: Järvelin and Kekäläinen 2002, Cumulated gain-based evaluation of IR
    techniques.
    """
    ranks = [rank for rank, id_ in enumerate(found[:depth], 1) if id_ in relevant]
    ideal = sum(1 / math.log2(1 + rank) for rank in range(1, min(depth, len(relevant)) + 1))
    return {
        f"recall@{depth}": len(ranks) / len(relevant),
        f"MRR@{depth}": 1 / ranks[0] if ranks else 0.0,
        f"nDCG@{depth}": sum(1 / math.log2(1 + rank) for rank in ranks) / ideal,
    }
