"""indexer topics: list, explain, name, merge and export the topics of the collection."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from indexer.cli import completion
from indexer.cli.app import App, Group, json_of, json_option, pass_app
from indexer.cli.corrections import correct, corrections
from indexer.cli.index import show_report
from indexer.cli.options import levels_option, topics_option
from indexer.cli.output import bold, dim, facts, show_result, table, working
from indexer.cli.rising import rising
from indexer.cli.shaping import hide, merge, move, pin, retire, split, undo
from indexer.cli.vocabulary import vocabulary
from indexer.export import serialize
from indexer.export.formatting import clean, count, describe_event, growth, moment, percent

if TYPE_CHECKING:
    from indexer.collection import Collection
    from indexer.export.tables import Row
    from indexer.records import Topic
    from indexer.search.trends import Trends
    from indexer.topics.explain import Vote, Why
    from indexer.topics.history import TopicDetails, TopicHistory
    from indexer.topics.naming import WhyName

MAX_PHRASES = 6  # of a topic in the list
INDENT = "  "  # of a subtopic
SEPARATOR = "; "  # between them
FULL_SHARE = 0.995  # printed as 100 %: a column of such shares is left out
DOCUMENT_COLUMNS = ("document", "title", "topic", "label", "weight")


@click.group(cls=Group, default="list")
def topics() -> None:
    """List, explain, name and merge the mined topics.

    A topic's id (t-000042) is permanent: every later run keeps it. TOPIC is the id, its number (42) or its label.

    \b
    Examples:
      indexer topics
      indexer topics show 3
      indexer topics rename 3 'Ocean waves'
    """


@topics.command("list")
@click.option("--limit", type=click.IntRange(1), metavar="N",
              help="List the N largest topics only, without the parents above them.")  # fmt: skip
@click.option(
    "--phrases",
    is_flag=True,
    help=f"List {MAX_PHRASES} leading phrases of each, not only those that fit into a line.",
)
@click.option("--hidden", is_flag=True, help="List hidden topics, too.")
@json_of("id, label, documents, phrases, label_locked, parent, term, mark, and the growth: since, share_lately, "
         "share_before, growth (share_lately / share_before - 1), clear (significant); null without dates")  # fmt: skip
@pass_app
def list_(app: App, limit: int | None, phrases: bool, hidden: bool, as_json: bool) -> None:
    """List all topics, largest first, with their leading phrases. Subtopics follow their parent, indented.

    If documents have dates, the growth compares the share of each topic among the newest fifth of them with its share
    before; it is left out where fewer than five documents would be expected in either.

    \b
    Examples:
      indexer topics
      indexer topics list --limit 10 --phrases
      indexer topics list --json
    """
    with app.collection() as collection:
        whole = collection.topic_tree()
        trends = collection.topic_trends()
    tree = whole if hidden else whole.shown()
    found = [(0, topic) for topic in tree.leaves[:limit]] if limit else list(tree.walk())
    value = [serialize.growing(topic, trends) for _, topic in found]
    text = format_topics(found, trends, phrases=phrases)
    if empty := [topic.id for topic in tree.leaves if not topic.size and not topic.term]:
        text += "\n" + dim(f"without documents: indexer topics retire {' '.join(empty)}")
    if left := len(whole.topics) - len(tree.topics):
        text += "\n" + dim(f"{count(left, 'hidden topic')}: indexer topics list --hidden")
    show_result(value, text or "no topics yet", as_json=as_json)


@topics.command()
@click.argument("topic", shell_complete=completion.topics)
@click.option(
    "--documents", type=click.IntRange(0), default=5, show_default=True, help="Number of documents."
)
@json_option
@pass_app
def show(app: App, topic: str, documents: int, as_json: bool) -> None:
    """Show phrases, documents and history of a topic.

    \b
    Examples:
      indexer topics show 3
      indexer topics show t-000003 --documents 20
      indexer topics show 'ocean waves' --json
    """
    with app.collection() as collection:
        details = collection.topic(topic, documents=documents)
    show_result(serialize.topic_details(details), _format_details(details), as_json=as_json)


@topics.command()
@click.argument("id_", metavar="ID")
@json_option
@pass_app
def why(app: App, id_: str, as_json: bool) -> None:
    """Explain why document ID has its topics.

    A document votes for its most similar topic, and so does each of its phrases. Its own vote weighs as much as those of
    all phrases together, which weigh as much as their scores as keyphrases.
    Outliers, whose similarity to every topic is below the threshold, do not vote. The columns: share of the vote,
    topic, similarity to it, lead over the next topic. With topics found by `documents`, the whole text decides, and
    each phrase has the similarity of the document.

    \b
    Example:
      indexer topics why arxiv:1405.3939
    """
    with app.collection() as collection:
        found = collection.why(id_)
        labels = serialize.labels_of(collection.topics())
    show_result(serialize.why(found, labels), format_votes(found, labels), as_json=as_json)


@topics.command("why-name")
@click.argument("topic", shell_complete=completion.topics)
@json_of("id, label, origin (user, vocabulary, model or mined), mined (the name without a user and a model), phrases and "
         "naming (of a language model: model, at, shown, said, name, refused), null where none was asked")  # fmt: skip
@pass_app
def why_name(app: App, topic: str, as_json: bool) -> None:
    """Explain why TOPIC has its name: what a language model was shown and said, where one was asked.

    A mined name is the leading phrase: the one that covers most of the topic and little of any other. A parent is named
    after its largest subtopics.

    \b
    Examples:
      indexer topics why-name 3
      indexer topics why-name 'ocean waves' --json
    """
    with app.collection() as collection:
        found = collection.why_name(topic)
    show_result(serialize.why_name(found), facts(_about_name(found)), as_json=as_json)


@topics.command()
@click.argument("topic", shell_complete=completion.topics)
@json_option
@pass_app
def history(app: App, topic: str, as_json: bool) -> None:
    """List the history of TOPIC through all fits, oldest first.

    TOPIC may be retired: ids are never reused.

    \b
    Examples:
      indexer topics history 3
      indexer topics history t-000003 --json
    """
    with app.collection() as collection:
        found = collection.topic_history(topic)
    text = f"{found.entry.id} {clean(found.entry.label)}: {_state(found)}\n\n{_events(found)}"
    show_result(serialize.topic_history(found), text, as_json=as_json)


@topics.command()
@click.argument("topic", shell_complete=completion.topics)
@click.argument("label", required=False)
@click.option("--mined", is_flag=True, help="Restore the mined name: the leading phrase.")
@json_option
@pass_app
def rename(app: App, topic: str, label: str | None, mined: bool, as_json: bool) -> None:
    """Give TOPIC the name LABEL, or restore its mined name.

    The id stays, and a refit keeps the name. No language model replaces a name that was given or restored.

    \b
    Examples:
      indexer topics rename 3 'Ocean waves'
      indexer topics rename 3 --mined
    """
    if mined == (label is not None):
        raise click.UsageError("Give either a LABEL, or --mined.")
    with app.collection() as collection:
        before = {found.id: found.label for found in collection.topic_tree().topics}
        renamed = collection.unname_topic(topic) if label is None else collection.rename_topic(topic, label)
    old = before[renamed.id]
    text = clean(f"{renamed.id} is now '{renamed.label}' (was '{old}')")
    show_result(
        serialize.topic(renamed), "nothing changed" if old == renamed.label else text, as_json=as_json
    )


@topics.command()
@topics_option
@levels_option
@json_option
@pass_app
def refit(app: App, topics: str | None, levels: str | None, as_json: bool) -> None:
    """Find the topics again, from the stored documents.

    No source is read. A continued topic keeps its id and its user-defined name; the history of the others is recorded
    (indexer topics show).

    \b
    Examples:
      indexer topics refit --topics 40
      indexer topics refit --levels 7,20
    """
    with working(app) as progress, app.collection() as collection:
        report = collection.index([], topics=topics, levels=levels, refit=True, progress=progress)
    show_report(app, report, as_json=as_json)


for more in (merge, split, move, retire, undo, pin, hide, vocabulary, correct, corrections, rising):
    topics.add_command(more)


@topics.command()
@click.option("--format", "kind", type=click.Choice(["json", "csv", "jsonl", "parquet"]), default="json",
              show_default=True, help="A JSON array, CSV with a header, JSON Lines, or Parquet (pyarrow).")  # fmt: skip
@click.option("--documents", is_flag=True, help="Write rows of document, topic and weight instead of topics.")
@click.option("--output", type=click.Path(dir_okay=False, writable=True, path_type=Path), metavar="FILE",
              help="File to write.  [default: standard output]")  # fmt: skip
@pass_app
def export(app: App, kind: Any, documents: bool, output: Path | None) -> None:
    """Write topics, or the topics of documents, as a file for other programs.

    \b
    Examples:
      indexer topics export --format csv --output topics.csv
      indexer topics export --documents --format csv > document_topics.csv
    """
    from indexer.export.tables import TOPIC_COLUMNS, WRITERS, save, topic_rows

    with app.collection() as collection:
        columns: Sequence[str] = DOCUMENT_COLUMNS if documents else TOPIC_COLUMNS
        trends = None if documents else collection.topic_trends()
        rows = _document_rows(collection) if documents else topic_rows(collection.topics(), trends)
        parts = _json_lines(rows) if kind == "json" else WRITERS[kind](rows, columns)
        if output:
            save(output, parts)
        else:
            for part in parts:
                click.echo(part.removeprefix(codecs.BOM_UTF8), nl=False)  # a pipe needs no byte order mark


# -- as text ------------------------------------------------------------------------------------------------


def format_topics(
    topics: Sequence[tuple[int, Topic]], trends: Trends | None = None, *, phrases: bool = False
) -> str:
    """Format topics, one on a line unless more phrases are asked for; with their growth, if documents have dates.

    Args:
        topics: With the depth of each, by which its label is indented.
    """
    above = {topic.parent for _, topic in topics}
    rows = []
    for depth, topic in topics:
        growths = [] if trends is None else [growth(trends.by_topic.get(topic.id))]
        label = bold(clean(topic.label)) if topic.id in above else clean(topic.label)
        label += dim(f" ({topic.mark})") if topic.mark else ""
        phrases_ = "" if topic.id in above else _phrases(topic, whole=phrases)
        rows.append((topic.id, f"{topic.size:,}", *growths, INDENT * depth + label, phrases_))
    since = [] if trends is None else [f"growth since {trends.since}"]
    head = ("id", "documents", *since, "label", "leading phrases" if phrases else "other phrases")
    return table(rows, head=head, right=range(1, 2 + len(since)), parts="" if phrases else SEPARATOR)


def _phrases(topic: Topic, *, whole: bool) -> str:
    """Join the leading phrases; not the one that is the label, unless the list is to be whole."""
    from indexer.topics.labels import JOINT

    named = () if whole else topic.label.casefold().split(JOINT)
    return clean(
        SEPARATOR.join([phrase for phrase in topic.phrases if phrase.casefold() not in named][:MAX_PHRASES])
    )


def _format_details(details: TopicDetails) -> str:
    """Format facts, documents and history of a topic."""
    blocks = [facts(_about_topic(details))]
    if details.significant_keyphrases:
        shares = [
            (clean(s.keyphrase), f"{s.documents:,} of {s.everywhere:,}")
            for s in details.significant_keyphrases
        ]
        head = ("significant keyphrases", "documents, of all with it")
        blocks.append(table(shares, head=head, right=(1,)))
    if details.documents:
        blocks.append(_representatives(details))
    return "\n\n".join([*blocks, _events(details.history)])


def _about_topic(details: TopicDetails) -> Iterator[tuple[str, str]]:
    topic = details.topic
    yield "topic", bold(clean(topic.label)) + (dim("  (user-defined)") if topic.label_locked else "")
    if topic.mark:
        yield "by a user", topic.mark
    yield "id", topic.id
    yield "documents", f"{topic.size:,}"
    yield "phrases", clean("; ".join(topic.phrases))
    if details.above:
        yield "part of", clean(" / ".join(f"{above.label} ({above.id})" for above in details.above))
    for below in details.subtopics:
        yield "subtopic", clean(f"{below.id} '{below.label}', {count(below.size, 'document')}")
    for other in details.others:
        yield "became too", clean(f"{other.id} '{other.label}'")


ORIGINS = {"user": "a user", "vocabulary": "the vocabulary: it is a term", "model": "a language model"}


def _about_name(found: WhyName) -> Iterator[tuple[str, str]]:
    """Format where a name comes from, and the last request to a language model."""
    yield "topic", f"{bold(clean(found.topic.label))}  ({found.topic.id})"
    mined = "its largest subtopics" if found.subtopics else "its leading phrase"
    yield "named by", ORIGINS.get(found.origin, mined)
    if found.origin != "mined":
        yield "mined name", clean(found.mined)
    if found.subtopics:
        yield "subtopics", clean(SEPARATOR.join(below.label for below in found.subtopics))
    yield "phrases", clean(SEPARATOR.join(found.topic.phrases))
    if naming := found.naming:
        yield "model", clean(f"{naming.model}, {moment(naming.at)}")
        yield "was shown", clean(json.dumps(naming.shown, ensure_ascii=False))
        yield "said", clean(naming.said) or dim("nothing")
        refused = f"refused: {naming.refused}" if naming.refused else "accepted"
        yield (
            "verdict",
            clean(refused if naming.refused or found.origin == "model" else f"{refused}, not used any more"),
        )


def _representatives(details: TopicDetails) -> str:
    """Format the documents of a topic, with their shares if these differ."""
    weights = [serialize.weight(d, details.below) for d in details.documents]
    names = [(clean(d.document.id), clean(d.document.name)) for d in details.documents]
    if min(weights) >= FULL_SHARE:
        return table(names, head=("id", "document"))
    rows = [(percent(weight), *name) for weight, name in zip(weights, names, strict=True)]
    return table(rows, head=("share", "id", "document"), right=(0,))


def _state(history: TopicHistory) -> str:
    if history.entry.state == "live":
        return f"live, {history.entry.size:,} documents"
    successors = ", ".join(history.successors)
    return f"retired; it leads to {successors}" if successors else "retired, without a successor"


def _events(history: TopicHistory) -> str:
    """Format the time, run, event and then name of each change of a topic."""
    rows = [
        (
            moment(event.entry.at),
            event.by,
            clean(text),
            clean(event.entry.label) if event.entry.new_id == history.entry.id else "",
        )
        for event, text in describe_event(history)
    ]
    return table(rows, head=("when", "by", "what happened", "name"))


def format_votes(found: Why, labels: serialize.Labels, *, limit: int | None = None) -> str:
    """Format the topics of the document, then the votes."""
    rows = [_vote(vote, labels) for vote in found.votes[:limit]]
    topic = "topic" if found.whole else "votes for"
    votes = table(rows, head=("weight", "phrase", topic, "similarity", "lead", "over"), right=(0, 3, 4))
    return f"{facts(_about_votes(found, labels))}\n\n{votes}".rstrip()


def _about_votes(found: Why, labels: serialize.Labels) -> Iterator[tuple[str, str]]:
    yield "document", bold(clean(found.document.name))
    given = {topic.id for topic, belongs in found.said if belongs}  # not by the vote
    shares = [
        clean(topic.label) + ("" if topic.id in given else f" {percent(share)}")
        for topic, share in found.topics
    ]
    none = "none is similar enough" if found.whole else "none: no topic has enough of the votes"
    yield "topics", ", ".join(shares) or none
    if said := [f"{'' if belongs else 'not '}{clean(topic.label)}" for topic, belongs in found.said]:
        yield "given", ", ".join(said)
    elif found.whole:
        yield "decided by", "the text as a whole"
    if found.runner_up:
        topic, share = found.runner_up
        vote = f" {percent(share)}" if share else "" if found.whole else ", without a vote"
        yield "runner-up", clean(topic.label) + vote
    outliers = sum(vote.weight for vote in found.votes if vote.topic is None)
    if outliers and not found.whole:
        yield (
            "no vote",
            f"{percent(outliers)} (phrases whose similarity to any topic is below {found.threshold:.2f})",
        )
    yield "made with", clean(f"{found.bundle}, topics of run {found.fit}")


def _vote(vote: Vote, labels: serialize.Labels) -> tuple[str, ...]:
    return (
        percent(vote.weight),
        clean(vote.phrase),
        clean(labels.get(vote.topic, vote.topic)) if vote.topic else dim("no topic"),
        f"{vote.similarity:.2f}",
        f"{vote.margin:.2f}",
        clean(labels.get(vote.runner_up, vote.runner_up)) if vote.runner_up else "",
    )


# -- as a file ----------------------------------------------------------------------------------------------


def _document_rows(collection: Collection) -> Iterator[Row]:
    labels = serialize.labels_of(collection.topics())
    for stored in collection.documents():
        for topic in serialize.topic_weights(stored.topics, labels):
            yield {
                "document": stored.document.id,
                "title": stored.document.title,
                "topic": topic["id"],
                "label": topic["label"],
                "weight": topic["weight"],
            }


def _json_lines(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield a JSON array, one row on a line; the rows are never all in memory."""
    separator = "[\n"
    for row in rows:
        yield (separator + json.dumps(row, ensure_ascii=False)).encode("utf-8", "backslashreplace")
        separator = ",\n"
    yield b"[]\n" if separator == "[\n" else b"\n]\n"
