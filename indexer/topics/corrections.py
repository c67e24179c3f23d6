"""What users say of documents and topics: every fit keeps it, and learns from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from indexer.catalog.corrections import Correction
from indexer.catalog.entries import LineageEntry
from indexer.common import Floats, unit
from indexer.topics.models.base import TopicFit, mapped_unit

LEARNED = 0.25  # weight of an example, against 1 for what a topic is without any


def followed(
    corrections: Iterable[Correction], lineage: Sequence[LineageEntry], topics: Collection[str]
) -> Iterator[Correction]:
    """The corrections of topics that there are now; that of a topic that is gone goes to what has most of it.

    Args:
        lineage: What became of the topics that the corrections name.
        topics: Ids of those that documents may have.
    """
    leads: dict[str, tuple[float, str]] = {}
    for entry in lineage:
        if entry.old_id and entry.new_id and entry.new_id in topics:
            leads[entry.old_id] = max(leads.get(entry.old_id, (-1.0, "")), (entry.score or 0.0, entry.new_id))
    for one in corrections:
        if one.topic in topics:
            yield one
        elif one.topic in leads:
            yield replace(one, topic=leads[one.topic][1])


def learned(begun: Floats, examples: Sequence[Floats | None], fit: TopicFit) -> Floats:
    """Directions moved towards the documents that users have given to them: float32 [n, p], unit length.

    Args:
        begun: float32 [n, p], unit length. examples: float32 [m, dims] of each, or None.
    """
    moved = begun.copy()
    for at, vectors in enumerate(examples):
        if vectors is not None:
            moved[at] += LEARNED * mapped_unit(vectors, fit.mean, fit.projection).sum(axis=0)
    return unit(moved)


def taught(fit: TopicFit, topics: Sequence[str], examples: Mapping[str, Floats]) -> TopicFit:
    """The fit with the directions of these topics moved to their examples.

    Args:
        topics: Of each direction.
    """
    if not examples.keys() & set(topics):
        return fit
    return replace(fit, mapped=learned(fit.mapped, [examples.get(topic) for topic in topics], fit))


def given_topics(said: Mapping[str, bool]) -> list[tuple[str, float]] | None:
    """The topics that a user has given to a document, and no others: (id, share); None where there are none."""
    given = sorted(topic for topic, belongs in said.items() if belongs)
    return [(topic, 1 / len(given)) for topic in given] or None
