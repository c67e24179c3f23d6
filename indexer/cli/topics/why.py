"""indexer topics why"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import (
    bold,
    dim,
    facts,
    print_json,
    say,
    table,
)
from indexer.export import serialize
from indexer.export.formatting import clean, percent

if TYPE_CHECKING:
    from indexer.topics.explain import Vote, Why


@command()
@click.argument("id_", metavar="ID")
@json_option
@pass_app
def why(app: App, id_: str, as_json: bool) -> None:
    """Say why document ID has its topics.

    Each phrase of a document votes for the topic it is nearest to, with a weight that comes from its score as
    a keyphrase. Phrases that are beyond the reach of every topic do not vote. Where topics were found with
    `documents`, the text as a whole is placed, and its phrases are listed with its likeness.

    \b
    Example:
      indexer topics why arxiv:1405.3939
    """
    with app.collection() as collection:
        found = collection.why(id_)
        labels = serialize.labels_of(collection.topics())
    if as_json:
        print_json(serialize.why(found, labels))
    else:
        say(rendered(found, labels))


def rendered(found: Why, labels: serialize.Labels, *, limit: int | None = None) -> str:
    """The topics of the document, then the votes."""
    rows = [_row(vote, labels) for vote in found.votes[:limit]]
    topic = "topic" if found.whole else "votes for"
    votes = table(rows, head=("weight", "phrase", topic, "likeness", "lead", "over"), right=(0, 3, 4))
    return f"{facts(_about(found, labels))}\n\n{votes}".rstrip()


def _about(found: Why, labels: serialize.Labels) -> Iterator[tuple[str, str]]:
    yield "document", bold(clean(found.document.name))
    shares = [f"{clean(topic.label)} {percent(share)}" for topic, share in found.topics]
    none = "none is near enough" if found.whole else "none: no topic has enough of the votes"
    yield "topics", ", ".join(shares) or none
    if found.whole:
        yield "decided by", "the text as a whole"
    if found.runner_up:
        topic, share = found.runner_up
        vote = f" {percent(share)}" if share else "" if found.whole else ", without a vote"
        yield "runner-up", clean(topic.label) + vote
    silent = sum(vote.weight for vote in found.votes if vote.topic is None)
    if silent and not found.whole:
        yield "no vote", f"{percent(silent)} (phrases less like any topic than {found.threshold:.2f})"
    yield "made with", clean(f"{found.bundle}, topics of run {found.fit}")


def _row(vote: Vote, labels: serialize.Labels) -> tuple[str, ...]:
    return (
        percent(vote.weight),
        clean(vote.phrase),
        clean(labels.get(vote.topic, vote.topic)) if vote.topic else dim("no topic"),
        f"{vote.similarity:.2f}",
        f"{vote.margin:.2f}",
        clean(labels.get(vote.runner_up, vote.runner_up)) if vote.runner_up else "",
    )
