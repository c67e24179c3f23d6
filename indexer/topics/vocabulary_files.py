"""Files of vocabularies: a table in CSV, or SKOS."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from indexer.catalog.vocabulary import MAX_TERMS, Term
from indexer.errors import InputError, require

MAX_BYTES = 5 << 20  # of a file
MAX_NAME = 200  # characters of a label or synonym
MAX_DEFINITION = 2_000
COLUMNS = ("label", "synonyms", "broader", "definition", "key")
SEPARATOR = ";"  # between synonyms
SKOS = {
    ".ttl": "turtle",
    ".nt": "nt",
    ".rdf": "xml",
    ".xml": "xml",
}  # JSON-LD may name files of other servers
MAX_SKOS_BYTES = 20 << 20
NAMESPACE = "http://www.w3.org/2004/02/skos/core#"
DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"


def read_vocabulary(path: Path) -> list[Term]:
    """Read a vocabulary: SKOS, where the name of the file ends like one of `SKOS`, and CSV otherwise.

    A CSV file has a header: ``label``, and by choice ``synonyms`` (separated by ;), ``broader`` (the key or the label of
    another term), ``definition`` and ``key``.

    Raises:
        InputError: It cannot be read, is too large, or a line or concept is wrong.
        PackageMissing: SKOS, and the extra `skos` is not installed.
    """
    if path.suffix.lower() in SKOS:
        return _read_skos(path)
    if path.stat().st_size > MAX_BYTES:
        raise InputError(f"{path}: a vocabulary has at most {MAX_BYTES >> 20} MB.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = [name.strip().casefold() for name in reader.fieldnames or ()]
            if "label" not in columns or set(columns) - set(COLUMNS):
                raise InputError(
                    f"{path}:1: the columns must be {', '.join(COLUMNS)}; only label is required."
                )
            reader.fieldnames = columns
            rows = [(reader.line_num, row) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {error}.") from error
    if len(rows) > MAX_TERMS:
        raise InputError(f"{path}: {len(rows):,} terms; a vocabulary has at most {MAX_TERMS:,}.")
    if not rows:
        raise InputError(f"{path}: there is no term in it.")
    for line, row in rows:
        if None in row or None in row.values():
            raise InputError(f"{path}:{line}: the line has more or fewer columns than the header.")
    read = [{**row, "synonyms": row.get("synonyms", "").split(SEPARATOR)} for _, row in rows]
    return linked_terms(read, [f"{path}:{line}" for line, _ in rows])


def is_label(text: str) -> bool:
    """Whether a text can be the name of a term."""
    return len(text) <= MAX_NAME and any(c.isalnum() for c in text)


def linked_terms(rows: Sequence[Mapping[str, Any]], where: Sequence[str]) -> list[Term]:
    """Terms made of their names, checked: no two have the same key or label, and none is above itself.

    Args:
        rows: Each with ``label``, and by choice ``synonyms`` (a list), ``broader`` (key or label of another),
            ``definition`` and ``key``.
        where: What an error says of each row first.

    Raises:
        InputError: One is wrong.
    """
    return list(_linked([_term(row, at) for row, at in zip(rows, where, strict=True)], where))


def _term(row: Mapping[str, Any], where: str) -> Term:
    label = " ".join(row["label"].split())
    synonyms = tuple(" ".join(part.split()) for part in row.get("synonyms", ()) if part.strip())
    if not is_label(label[:MAX_NAME]):
        raise InputError(f"{where}: the label is empty.")
    if longest := max((name for name in (label, *synonyms)), key=len)[MAX_NAME:]:
        raise InputError(
            f"{where}: a name has {MAX_NAME + len(longest)} characters; at most {MAX_NAME} are read."
        )
    definition = " ".join(row.get("definition", "").split())
    if len(definition) > MAX_DEFINITION:
        raise InputError(f"{where}: the definition has more than {MAX_DEFINITION:,} characters.")
    return Term(
        row.get("key", "").strip() or label, label, synonyms, row.get("broader", "").strip(), definition
    )


def _read_skos(path: Path) -> list[Term]:
    """The concepts of a SKOS file by their URIs, in English where labels have languages, without deprecated ones."""
    require("rdflib", extra="skos", purpose="Reading SKOS")
    from rdflib import Graph, Literal, URIRef
    from rdflib.namespace import RDF

    if path.stat().st_size > MAX_SKOS_BYTES:
        raise InputError(f"{path}: a vocabulary in SKOS has at most {MAX_SKOS_BYTES >> 20} MB.")
    graph = Graph()
    try:
        graph.parse(path, format=SKOS[path.suffix.lower()])
    except Exception as error:  # each of its parsers has its own errors
        raise InputError(f"{path}: not SKOS: {' '.join(str(error).split())[:200]}") from error
    concepts = sorted(graph.subjects(RDF.type, URIRef(f"{NAMESPACE}Concept"), unique=True), key=str)
    current = [c for c in concepts if (c, URIRef(DEPRECATED), Literal(True)) not in graph]
    if not current:
        raise InputError(f"{path}: there is no concept in it.")
    if len(current) > MAX_TERMS:
        raise InputError(f"{path}: {len(current):,} terms; a vocabulary has at most {MAX_TERMS:,}.")
    there = set(current)

    def texts(concept: Any, name: str) -> list[str]:
        """In the first of: English, no language, the first one by name."""
        found: dict[str, list[str]] = {}
        for value in graph.objects(concept, URIRef(NAMESPACE + name)):
            found.setdefault((getattr(value, "language", None) or "").split("-")[0], []).append(str(value))
        language = next((at for at in ("en", "", *sorted(found)) if at in found), "")
        return sorted(found.get(language, []))

    def above(concept: Any) -> str:
        broader = {*graph.objects(concept, URIRef(f"{NAMESPACE}broader"))}
        broader |= {*graph.subjects(URIRef(f"{NAMESPACE}narrower"), concept)}
        return str(min(broader & there, default="", key=str))

    rows = [
        {
            "key": str(concept),
            "label": next(iter(texts(concept, "prefLabel")), ""),
            "synonyms": texts(concept, "altLabel"),
            "broader": above(concept),
            "definition": next(iter(texts(concept, "definition")), "")[:MAX_DEFINITION],
        }
        for concept in current
    ]
    return linked_terms(rows, [f"{path}: {row['key']}" for row in rows])


def _linked(terms: Sequence[Term], where: Sequence[str]) -> Iterator[Term]:
    """The terms with `broader` as a key; no two have the same key or label, and none is above itself."""
    keys = {term.key: term for term in terms}
    labels = {term.label.casefold(): term.key for term in terms}
    if len(labels) < len(terms) or len(keys) < len(terms):
        seen: set[str] = set()
        for term, at in zip(terms, where, strict=True):
            if {term.key, term.label.casefold()} & seen:
                raise InputError(f"{at}: '{term.label}' is in the vocabulary twice.")
            seen |= {term.key, term.label.casefold()}
    above = {}
    for term, at in zip(terms, where, strict=True):
        key = term.broader if term.broader in keys else labels.get(term.broader.casefold(), "")
        if term.broader and not key:
            raise InputError(f"{at}: the broader term '{term.broader}' is not among the terms.")
        above[term.key] = key
    for term, at in zip(terms, where, strict=True):
        path = [term.key]
        while above[path[-1]]:
            path.append(above[path[-1]])
            if path.count(path[-1]) > 1:
                raise InputError(f"{at}: '{term.label}' is above itself.")
        yield replace(term, broader=above[term.key])
