"""What the indices of a collection look like: one JSON file for each, every field described in README.md."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Literal, get_args

from indexer.errors import SettingsError

KINDS = ("documents", "mentions", "phrases", "topics", "changes")
SCHEMA = 3  # in `_meta` of every index; raise it when a field changes

VectorIndex = Literal["auto", "int8_flat", "int8_hnsw", "bbq_hnsw"]
# Analyzers that Elasticsearch comes with; "plain" only splits into words and lowers the case.
LANGUAGES = (
    *(
        "english",
        "plain",
        "arabic",
        "armenian",
        "basque",
        "bengali",
        "brazilian",
        "bulgarian",
        "catalan",
        "cjk",
    ),
    *("czech", "danish", "dutch", "estonian", "finnish", "french", "galician", "german", "greek", "hindi"),
    *("hungarian", "indonesian", "irish", "italian", "latvian", "lithuanian", "norwegian", "persian"),
    *("portuguese", "romanian", "russian", "serbian", "sorani", "spanish", "swedish", "thai", "turkish"),
)
PLAIN = {"analyzer": {"words": {"type": "custom", "tokenizer": "standard", "filter": ["lowercase"]}}}
GRAPH = {"m": 16, "ef_construction": 100}
MIN_DIMS_BBQ = 64


def load_mapping(
    kind: str, dims: int, *, bundle: str = "", vector_index: VectorIndex = "auto", language: str = "english"
) -> dict[str, Any]:
    """The body that creates an index, ``{"settings": …, "mappings": …}``.

    Args:
        kind: One of `KINDS`.
        dims: Length of the vectors. The files leave it out: the encoder decides it.
        bundle: Encoder that the vectors come from; noted in `_meta`.
        vector_index: How vectors are searched; see `vector_field`.
        language: Of the texts: how words are brought to a common form. One of `LANGUAGES`.

    Raises:
        SettingsError: There is no such kind, vector index or language, or the vectors are too short for it.
    """
    if kind not in KINDS:
        raise SettingsError(f"There is no mapping '{kind}'. Available: {', '.join(KINDS)}.")
    body: dict[str, Any] = json.loads(resources.files(__name__).joinpath(f"{kind}.json").read_text("utf-8"))
    properties = body["mappings"]["properties"]
    if "vector" in properties:
        properties["vector"] |= vector_field(vector_index, dims)
    if "centroid" in properties:
        properties["centroid"]["dims"] = dims
    if "analysis" in body["settings"]:
        _set_language(body, language)
    body["mappings"]["_meta"] |= {"dims": dims, "bundle": bundle, "vector_index": vector_index}
    return body


def enrichment(dims: int, vector_index: VectorIndex = "auto") -> dict[str, Any]:
    """The object that `indexer enrich` adds to the mapping of a user's index; its vectors are full numbers."""
    word = {"type": "keyword", "ignore_above": 1024}
    kept = {"type": "keyword", "index": False, "doc_values": False}
    _check_vector_index(vector_index, dims)
    index_type = "int8_hnsw" if vector_index == "auto" else vector_index
    options = {"type": index_type} | (GRAPH if index_type.endswith("_hnsw") else {})
    vector = {
        "type": "dense_vector",
        "element_type": "float",
        "similarity": "cosine",
        "index": True,
        "dims": dims,
    }
    return {
        "dynamic": "strict",
        "properties": {
            "topics": {"type": "keyword"},
            "topic_labels": word,
            "topic_path": word,
            "topic_path_ids": word,
            "terms": word,
            "duplicate_of": word,
            "keyphrases": word,
            "keyphrases_absent": word,
            "vector": vector | {"index_options": options},
            "hash": kept,
            "bundle": {"type": "keyword"},
            "run": {"type": "keyword"},
        },
    }


def _set_language(body: dict[str, Any], language: str) -> None:
    """The file has the analyzer for English, because it keeps words like "the": other languages set it."""
    if language not in LANGUAGES:
        raise SettingsError(f"The language is '{language}'; it must be one of {', '.join(LANGUAGES)}.")
    if language == "plain":
        body["settings"]["analysis"] = PLAIN
    elif language != "english":
        body["settings"]["analysis"] = {"analyzer": {"words": {"type": language, "stopwords": "_none_"}}}
    body["mappings"]["_meta"]["language"] = language


def vector_field(vector_index: str, dims: int) -> dict[str, Any]:
    """The vector field of an index: always written out, because the server's own default differs between versions.

    ``int8_*`` are bytes, quantized before they are sent; ``flat`` compares with every row, ``hnsw`` follows a graph.
    ``auto`` begins as ``int8_flat``, which costs next to nothing to write and misses nothing; the engine turns an index
    with many rows into a graph. ``bbq_hnsw`` keeps full numbers beside bits.
    """
    _check_vector_index(vector_index, dims)
    kinds = {"int8_hnsw": ("byte", "hnsw"), "bbq_hnsw": ("float", "bbq_hnsw")}
    element, kind = kinds.get(vector_index, ("byte", "flat"))
    options = {"type": kind} | (GRAPH if kind != "flat" else {})
    return {
        "dims": dims,
        "element_type": element,
        "similarity": "cosine",
        "index": True,
        "index_options": options,
    }


def _check_vector_index(vector_index: str, dims: int) -> None:
    known = get_args(VectorIndex)
    if vector_index not in known:
        raise SettingsError(f"The vector index is '{vector_index}'; it must be one of {', '.join(known)}.")
    if vector_index == "bbq_hnsw" and dims < MIN_DIMS_BBQ:
        raise SettingsError(
            f"bbq_hnsw needs vectors of at least {MIN_DIMS_BBQ} numbers; these have {dims}.",
            hint="Use int8_hnsw.",
        )
