"""The mappings: what is filled in, and that each field is described."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

import mappings
from indexer.errors import SettingsError
from mappings import KINDS, SCHEMA, VectorIndex, enrichment, load_mapping

FOLDER = Path(mappings.__file__).parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_there_is_one_file_for_each_kind():
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_index_is_strict_and_says_what_it_is(kind):
    body = load_mapping(kind, 384, bundle="base")
    assert body["mappings"]["dynamic"] == "strict"
    meta = body["mappings"]["_meta"]
    assert (meta["kind"], meta["schema"], meta["dims"], meta["bundle"]) == (kind, SCHEMA, 384, "base")
    loose = [name for name, field in body["mappings"]["properties"].items() if field.get("dynamic")]
    assert set(loose) <= {"meta", "numbers", "dates"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described_under_its_index(kind):
    section = re.search(rf"^## {kind}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert section
    rows = re.findall(r"^\| (`.*?) \|", section[1], re.MULTILINE)
    described = [name.removesuffix(".*") for row in rows for name in re.findall(r"`([\w.*]+)`", row)]
    properties = load_mapping(kind, 8)["mappings"]["properties"]
    parts = [f"{name}.{part}" for name, field in properties.items() for part in field.get("fields", ())]
    assert sorted(described) == sorted([*properties, *parts])


@pytest.mark.parametrize("kind", ["documents", "mentions", "phrases"])
@pytest.mark.parametrize("vector_index", get_args(VectorIndex))
def test_vectors_have_a_length_and_never_the_servers_own_index(kind, vector_index):
    vector = load_mapping(kind, 384, vector_index=vector_index)["mappings"]["properties"]["vector"]
    element, kind = {"int8_hnsw": ("byte", "hnsw"), "bbq_hnsw": ("float", "bbq_hnsw")}.get(
        vector_index, ("byte", "flat")
    )
    assert (vector["dims"], vector["element_type"], vector["index_options"]["type"]) == (384, element, kind)
    assert ("m" in vector["index_options"]) == (kind != "flat")


@pytest.mark.parametrize(
    ("language", "analyzer"),
    [
        (
            "english",
            {
                "type": "custom",
                "char_filter": ["punctuation"],
                "tokenizer": "standard",
                "filter": ["lowercase", "asciifolding", "porter_stem"],
            },
        ),
        ("german", {"type": "german", "stopwords": "_none_"}),
        ("plain", {"type": "custom", "tokenizer": "standard", "filter": ["lowercase"]}),
    ],
)
def test_the_language_chooses_the_analyzer_and_is_kept(language, analyzer):
    body = load_mapping("documents", 8, language=language)
    assert body["settings"]["analysis"]["analyzer"]["words"] == analyzer
    assert body["mappings"]["_meta"]["language"] == language
    assert (
        load_mapping("phrases", 8, language=language)["settings"].keys()
        == load_mapping("phrases", 8)["settings"].keys()
    )


def test_what_is_added_to_a_users_index_is_described():
    section = README.split("## The object in a user's index")[1].split("\n## ")[0]
    described = [
        name
        for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    ]
    assert sorted(described) == sorted(enrichment(8)["properties"])


def test_a_call_does_not_change_the_next():
    load_mapping("phrases", 8, bundle="x")["mappings"]["properties"].clear()
    assert load_mapping("phrases", 16)["mappings"]["properties"]["vector"]["dims"] == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "nothing", "dims": 8}, "no mapping 'nothing'. Available: documents, mentions"),
        (
            {"kind": "documents", "dims": 8, "language": "klingon"},
            "The language is 'klingon'; it must be one of english",
        ),
        ({"kind": "phrases", "dims": 8, "vector_index": "bbq_hnsw"}, "at least 64 numbers; these have 8"),
        (
            {"kind": "phrases", "dims": 8, "vector_index": "bbq_disk"},
            "must be one of auto, int8_flat, int8_hnsw, bbq_hnsw",
        ),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(SettingsError, match=message):
        load_mapping(**arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_are_plain_json(kind):
    assert json.loads((FOLDER / f"{kind}.json").read_text(encoding="utf-8"))["mappings"]["_meta"]["about"]
