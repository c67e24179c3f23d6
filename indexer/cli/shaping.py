"""indexer topics merge, split, move, retire, undo, pin, hide: the tree as a user wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from indexer.cli import completion
from indexer.cli.app import App, json_of, json_option, pass_app
from indexer.cli.output import show_result, working
from indexer.export import serialize
from indexer.export.formatting import clean, count

if TYPE_CHECKING:
    from indexer.catalog.entries import TopicMark


@click.command()
@click.argument("into", shell_complete=completion.topics)
@click.argument("others", nargs=-1, required=True, shell_complete=completion.topics)
@json_option
@pass_app
def merge(app: App, into: str, others: tuple[str, ...], as_json: bool) -> None:
    """Merge several topics into one.

    INTO keeps its id and name, OTHERS retire, and their ids lead to INTO. Parents are merged like topics: INTO gets all
    subtopics.

    \b
    Example:
      indexer topics merge 3 7 12
    """
    with working(app) as progress, app.collection() as collection:
        topic, changed = collection.merge_topics(into, others, progress=progress)
    text = clean(f"{topic.id} '{topic.label}' has {count(topic.size, 'document')} now, {changed:,} changed")
    show_result({**serialize.topic(topic), "changed": changed}, text, as_json=as_json)


@click.command()
@click.argument("topic", shell_complete=completion.topics)
@click.argument("parent", required=False, shell_complete=completion.topics)
@json_option
@pass_app
def move(app: App, topic: str, parent: str | None, as_json: bool) -> None:
    """Put TOPIC below PARENT, or at the top without one.

    Later refits keep it there. A parent that has fewer than two topics left dissolves, and its id leads to them.

    \b
    Examples:
      indexer topics move 12 40
      indexer topics move 'ocean waves'
    """
    with working(app) as progress, app.collection() as collection:
        moved = collection.move_topic(topic, parent, progress=progress)
        above = collection.topic_tree().path(moved.id)[:-1]
    where = f"below {above[-1].id} '{above[-1].label}'" if above else "at the top"
    show_result(serialize.topic(moved), clean(f"{moved.id} '{moved.label}' is {where}"), as_json=as_json)


@click.command()
@click.argument("topic", shell_complete=completion.topics)
@click.option(
    "--into", type=click.IntRange(2, 10), default=2, show_default=True, metavar="N", help="Number of parts."
)
@json_of("the parts, as indexer topics lists them; the first one has the id")
@pass_app
def split(app: App, topic: str, into: int, as_json: bool) -> None:
    """Split TOPIC into parts whose documents are like each other.

    The largest part keeps the id, and a name that a user has given. The parts have the same parent, and later refits
    keep them.

    \b
    Examples:
      indexer topics split 3
      indexer topics split 'ocean waves' --into 3
    """
    with working(app) as progress, app.collection() as collection:
        parts = collection.split_topic(topic, into, progress=progress)
    text = "\n".join(f"{part.id} {clean(part.label)}: {count(part.size, 'document')}" for part in parts)
    show_result([serialize.topic(part) for part in parts], text, as_json=as_json)


@click.command()
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...", shell_complete=completion.topics)
@json_of("retired (ids) and changed (documents)")
@pass_app
def retire(app: App, topics: tuple[str, ...], as_json: bool) -> None:
    """Retire topics, such as those without documents.

    Their documents get the topics that are nearest to them then, or none. Later refits keep the other topics.

    \b
    Example:
      indexer topics retire 12
    """
    with working(app) as progress, app.collection() as collection:
        ids = [collection.topic_id(name) for name in topics]
        changed = collection.retire_topics(ids, progress=progress)
    text = f"{count(len(set(ids)), 'topic')} retired, {count(changed, 'document')} changed"
    show_result({"retired": ids, "changed": changed}, text, as_json=as_json)


@click.command()
@json_of(
    "act (merge, split, move, birth or retire), of (ids), and topics: those that are back, as indexer topics lists them"
)
@pass_app
def undo(app: App, as_json: bool) -> None:
    """Undo the last merge, split, move, added or retired topic.

    The last ten can be undone one after the other, until topics are fitted again. Documents that came since get the
    topics that are back.

    \b
    Example:
      indexer topics undo
    """
    with working(app) as progress, app.collection() as collection:
        act, changed = collection.undo_topics(progress=progress)
    value = {"act": act.kind, "of": list(act.topics), "topics": [serialize.topic(topic) for topic in changed]}
    lines = [f"{topic.id} {clean(topic.label)}: {count(topic.size, 'document')}" for topic in changed]
    show_result(value, "\n".join([f"undone: {act.kind} of {', '.join(act.topics)}", *lines]), as_json=as_json)


@click.command()
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...", shell_complete=completion.topics)
@click.option("--undo", is_flag=True, help="Pin them no longer.")
@json_of("the topics, as indexer topics lists them")
@pass_app
def pin(app: App, topics: tuple[str, ...], undo: bool, as_json: bool) -> None:
    """List topics before all others of their level.

    Refits and retrains keep it.

    \b
    Example:
      indexer topics pin 'ocean waves'
    """
    _mark(app, topics, "" if undo else "pinned", as_json=as_json)


@click.command()
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...", shell_complete=completion.topics)
@click.option("--undo", is_flag=True, help="Show them again.")
@json_of("the topics, as indexer topics lists them")
@pass_app
def hide(app: App, topics: tuple[str, ...], undo: bool, as_json: bool) -> None:
    """Leave topics out of lists, facets and the map; of a parent, all below it.

    Their documents keep them, and filters find them. Refits and retrains keep it.

    \b
    Examples:
      indexer topics hide 'mailing list'
      indexer topics hide 12 --undo
    """
    _mark(app, topics, "" if undo else "hidden", as_json=as_json)


def _mark(app: App, names: tuple[str, ...], mark: TopicMark, *, as_json: bool) -> None:
    with app.collection() as collection:
        ids = [collection.topic_id(name) for name in names]  # a wrong name, and none is marked
        marked = [collection.mark_topic(id_, mark) for id_ in ids]
    text = "\n".join(f"{topic.id} '{clean(topic.label)}' is {mark or 'shown as usual'}" for topic in marked)
    show_result([serialize.topic(topic) for topic in marked], text, as_json=as_json)
