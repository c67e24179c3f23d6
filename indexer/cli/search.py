"""indexer search, show: documents, found and one in full."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from indexer.cli import completion
from indexer.cli.app import App, command, json_of, json_option, pass_app
from indexer.cli.options import filter_options
from indexer.cli.output import (
    INDENT,
    bold,
    colours,
    dim,
    facts,
    indent,
    indented,
    mark,
    marked,
    near,
    print_json,
    say,
    show_result,
    table,
)  # fmt: skip
from indexer.export import serialize
from indexer.export.formatting import clean, corrections, count, ellipses, excerpts, found, percent

if TYPE_CHECKING:
    from indexer.collection import Collection
    from indexer.engines.base import Filter
    from indexer.records import Document, Keyphrase, StoredDocument
    from indexer.search.reasons import Reason
    from indexer.search.results import Facet, Hit, Mode, SearchResults

FACETS = ("topic", "keyphrase")
MAX_KEYPHRASES = 5  # of a hit
MAX_FRAGMENTS = 2


@command()
@click.argument("query", nargs=-1)
@click.option("--mode", type=click.Choice(["words", "meaning", "both"]), default="both", show_default=True,
              help="Find the words, documents similar in meaning, or both.")  # fmt: skip
@filter_options
@click.option("--facet", "facets", multiple=True, default=FACETS, show_default=True, metavar="FIELD",
              shell_complete=completion.facets,
              help="Count the values of a field: topic, topic_path (each level of the tree), keyphrase, "
                   "absent_keyphrase (not in the text), duplicate_of (near duplicates by original) or one of your own. "
                   "May be repeated.")  # fmt: skip
@click.option("--facet-size", type=click.IntRange(1, 1_000), default=10, show_default=True,
              help="Values listed of each field that is counted.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Documents on a page.")
@click.option("--page", type=click.IntRange(1), default=1, show_default=True, help="Number of the page.")
@click.option("--all", "everything", is_flag=True,
              help="List all documents with the words, without a limit; needs --json.")  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write the documents of all pages to a file: .csv, .jsonl or .parquet.")  # fmt: skip
@click.option("--verbatim", is_flag=True,
              help="Search the words as they are, without corrections and synonyms.")  # fmt: skip
@click.option("--diverse", is_flag=True,
              help="List documents that say something else before those that say the same again.")  # fmt: skip
@click.option("--why", is_flag=True, help="Explain each hit.")
@json_of("query, mode, total (matches by words), listed (on all pages; null if unknown), has_more, relaxed, diverse, "
         "corrections, synonyms, close (false: none of the nearest is close in meaning), also (phrases to search, too), "
         "page, limit, hits (each with topics, keyphrases, duplicate_of, fragments, passage, found_by, and near with "
         "--why), facets, facets_over; with --all query and hits. "
         "Scores are rounded: by words BM25, by meaning a cosine, by both a weighted mean of cosine and relative BM25. "
         "Places and marks are character offsets, the end excluded")  # fmt: skip
@pass_app
def search(
    app: App,
    query: tuple[str, ...],
    mode: Mode,
    filters: list[Filter],
    facets: tuple[str, ...],
    facet_size: int,
    limit: int,
    page: int,
    everything: bool,
    output: Path | None,
    verbatim: bool,
    diverse: bool,
    why: bool,
    as_json: bool,
) -> None:
    """Find documents by words and by meaning, with facets.

    QUERY is words, "exact phrases", begin* for a prefix and -word to exclude; in capitals, NOT excludes the next word,
    and OR between all words makes any of them enough (put the whole in single quotes for the shell). Without a QUERY,
    all documents that pass the filters are listed.

    Terms with | between them are alternatives (in quotes for the shell): 'car|"motor vehicle" tax'. A file of synonyms
    (INDEXER_SYNONYMS) adds such alternatives to every query, and the output says which.

    Up to three words must all be in a document. Of four or more, any of them is enough, and documents with more and
    rarer ones come first; +word and "exact phrases" stay required, and AND between words requires all.

    The mode both ranks the documents with the words together with the 200 most similar in meaning, by a mean of both
    scores. If no document has all words, any of them is enough, and the output says so. Facets count all documents
    with the words, not only those of the page.

    Conditions (--where) with = on the same field are alternatives; all others must hold together. A date may be a year,
    a month or a day, and means all of it: date<=2015 includes all of 2015.

    \b
    Examples:
      indexer search solar wind
      indexer search '"solar wind" -earth magnet*' --mode words
      indexer search 'robots that learn' --topic robotics --where 'year>=2015' --why
      indexer search --facet label --limit 1
      indexer search wind --all --json > all.json
      indexer search wind --output found.csv
    """
    text = " ".join(query)
    if everything and not output and (not as_json or mode == "meaning"):
        raise click.UsageError(
            "--all lists what is found by words, as JSON: add --json, leave out --mode meaning."
        )
    if everything and {_given("limit"), _given("page")} != {False}:
        raise click.UsageError("--all lists all documents: leave out --limit and --page.")
    with app.collection() as collection:
        if output:
            _save(collection, text, mode, filters, output, verbatim)
            return
        if everything:
            _print_all(collection, text, filters, verbatim)
            return
        results = collection.search(
            text, mode=mode, filters=filters, facets=facets, facet_size=facet_size + 1,
            limit=limit, offset=(page - 1) * limit,
            diverse=diverse, verbatim=verbatim,
        )  # fmt: skip
        cut = {facet.field for facet in results.facets if len(facet.values) > facet_size}
        facets_ = tuple(replace(facet, values=facet.values[:facet_size]) for facet in results.facets)
        results = replace(results, facets=facets_)
        reasons = collection.reasons(results) if why else None
        others = collection.other_phrases(text) if page == 1 and mode != "words" else []
        also = [serialize.surface(row) for row, _ in others]
        is_empty = not results.hits and not collection.engine.info().documents
    if as_json:
        print_json({**serialize.results(results, reasons), "also": also, "page": page, "limit": limit})
    elif is_empty:
        say(f"The collection '{collection.name}' is empty. Fill it: {app.again('index SOURCE')}")
    elif results.total and not results.hits and page > 1:
        pages = -(-results.total // limit)
        say(f"There is no page {page:,}: {count(results.total, 'document')} fill {pages:,}.")
    else:
        say(format_results(results, reasons, also, cut))


def _given(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is not click.core.ParameterSource.DEFAULT


@command()
@click.argument("id_", metavar="ID")
@json_option
@pass_app
def show(app: App, id_: str, as_json: bool) -> None:
    """Show a document, with its keyphrases marked in the text.

    ID is as search prints it. Topics, keyphrases, near duplicates and your own fields follow the text.

    \b
    Example:
      indexer show arxiv:1405.3939
    """
    with app.collection() as collection:
        stored = collection.document(id_)
        duplicates = collection.duplicates(id_)
        labels = serialize.labels_of(collection.topics())
    value = {
        **serialize.document(stored.document, text=True),
        **serialize.mined(stored, labels),
        "duplicates": duplicates,
        "bundle": stored.bundle,
        "run": stored.run,
    }
    show_result(value, format_document(stored, labels, duplicates), as_json=as_json)


Reasons: TypeAlias = "Mapping[str, Sequence[Reason]] | None"  # by document; None without --why


# -- hits and facets ----------------------------------------------------------------------------------------


def format_results(
    results: SearchResults, reasons: Reasons = None, others: Sequence[str] = (), cut: Container[str] = ()
) -> str:
    """Format hits, then what else could be searched, then facets.

    Args:
        cut: Fields that have more values than the facets list.
    """
    first = [*map(clean, corrections(results)), *([] if results.close else ["Nothing is close in meaning."])]
    blocks = ["\n".join(first)] if first else []
    blocks += [_hit(hit, results.labels, reasons) for hit in results.hits]
    blocks.append(found(results))
    if others:
        blocks[-1] += f"\n{indented(clean(', '.join(others)), first='also: ')}"
    facets = [facet for facet in results.facets if facet.values]
    if facets:
        blocks[-1] += f"\n\nCounts over {results.facets_over}:"
        blocks += [_facet(facet, cut) for facet in facets]
    return "\n\n".join(blocks)


def _hit(hit: Hit, labels: serialize.Labels, reasons: Reasons) -> str:
    document = hit.stored.document
    lines = [indented(_title(hit), first=f"{hit.rank:>2}. ")]
    topics = ", ".join(labels.get(t.topic_id, t.topic_id) for t in hit.stored.topics)
    about = [document.id] if document.id != document.name else []
    lines.append(indented(clean(" ".join([*about, f"[{topics}]"] if topics else about))))
    if hit.stored.duplicate_of:
        lines.append(indented(dim(clean(f"near duplicate of {hit.stored.duplicate_of}"))))
    present, absent = _keyphrases(hit.stored)
    if present:
        lines.append(indented(dim(clean("; ".join(present[:MAX_KEYPHRASES])))))
    if absent:
        lines.append(indented(dim(clean("not in the text: " + "; ".join(absent[:MAX_KEYPHRASES])))))
    for fragment in excerpts(hit, MAX_FRAGMENTS):
        before, after = ellipses(fragment.text, document.text)
        text = marked(" ".join(fragment.text.split("\n")), fragment.marks)
        lines.append(indented(f"{before}{text}{after}"))
    if reasons is not None:
        lines.append(indent(facts(_why(hit, labels, reasons), margin=len(INDENT))))
    return "\n".join(lines)


def _title(hit: Hit) -> str:
    """The title; with colours, its matches are marked."""
    title = hit.stored.document.name
    found = next((f for f in hit.fragments if f.field == "title" and f.text == title), None)
    if found is None or not colours():
        return bold(clean(title))
    ends = [0, *(end for _, end in found.marks)]
    return "".join(
        bold(clean(title[end:start])) + mark(clean(title[start:stop]))
        for end, (start, stop) in zip(ends, found.marks, strict=False)
    ) + bold(clean(title[ends[-1] :]))


def _why(hit: Hit, labels: serialize.Labels, reasons: Reasons) -> Iterator[tuple[str, str]]:
    ranks = ", ".join(f"{name} #{rank}" for name, rank in hit.found_by.items())
    yield "found by", f"{ranks or 'the filters'}; score {hit.score:.4g}"
    if hit.stored.topics:
        yield "topics", _topics(hit.stored, labels)
    if reasons and (similar := reasons.get(hit.stored.document.id)):
        yield "phrases", clean(", ".join(map(_reason, similar)))


def _reason(reason: Reason) -> str:
    return reason.phrase if reason.similarity is None else f"{reason.phrase} {reason.similarity:.2f}"


def _facet(facet: Facet, cut: Container[str]) -> str:
    rows = [
        (f"{number:,}", clean(label), *([dim(value)] if facet.field == "topic" else []))
        for value, label, number in facet.values
    ]
    more = dim(f"  the {len(facet.values):,} most frequent; more: --facet-size") if facet.field in cut else ""
    return f"{bold(facet.field)}{more}\n{indent(table(rows, right=(0,), margin=len(INDENT)))}"


# -- one document -------------------------------------------------------------------------------------------


def format_document(stored: StoredDocument, labels: serialize.Labels, duplicates: Sequence[str] = ()) -> str:
    """Format the text with its present keyphrases marked, and what was mined from it.

    Args:
        duplicates: Ids of its near duplicates.
    """
    rows = facts(_about(stored, labels, duplicates))
    return "\n\n".join(part for part in (marked_text(stored.document, stored.keyphrases), rows) if part)


def marked_text(document: Document, keyphrases: Sequence[Keyphrase]) -> str:
    """Wrap title and text, and mark the present keyphrases."""
    parts = []
    for field in ("title", "text"):
        spans = [(p.start, p.end) for k in keyphrases for p in k.places if p.field == field]
        text = marked(getattr(document, field), spans)
        parts.append(indented(bold(text) if field == "title" and not spans else text, ""))
    return "\n\n".join(part for part in parts if part)


def _about(
    stored: StoredDocument, labels: serialize.Labels, duplicates: Sequence[str]
) -> Iterator[tuple[str, str]]:
    yield "id", clean(stored.document.id)
    if stored.topics:
        yield "topics", _topics(stored, labels)
    present, absent = _keyphrases(stored)
    if present:
        yield "keyphrases", clean("; ".join(present))
    if absent:
        yield "absent", clean("; ".join(absent)) + dim("  (matching, but not in the text)")
    if stored.duplicate_of:
        yield "duplicate of", clean(stored.duplicate_of)
    if duplicates:
        yield "duplicates", clean(", ".join(duplicates))
    for name, value in stored.document.meta.items():
        yield clean(name), clean(", ".join(value) if isinstance(value, list) else str(value))
    if stored.document.source:
        yield "source", clean(near(stored.document.source))
    if not stored.bundle:
        yield "mined", "not yet"


def _topics(stored: StoredDocument, labels: serialize.Labels) -> str:
    return clean(
        ", ".join(f"{labels.get(t.topic_id, t.topic_id)} {percent(t.weight)}" for t in stored.topics)
    )


def _keyphrases(stored: StoredDocument) -> tuple[list[str], list[str]]:
    """Split keyphrases into present and absent ones."""
    present = [k.text for k in stored.keyphrases if k.present]
    absent = [k.text for k in stored.keyphrases if not k.present]
    return present, absent


# -- all hits -----------------------------------------------------------------------------------------------


def _save(
    collection: Collection, query: str, mode: Mode, filters: Sequence[Filter], output: Path, verbatim: bool
) -> None:
    from indexer.export.tables import hit_columns, hit_rows, save, writer_for

    write = writer_for(output)
    labels = serialize.labels_of(collection.topics())
    hits = collection.scan(query, mode=mode, filters=filters, verbatim=verbatim)
    rows = hit_rows(hits, labels, scored=mode != "both")
    save(output, write(rows, hit_columns(collection.engine.fields(), collection.field_kinds().date)))


def _print_all(collection: Collection, query: str, filters: Sequence[Filter], verbatim: bool) -> None:
    """Print a JSON object with all hits, one document at a time: its names are those of a page of hits."""
    labels = serialize.labels_of(collection.topics())
    click.echo(f'{{"query": {json.dumps(query)}, "hits":', nl=False)
    before = "[\n"
    for hit in collection.scan(query, filters=filters, verbatim=verbatim):
        click.echo(before, nl=False)
        print_json(serialize.hit(hit, labels))
        before = ","
    click.echo("]}" if before == "," else "[]}")
