from __future__ import annotations

import inspect
import json
import pickle

import pytest

from indexer import errors
from indexer.errors import IndexerError

CLASSES = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, IndexerError) and found.__module__ == errors.__name__
]
MESSAGE = "notes.jsonl:17: \"text\" is missing. Found: id, 'title'."


def test_all_errors_have_one_base_and_stand_in_the_drawn_tree() -> None:
    assert len(CLASSES) > 10
    drawn = (errors.__doc__ or "").split()
    assert [kind.__name__ for kind in CLASSES if kind.__name__ not in drawn] == []


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_survives_pickle_whole(kind: type[IndexerError]) -> None:
    """Pickle is how multiprocessing hands errors over; nothing is ever stored that way."""
    error = kind(MESSAGE, hint="Add it.", command="Run: indexer", line=17, found=["id", "title"])
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == MESSAGE
    assert (again.hint, again.command) == ("Add it.", "Run: indexer")
    assert again.facts == {"line": 17, "found": ["id", "title"]}


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_can_be_rebuilt_from_its_arguments(kind: type[IndexerError]) -> None:
    """Celery's JSON backend keeps `args` and calls `cls(*args)`."""
    arguments = json.loads(json.dumps(kind(MESSAGE, hint="Add it.", line=17).args))
    again = kind(*arguments)
    assert str(again) == MESSAGE
    assert again.hint == ""
    assert again.facts == {}


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_says_when_it_is_raised_and_how_the_program_ends(kind: type[IndexerError]) -> None:
    assert kind.__doc__
    assert kind.exit_code in (1, 2)
    assert isinstance(kind.retryable, bool)
