"""The topic models by name, and the request of a command for topics.

A topic model is a function of a `Sample` and the number of topics (None: the model chooses) that returns a `TopicFit`: a
linear map of phrases mixed with their documents, and a direction there for each topic. Assigning, voting, labels, lineage
and `topics why` are therefore the same for all. Users name their own function by its dotted path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self, cast

from indexer.common import DOTTED_PATH, dotted_path, import_object
from indexer.errors import SettingsError
from indexer.topics.levels import Levels
from indexer.topics.models.base import Sample, TopicFit

TopicModel = Callable[[Sample, int | None], TopicFit]

DEFAULT = "clusters"
TOPIC_MODELS: Mapping[str, str] = {
    DEFAULT: "indexer.topics.models.clusters.fit",
    "pntm": "indexer.topics.models.pntm.fit",
    "documents": "indexer.topics.models.documents.fit_documents",
}

_REQUEST = re.compile(rf"(?P<model>[a-z][a-z0-9_-]*|{DOTTED_PATH})(:(?P<both>\d+))?|(?P<alone>\d+)")


def topic_model(name: str) -> TopicModel:
    """Import a topic model.

    Args:
        name: A name in `TOPIC_MODELS`, or a dotted path.

    Raises:
        SettingsError: It cannot be imported, or cannot be called.
    """
    found = import_object(TOPIC_MODELS.get(name, name))
    if not callable(found):
        raise SettingsError(f"The topic model '{name}' is not a function.")
    return cast(TopicModel, found)


@dataclass(frozen=True)
class TopicRequest:
    """How to find topics.

    Attributes:
        model: A name in `TOPIC_MODELS` or a dotted path; empty: the one of the current topics, or the default.
        number: How many topics, from 2; None leaves it to the texts, or to the current topics.
        levels: The levels above them.
    """

    model: str = ""
    number: int | None = None
    levels: Levels = field(default_factory=Levels)

    @classmethod
    def read(cls, text: str | int | None, levels: str | int | None = None) -> Self:
        """Read ``40``, ``clusters``, ``clusters:40`` or ``my_package.my_topic_model:40``; None requests nothing.

        Args:
            levels: See `Levels.read`.

        Raises:
            SettingsError: It is none of these, or the function cannot be imported, or levels contradict the number.
        """
        above = Levels.read(levels)
        if text is None:
            return cls("", above.topics, above)
        found = _REQUEST.fullmatch(str(text))
        model = found["model"] or "" if found else ""
        number = found["both"] or found["alone"] if found else None
        known = model in ("", *TOPIC_MODELS) or "." in model
        if not found or not known or int(number or 2) < 2:
            raise SettingsError(
                f"The requested topics are '{text}'; it must be a number from 2, one of {', '.join(TOPIC_MODELS)}, "
                f"or both, as in {DEFAULT}:40."
            )
        if "." in model:
            topic_model(model)
        if number and above.topics not in (None, int(number)):
            raise SettingsError(f"{number} topics are requested, and levels that end with {above.topics}.")
        return cls(model, int(number) if number else above.topics, above)

    def or_model(self, model: TopicModel | None) -> Self:
        """The same request, with this model where it names none."""
        return replace(self, model=self.model or dotted_path(model)) if model else self
