"""What the indices of a collection look like: one JSON file for each, every field described in README.md."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Literal, get_args

from indexer.errors import SettingsError

KINDS = ("documents", "mentions", "phrases", "topics", "changes")
SCHEMA = 2  # in `_meta` of every index; raise it when a field changes

VectorIndex = Literal["int8_hnsw", "bbq_hnsw", "int8_flat"]
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
    kind: str,
    dims: int,
    *,
    bundle: str = "",
    vector_index: VectorIndex = "int8_hnsw",
    language: str = "english",
) -> dict[str, Any]:
    """The body that creates an index, ``{"settings": …, "mappings": …}``.

    Args:
        kind: One of `KINDS`.
        dims: Length of the vectors. The files leave it out: the encoder decides it.
        bundle: Encoder that the vectors come from; noted in `_meta`.
        vector_index: How vectors are searched. It is always written out, because the server's own default differs
            between versions and licences.

        language: Of the texts: how words are brought to a common form. One of `LANGUAGES`.

    Raises:
        SettingsError: There is no such kind, vector index or language, or the vectors are too short for it.
    """
    if kind not in KINDS:
        raise SettingsError(f"There is no mapping '{kind}'. Available: {', '.join(KINDS)}.")
    body: dict[str, Any] = json.loads(resources.files(__name__).joinpath(f"{kind}.json").read_text("utf-8"))
    for field in body["mappings"]["properties"].values():
        if field["type"] == "dense_vector":
            field["dims"] = dims
            if "index_options" in field:
                field["index_options"] = _index_options(vector_index, dims)
    if "analysis" in body["settings"]:
        _set_language(body, language)
    body["mappings"]["_meta"] |= {"dims": dims, "bundle": bundle, "vector_index": vector_index}
    return body


def enrichment(dims: int, vector_index: VectorIndex = "int8_hnsw") -> dict[str, Any]:
    """The object that `indexer enrich` adds to the mapping of a user's index."""
    word = {"type": "keyword", "ignore_above": 1024}
    kept = {"type": "keyword", "index": False, "doc_values": False}
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
            "keyphrases": word,
            "keyphrases_absent": word,
            "vector": vector | {"index_options": _index_options(vector_index, dims)},
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


def _index_options(vector_index: str, dims: int) -> dict[str, Any]:
    if vector_index not in get_args(VectorIndex):
        raise SettingsError(
            f"The vector index is '{vector_index}'; it must be one of {', '.join(get_args(VectorIndex))}."
        )
    if vector_index == "bbq_hnsw" and dims < MIN_DIMS_BBQ:
        raise SettingsError(
            f"bbq_hnsw needs vectors of at least {MIN_DIMS_BBQ} numbers; these have {dims}.",
            hint="Use int8_hnsw.",
        )
    return {"type": vector_index} | (GRAPH if vector_index.endswith("_hnsw") else {})
