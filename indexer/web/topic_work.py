"""What requests have done to topics, as tasks; see `indexer.web.task_work`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from indexer.collection.topics import check_parts
from indexer.errors import NotFound, QueryError
from indexer.export.formatting import count
from indexer.protocols import Progress
from indexer.topics.vocabulary_files import linked_terms
from indexer.web.shared import Served
from indexer.web.tasks import Result, Task


def to_merge(served: Served, name: str, into: str) -> tuple[str, str]:
    """The ids of a topic and of the one that it may become a part of.

    Raises:
        NotFound: One of them is not there.
        QueryError: They are the same.
    """
    part, whole = served.collection.topic_id(name), served.collection.topic_id(into)
    if part == whole:
        raise QueryError("A topic cannot be merged into itself.", hint="Choose another one.")
    return part, whole


def merge(served: Served, name: str, into: str) -> Task:
    """Make a topic a part of another one, which keeps its id and name. Raises what `to_merge` does."""
    part, whole = to_merge(served, name, into)

    def join(progress: Progress) -> Result:
        topic, changed = served.collection.merge_topics(whole, [part], progress=progress)
        return {"topic": topic.id, "changed": changed}

    labels = {topic.id: f"{topic.label} ({topic.id})" for topic in served.collection.topic_tree().topics}
    return served.tasks.add("merge", join, about=f"{labels.get(part, part)} into {labels.get(whole, whole)}")


def correct(served: Served, name: str, ids: Sequence[str], belongs: bool | None) -> Task:
    """Say which documents a topic has; see `Collection.correct_topic`, which may refuse it: then the task fails.

    Raises:
        NotFound: There is no such topic.
    """
    topic = served.collection.topic_tree().by_id[served.collection.topic_id(name)]

    def fit(progress: Progress) -> Result:
        return asdict(served.collection.correct_topic(topic.id, ids, belongs=belongs, progress=progress))

    return served.tasks.add("correct", fit, about=f"{topic.label} ({topic.id})")


def split(served: Served, name: str, parts: int) -> Task:
    """Part a topic; see `Collection.split_topic`, which may refuse it: then the task fails.

    Raises:
        NotFound: There is no such topic.
        QueryError: So many parts are not possible.
    """
    topic = served.collection.topic_tree().by_id[served.collection.topic_id(name)]
    check_parts(parts)

    def part(progress: Progress) -> Result:
        found = served.collection.split_topic(topic.id, parts, progress=progress)
        return {"topics": [one.id for one in found]}

    return served.tasks.add("split", part, about=f"{topic.label} ({topic.id})")


def move(served: Served, name: str, parent: str | None) -> Task:
    """Put a topic below another parent; see `Collection.move_topic`, which may refuse it: then the task fails.

    Raises:
        NotFound: One of them is not there.
    """
    collection = served.collection
    topic = collection.topic_tree().by_id[collection.topic_id(name)]
    above = None if parent is None else collection.topic_id(parent)

    def place(progress: Progress) -> Result:
        return {"topic": collection.move_topic(topic.id, above, progress=progress).id}

    return served.tasks.add("move", place, about=f"{topic.label} ({topic.id})")


def retire(served: Served, name: str) -> Task:
    """Take a topic away; see `Collection.retire_topics`, which may refuse it: then the task fails.

    Raises:
        NotFound: There is no such topic.
    """
    topic = served.collection.topic_tree().by_id[served.collection.topic_id(name)]

    def take_away(progress: Progress) -> Result:
        return {"topics": [], "changed": served.collection.retire_topics([topic.id], progress=progress)}

    return served.tasks.add("retire", take_away, about=f"{topic.label} ({topic.id})")


def undo(served: Served) -> Task:
    """Undo what was done last to the topics.

    Raises:
        NotFound: There is nothing to undo.
    """
    act = served.collection.last_act()
    if act is None:
        raise NotFound("There is nothing to undo.")

    def restore(progress: Progress) -> Result:
        undone, changed = served.collection.undo_topics(progress=progress)
        return {"act": undone.kind, "of": list(undone.topics), "topics": [topic.id for topic in changed]}

    return served.tasks.add("undo", restore, about=f"{act.kind} of {', '.join(act.topics)}")


def add_rising(served: Served, numbers: Sequence[int]) -> Task:
    """Make topics of rising subjects.

    Raises:
        NotFound: None is rising, or none with such a number: the task fails then.
    """
    found = served.collection.rising()
    if not found:
        raise NotFound("No subject is rising.")

    def add(progress: Progress) -> Result:
        born = served.collection.add_rising(numbers, progress=progress)
        return {"topics": [topic.id for topic in born]}

    chosen = [found[at - 1].label for at in numbers if at <= len(found)] or [one.label for one in found]
    return served.tasks.add("birth", add, about=", ".join(chosen))


def add_terms(served: Served, given: Sequence[Mapping[str, Any]], *, strict: bool) -> Task:
    """Add terms to the vocabulary.

    Raises:
        InputError: One of them cannot be one; nothing is added.
    """
    terms = linked_terms(given, [f"term {number}" for number in range(1, len(given) + 1)])

    def add(progress: Progress) -> Result:
        return asdict(served.collection.add_terms(terms, strict=strict, progress=progress))

    return served.tasks.add("vocabulary", add, about=count(len(terms), "term"))


def remove_term(served: Served, key: str) -> Task:
    """Remove a term of the vocabulary by label or key.

    Raises:
        NotFound: There is none.
    """
    if not any(
        key == term.key or key.casefold() == term.label.casefold() for term in served.collection.vocabulary()
    ):
        raise NotFound(f"There is no term '{key}' in the vocabulary.")

    def remove(progress: Progress) -> Result:
        return asdict(served.collection.remove_terms([key], progress=progress))

    return served.tasks.add("vocabulary", remove, about=key)
