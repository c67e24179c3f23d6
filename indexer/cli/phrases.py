"""indexer phrases"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.options import filter_options
from indexer.cli.output import (
    dim,
    indented,
    marked,
    print_json,
    say,
    table,
)
from indexer.export import serialize
from indexer.export.formatting import clean

if TYPE_CHECKING:
    from indexer.engines.base import Filter
    from indexer.records import MentionRow, PhraseRow

Near = Sequence[tuple["MentionRow", float]]


@command()
@click.argument("phrase", nargs=-1)
@click.option("--in", "text", metavar="TEXT",
              help="Find mentions like the one marked in this text: 'the cell [[membrane]] is thin'.")  # fmt: skip
@filter_options
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="How many to show.")
@json_option
@pass_app
def phrases(
    app: App, phrase: tuple[str, ...], text: str | None, filters: list[Filter], limit: int, as_json: bool
) -> None:
    """Find phrases by meaning, alone or in a sentence.

    PHRASE is compared with the phrases of the collection; with --in, a phrase marked in a text is compared
    with every mention in its own sentence.

    The score is the cosine of the two vectors, at most 1. The same words are near 1, and seldom at it: PHRASE
    stands alone, and the vector of a phrase of the collection is the mean over where it stands, each in the
    text around it, not only in its sentence.

    With --in, --topic, --keyphrase and --where narrow the documents.

    \b
    Examples:
      indexer phrases climate model
      indexer phrases --in 'the cell [[membrane]] is thin' --where 'year>=2015'
    """
    asked = " ".join(phrase)
    if bool(asked) == (text is not None):
        raise click.UsageError(
            "Give either a PHRASE, or a text with a marked phrase: --in 'the cell [[membrane]]'."
        )
    if filters and text is None:
        raise click.UsageError("--topic, --keyphrase and --where narrow documents; use them with --in.")
    with app.collection() as collection:
        labels = serialize.labels_of(collection.topics())
        if text is None:
            rows = collection.phrases(asked, limit=limit)
            found = [serialize.phrase(row, score, labels) for row, score in rows]
            shown = rendered(rows, labels)
        else:
            near = collection.phrases_in(text, limit=limit, filters=filters)
            titles = collection.titles([row.document_id for row, _ in near])
            found = [serialize.mention(row, score, titles[row.document_id], labels) for row, score in near]
            shown = rendered_in_context(near, titles)
    if as_json:
        print_json(found)
    else:
        say(shown or "no phrases")


def rendered(rows: Sequence[tuple[PhraseRow, float]], labels: serialize.Labels) -> str:
    """Phrases, one on a line."""
    return table(
        [
            (
                f"{score:.3f}",
                clean(serialize.surface(row)),
                f"{row.documents:,}",
                clean(", ".join(labels.get(id_, id_) for id_ in row.topics[:3])),
            )
            for row, score in rows
        ],
        head=("score", "phrase", "documents", "topics"),
        right=(2,),
    )


def rendered_in_context(near: Near, titles: dict[str, str]) -> str:
    """Mentions in their sentences."""
    return "\n\n".join(_mention(row, score, titles[row.document_id]) for row, score in near)


def _mention(row: MentionRow, score: float, title: str) -> str:
    sentence = " ".join(row.sentence.split())
    lines = [
        indented(marked(sentence, serialize.marks(sentence, row.surface)), "       ", first=f"{score:.3f}  ")
    ]
    told = title == row.document_id or sentence == " ".join(title.split())
    about = row.document_id if told else f"{title}  {row.document_id}"
    return "\n".join([*lines, indented(dim(clean(about)), "       ")])
