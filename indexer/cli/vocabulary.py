"""indexer topics vocabulary: the user's own terms as topics."""

from __future__ import annotations

from pathlib import Path

import click

from indexer.cli.app import App, Group, json_of, json_option, pass_app
from indexer.cli.index import show_report
from indexer.cli.output import show_result, table, working
from indexer.export import serialize
from indexer.export.formatting import clean, count


@click.group(cls=Group, default="list")
def vocabulary() -> None:
    """Use your own terms as topics.

    Each term of a list becomes a topic under its name, with a permanent id: a facet and a filter like any other. Mined
    topics that a term covers lead to it, the others stay beside the terms. Refits and retrains keep the terms.

    \b
    Examples:
      indexer topics vocabulary add subjects.csv
      indexer topics vocabulary
    """


@vocabulary.command("list")
@json_of(
    "key, label, synonyms, broader, definition, topic (its id), field (of documents, or empty), documents"
)
@pass_app
def list_terms(app: App, as_json: bool) -> None:
    """List the terms, each with its topic and the number of documents, then the mined topics that no term covers.

    \b
    Examples:
      indexer topics vocabulary
      indexer topics vocabulary list --json
    """
    with app.collection() as collection:
        terms = collection.vocabulary()
        tree = collection.topic_tree().shown()
    sizes = {topic.id: topic.size for topic in tree.topics}
    rows = [
        (term.topic, f"{sizes.get(term.topic, 0):,}", clean(term.label), clean("; ".join(term.synonyms)))
        for term in terms
    ]
    text = table(rows, head=("id", "documents", "term", "synonyms"), right=(1,))
    others = [topic for topic in tree.leaves if terms and not topic.term]
    if others:
        new = [(t.id, f"{t.size:,}", clean(t.label), clean("; ".join(t.phrases[1:]))) for t in others]
        head = ("id", "documents", "new: not in your vocabulary", "other phrases")
        text += "\n\n" + table(new, head=head, right=(1,), parts="; ")
    show_result([serialize.term(term, sizes) for term in terms], text or "no terms", as_json=as_json)


@vocabulary.command("add")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option(
    "--from-field",
    "field",
    metavar="FIELD",
    help="Take the values of a field that documents have, such as tags.",
)
@click.option(
    "--strict", is_flag=True, help="Have no mined topics beside the terms, for a list that is complete."
)
@json_option
@pass_app
def add_terms(app: App, file: Path | None, field: str | None, strict: bool, as_json: bool) -> None:
    """Add the terms of FILE, and find the topics again.

    FILE is SKOS (.ttl, .rdf, .xml, .nt; needs the extra skos), or CSV in UTF-8 with a header. Columns: label; and by
    choice synonyms (separated by ;), broader (the label or key of the term above it), definition, and key (by which the
    file names a term: one with a known key is replaced).

    Documents belong to terms without narrower ones; a term with narrower ones has the documents of all below it.

    With --from-field the values of a field are the terms: documents that have the field keep their own, the others get
    those of documents like them.

    \b
    Examples:
      indexer topics vocabulary add subjects.csv
      indexer topics vocabulary add thesaurus.ttl --strict
      indexer topics vocabulary add --from-field tags --strict
    """
    from indexer.topics.vocabulary_files import read_vocabulary

    if (file is None) == (field is None):
        raise click.UsageError("Give a FILE, or --from-field.")
    terms = read_vocabulary(file) if file else []
    with working(app) as progress, app.collection() as collection:
        if field:
            terms = collection.terms_of_field(field)
        report = collection.add_terms(terms, strict=strict, progress=progress)
        total = len(collection.vocabulary())
    report.notes.append(f"{count(len(terms), 'term')} added or replaced; the vocabulary has {total:,}.")
    show_report(app, report, as_json=as_json)


@vocabulary.command("remove")
@click.argument("terms", nargs=-1, metavar="[TERM]...")
@click.option("--all", "everything", is_flag=True, help="Remove the whole vocabulary.")
@json_option
@pass_app
def remove_terms(app: App, terms: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Remove terms by label or key, and find the topics again.

    What was a term continues as a mined topic with the same id where its documents still make one.

    \b
    Examples:
      indexer topics vocabulary remove 'machine learning'
      indexer topics vocabulary remove --all
    """
    if bool(terms) == everything:
        raise click.UsageError("Give the terms, or --all.")
    with working(app) as progress, app.collection() as collection:
        report = collection.remove_terms(None if everything else terms, progress=progress)
    show_report(app, report, as_json=as_json)
