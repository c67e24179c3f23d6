"""The ways to find topics, by name, and what a command asks of them.

Every finder ends in a `TopicFit`: a linear map of phrases mixed with their documents, and a direction there for each
topic. So placing, voting, labels, lineage and `topics why` are the same for all. Another finder is a function and a line
in `TOPIC_MODELS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from indexer.errors import SettingsError
from indexer.topics.models import pntm
from indexer.topics.models.base import Sample, TopicFit
from indexer.topics.models.clusters import fit
from indexer.topics.models.documents import fit_documents

DEFAULT = "clusters"
TOPIC_MODELS: Mapping[str, Callable[[Sample, int | None], TopicFit]] = {
    DEFAULT: fit,
    "pntm": pntm.fit,
    "documents": fit_documents,
}

_REQUEST = re.compile(r"(?P<finder>[a-z]+)(:(?P<both>\d+))?|(?P<alone>\d+)")


@dataclass(frozen=True)
class TopicRequest:
    """How topics should be found.

    Attributes:
        finder: A name in `TOPIC_MODELS`; empty: as the topics there are, or the default.
        number: How many topics, from 2; None leaves it to the texts, or to the topics there are.
    """

    finder: str = ""
    number: int | None = None

    @classmethod
    def read(cls, said: str | int | None) -> Self:
        """``40``, ``clusters`` or ``clusters:40``; None asks for nothing.

        Raises:
            SettingsError: It is none of these.
        """
        if said is None:
            return cls()
        found = _REQUEST.fullmatch(str(said))
        finder = found["finder"] or "" if found else ""
        number = found["both"] or found["alone"] if found else None
        if not found or (finder or DEFAULT) not in TOPIC_MODELS or int(number or 2) < 2:
            raise SettingsError(
                f"The topics asked for are '{said}'; it must be a number from 2, one of {', '.join(TOPIC_MODELS)}, "
                f"or both, as in {DEFAULT}:40."
            )
        return cls(finder, int(number) if number else None)
