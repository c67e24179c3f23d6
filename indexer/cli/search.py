"""indexer search"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from indexer.cli.app import App, command, json_option, pass_app
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
    print_json,
    say,
    table,
)
from indexer.export import serialize
from indexer.export.formatting import (
    clean,
    count,
    ellipses,
    found,
    percent,
)

if TYPE_CHECKING:
    from indexer.engines.base import Filter
    from indexer.search.reasons import Reason
    from indexer.search.results import Facet, Hit, Mode, SearchResults

FACETS = ("topic", "keyphrase")
KEYPHRASES_SHOWN = 5
FRAGMENTS_SHOWN = 2


@command()
@click.argument("query", nargs=-1)
@click.option("--mode", type=click.Choice(["words", "meaning", "both"]), default="both", show_default=True,
              help="Find the words, what is like the query in meaning, or join both.")  # fmt: skip
@filter_options
@click.option("--facet", "facets", multiple=True, default=FACETS, show_default=True, metavar="FIELD",
              help="Count the values of a field: topic, keyphrase, absent_keyphrase (not in the text) or "
                   "one of your own. May be repeated.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Documents on a page.")
@click.option("--page", type=click.IntRange(1), default=1, show_default=True, help="Which page.")
@click.option("--all", "everything", is_flag=True,
              help="List all documents with the words, without an end; with --json.")  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write all documents that are listed, on all pages, to a file: .csv, .jsonl or .parquet.")  # fmt: skip
@click.option("--why", is_flag=True, help="Say of each document what it was found by.")
@json_option
@pass_app
def search(
    app: App,
    query: tuple[str, ...],
    mode: Mode,
    filters: list[Filter],
    facets: tuple[str, ...],
    limit: int,
    page: int,
    everything: bool,
    output: Path | None,
    why: bool,
    as_json: bool,
) -> None:
    """Find documents by words and by meaning, with facets.

    In QUERY, "exact phrase", begin* and -without have their usual meaning, and so have AND, OR and NOT in
    capitals (put the whole in single quotes, or the shell takes them). Without a QUERY all documents under the
    filters are listed. Facets count all documents that match, not only those shown.

    \b
    Examples:
      indexer search solar wind
      indexer search '"solar wind" -earth magnet*' --mode words
      indexer search 'robots that learn' --topic robotics --where 'year>=2015' --why
      indexer search --facet label --limit 1
      indexer search wind --all --json > all.json
      indexer search wind --output found.csv
    """
    if output:
        _save(app, " ".join(query), mode, filters, output)
        return
    if everything:
        if not as_json or mode == "meaning":
            raise click.UsageError(
                "--all lists what is found by words, as JSON: add --json, leave out --mode meaning."
            )
        _list_all(app, " ".join(query), filters)
        return
    with app.collection() as collection:
        results = collection.search(
            " ".join(query), mode=mode, filters=filters, facets=facets, limit=limit, offset=(page - 1) * limit
        )
        labels = serialize.labels_of(collection.topics())
        reasons = collection.reasons(results) if why else None
    if as_json:
        print_json({**serialize.results(results, labels, reasons), "page": page, "limit": limit})
    elif results.total and not results.hits and page > 1:
        say(
            f"There is no page {page:,}: {count(results.total, 'document')} fill {-(-results.total // limit):,}."
        )
    else:
        say(rendered(results, labels, reasons))


Reasons: TypeAlias = "Mapping[str, Sequence[Reason]] | None"  # by document; None when nobody asked


# -- for people ---------------------------------------------------------------------------------------------


def rendered(results: SearchResults, labels: serialize.Labels, reasons: Reasons = None) -> str:
    """Hits, then facets."""
    blocks = [_hit(hit, labels, reasons) for hit in results.hits]
    blocks.append(found(results))
    facets = [facet for facet in results.facets if facet.values]
    if facets:
        blocks[-1] += f"\n\nCounts over {results.facets_over}:"
        blocks += [_facet(facet) for facet in facets]
    return "\n\n".join(blocks)


def _hit(hit: Hit, labels: serialize.Labels, reasons: Reasons) -> str:
    document = hit.stored.document
    lines = [indented(_title(hit), first=f"{hit.rank:>2}. ")]
    topics = ", ".join(labels.get(t.topic_id, t.topic_id) for t in hit.stored.topics)
    about = [document.id] if document.id != document.name else []
    lines.append(indented(clean(" ".join([*about, f"[{topics}]"] if topics else about))))
    present = [k.text for k in hit.stored.keyphrases if k.present]
    absent = [k.text for k in hit.stored.keyphrases if not k.present]
    if present:
        lines.append(indented(dim(clean("; ".join(present[:KEYPHRASES_SHOWN])))))
    if absent:
        lines.append(indented(dim(clean("not in the text: " + "; ".join(absent[:KEYPHRASES_SHOWN])))))
    texts = [fragment for fragment in hit.fragments if fragment.field != "title"]
    for fragment in texts[:FRAGMENTS_SHOWN]:
        before, behind = ellipses(fragment.text, hit.stored.document.text)
        shown = marked(" ".join(fragment.text.split("\n")), fragment.marks)
        lines.append(indented(f"{before}{shown}{behind}"))
    if reasons is not None:
        lines.append(indent(facts(_why(hit, labels, reasons), margin=len(INDENT))))
    return "\n".join(lines)


def _title(hit: Hit) -> str:
    """The title, with the words that were found in it marked where there are colours."""
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
        weights = (f"{labels.get(t.topic_id, t.topic_id)} {percent(t.weight)}" for t in hit.stored.topics)
        yield "topics", clean(", ".join(weights))
    if reasons and (near := reasons.get(hit.stored.document.id)):
        yield "phrases", clean(", ".join(map(_reason, near)))


def _reason(reason: Reason) -> str:
    return reason.phrase if reason.similarity is None else f"{reason.phrase} {reason.similarity:.2f}"


def _facet(facet: Facet) -> str:
    rows = [
        (f"{number:,}", clean(label), *([dim(value)] if facet.field == "topic" else []))
        for value, label, number in facet.values
    ]
    return f"{bold(facet.field)}\n{indent(table(rows, right=(0,), margin=len(INDENT)))}"


def _save(app: App, query: str, mode: Mode, filters: Sequence[Filter], output: Path) -> None:
    from indexer.export.tables import (
        hit_columns,
        hit_rows,
        save,
        writer_for,
    )

    write = writer_for(output)
    with app.collection() as collection:
        labels = serialize.labels_of(collection.topics())
        hits = collection.scan(query, mode=mode, filters=filters)
        rows = hit_rows(hits, labels, scored=mode != "both")
        save(output, write(rows, hit_columns(collection.engine.fields(), collection.field_kinds().date)))


def _list_all(app: App, query: str, filters: Sequence[Filter]) -> None:
    """One JSON array, written as the documents come."""
    with app.collection() as collection:
        labels = serialize.labels_of(collection.topics())
        before = "[\n"
        for hit in collection.scan(query, filters=filters):
            click.echo(before, nl=False)
            print_json(serialize.hit(hit, labels))
            before = ","
    click.echo("]" if before == "," else "[]")
