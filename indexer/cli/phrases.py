"""indexer phrases, keyphrases: phrases of the collection, and of one document without a collection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_of, pass_app
from indexer.cli.options import filter_options, reading_options
from indexer.cli.output import dim, indented, marked, say, show_result, table
from indexer.cli.search import marked_text
from indexer.export import serialize
from indexer.export.formatting import clean

if TYPE_CHECKING:
    from indexer.engines.base import Filter
    from indexer.readers import ReadOptions
    from indexer.records import Keyphrase, MentionRow, PhraseRow

SCORE_INDENT = " " * 7  # below "0.123  "


@command()
@click.argument("phrase", nargs=-1)
@click.option("--in", "text", metavar="TEXT",
              help="Find mentions similar to the one marked in this text: 'the cell [[membrane]] is thin'.")  # fmt: skip
@filter_options
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Number of results.")
@json_of(
    "phrase, score, documents, topics, surfaces, id; with --in: phrase, score, sentence, document, topic, places"
)
@pass_app
def phrases(
    app: App, phrase: tuple[str, ...], text: str | None, filters: list[Filter], limit: int, as_json: bool
) -> None:
    """Find phrases by meaning, alone or in a sentence.

    PHRASE is compared with the phrases of the collection; with --in, a phrase marked in a text is compared with every
    mention in its own sentence, and --topic, --keyphrase, --where and --hide-duplicates filter the documents.

    The score is the cosine similarity of the two vectors, at most 1. Even the same words rarely score 1: PHRASE is
    encoded alone, and the vector of a phrase of the collection is the mean over its mentions, each encoded in context.

    \b
    Examples:
      indexer phrases climate model
      indexer phrases --in 'the cell [[membrane]] is thin' --where 'year>=2015'
    """
    query = " ".join(phrase)
    if bool(query) == (text is not None):
        raise click.UsageError(
            "Give either a PHRASE, or a text with a marked phrase: --in 'the cell [[membrane]]'."
        )
    if filters and text is None:
        raise click.UsageError(
            "--topic, --keyphrase, --where, --hide-duplicates filter documents; use them with --in."
        )
    with app.collection() as collection:
        labels = serialize.labels_of(collection.topics())
        if text is None:
            rows = collection.phrases(query, limit=limit)
            found = [serialize.phrase(row, score, labels) for row, score in rows]
            formatted = format_phrases(rows, labels)
        else:
            mentions = collection.phrases_in(text, limit=limit, filters=filters)
            titles = collection.titles([row.document_id for row, _ in mentions])
            found = [
                serialize.mention(row, score, titles[row.document_id], labels) for row, score in mentions
            ]
            formatted = format_mentions(mentions, titles)
    show_result(found, formatted or "no phrases", as_json=as_json)


@command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Maximum number.  [default: 10]")
@click.option("--mark", is_flag=True, help="Print the text too, with its keyphrases marked.")
@reading_options
@json_of("text, score, present, places (field, start, end)")
@pass_app
def keyphrases(
    app: App, file: Path, limit: int | None, mark: bool, options: ReadOptions, as_json: bool
) -> None:
    """Find the keyphrases of one document, without a collection.

    FILE is a text, Markdown, HTML, PDF or Word file, or - for plain text from standard input. The document is not
    stored; the home keeps only which backend is fastest on this machine. Places are character offsets in the title or
    text, from 0, the end excluded.

    \b
    Examples:
      indexer keyphrases paper.pdf
      pbpaste | indexer keyphrases - --mark
      indexer keyphrases abstract.txt --limit 5 --json
    """
    from indexer.readers import read_one

    document = read_one(file, options)
    with app.aside(app.settings()) as collection:
        found = collection.keyphrases(document, limit=limit)
    if mark and not as_json:
        say(marked_text(document, found) + "\n")
    value = [serialize.keyphrase(keyphrase) for keyphrase in found]
    show_result(value, _format_keyphrases(found) or "no keyphrases", as_json=as_json)


def format_phrases(rows: Sequence[tuple[PhraseRow, float]], labels: serialize.Labels) -> str:
    """Format phrases, one on a line."""
    cells = [
        (
            f"{score:.3f}",
            clean(serialize.surface(row)),
            f"{row.documents:,}",
            clean(", ".join(labels[id_] for id_ in row.topics if id_ in labels)),
        )
        for row, score in rows
    ]
    return table(cells, head=("score", "phrase", "documents", "topics"), right=(2,))


def format_mentions(mentions: Sequence[tuple[MentionRow, float]], titles: dict[str, str]) -> str:
    """Format mentions in their sentences."""
    return "\n\n".join(_mention(row, score, titles[row.document_id]) for row, score in mentions)


def _mention(row: MentionRow, score: float, title: str) -> str:
    sentence = " ".join(row.sentence.split())
    text = marked(sentence, serialize.marks(sentence, row.surface))
    is_redundant = title == row.document_id or sentence == " ".join(title.split())
    about = row.document_id if is_redundant else f"{title}  {row.document_id}"
    return "\n".join(
        [indented(text, SCORE_INDENT, first=f"{score:.3f}  "), indented(dim(clean(about)), SCORE_INDENT)]
    )


def _format_keyphrases(found: Sequence[Keyphrase]) -> str:
    """Format keyphrases, one on a line."""
    rows = [
        (
            f"{k.score:.2f}",
            clean(k.text),
            " ".join(f"{p.field}:{p.start}-{p.end}" for p in k.places) or "not in the text",
        )
        for k in found
    ]
    return table(rows, head=("score", "keyphrase", "places"))
