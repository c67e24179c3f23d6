"""What a query that is being typed may become: topics, keyphrases and titles of the collection that begin so."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from indexer.engines.base import Engine
from indexer.errors import QueryError
from indexer.records import Topic

SHORTEST = 2  # characters; what begins with one letter says nothing yet
LONGEST = 200
TOPICS, TITLES = 3, 3  # of an answer, at most
MAX_COMPLETIONS = 20


@dataclass(frozen=True)
class Completion:
    """One thing that begins so.

    Attributes:
        text: As it is spelled: the label of a topic, a keyphrase or a title.
        id: Of the topic or the document; empty for a keyphrase.
        documents: How many have it; 1 for a title.
    """

    kind: Literal["topic", "keyphrase", "title"]
    text: str
    id: str
    documents: int


def completions(
    engine: Engine, beginning: str, limit: int = 8, *, hidden: Container[str] = ()
) -> list[Completion]:
    """Topics with a word that begins so, keyphrases and titles that begin so; of each kind those of most documents first.

    Args:
        limit: Of all together. Keyphrases get what topics and titles leave.
        hidden: Topics that are not offered.

    Raises:
        QueryError: The beginning is longer than `LONGEST`, or the limit is not 1 to `MAX_COMPLETIONS`.
    """
    if len(beginning) > LONGEST:
        raise QueryError(f"{len(beginning):,} characters are to be completed; at most {LONGEST} are read.")
    if not 1 <= limit <= MAX_COMPLETIONS:
        raise QueryError(f"{limit:,} completions were asked for; there are 1 to {MAX_COMPLETIONS}.")
    typed = " ".join(beginning.split())
    if len(typed) < SHORTEST:
        return []
    found = [
        Completion("topic", topic.label, topic.id, topic.size)
        for topic in engine.topics()
        if topic.id not in hidden and _begins(topic, typed.casefold())
    ][:TOPICS]
    titles = [Completion("title", title, id_, 1) for id_, title in engine.titles_with(typed, limit=TITLES)]
    keyphrases = [
        Completion("keyphrase", text, "", documents)
        for text, documents in engine.keyphrases_with(typed, limit=limit)
    ]
    return [*found, *keyphrases[: max(0, limit - len(found) - len(titles))], *titles][:limit]


def _begins(topic: Topic, typed: str) -> bool:
    label = topic.label.casefold()
    return label.startswith(typed) or f" {typed}" in label
