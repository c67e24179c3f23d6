"""Waiting for a server that is away."""

from __future__ import annotations

import pytest

from indexer.errors import BrokerUnavailable, CatalogError, SearchError
from workers.retry import backoff, retry_until_available


@pytest.mark.parametrize(
    ("error", "server"), [(BrokerUnavailable("No answer."), "broker"), (CatalogError("Away."), "catalog")]
)
def test_a_server_that_comes_back_in_time_is_no_error(error, server, capsys):
    answers, pauses = [error, error, None], []

    def ask() -> str:
        if found := answers.pop(0):
            raise found
        return "there"

    assert retry_until_available(ask, seconds=10, pause=pauses.append) == "there"
    assert pauses == [0.25, 0.5]
    assert capsys.readouterr().err.count(f"{server}_waiting") == 2


def test_one_that_stays_away_is_and_other_errors_are_at_once():
    pauses: list[float] = []

    def away() -> None:
        raise BrokerUnavailable("The broker does not answer.")

    with pytest.raises(BrokerUnavailable):
        retry_until_available(away, seconds=2, pause=pauses.append)
    assert pauses == [0.25, 0.5, 1.0, 2.0]  # 1.75 seconds are not over 2 yet

    with pytest.raises(BrokerUnavailable):
        retry_until_available(away, seconds=12.75, pause=pauses.append)
    assert pauses[4:] == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0]  # at most 5

    def refused() -> None:
        raise SearchError("No.")

    with pytest.raises(SearchError):
        retry_until_available(refused, pause=pauses.append)
    assert len(pauses) == 10


def test_a_lock_of_another_process_is_not_waited_for():
    pauses: list[float] = []

    def locked() -> None:
        raise CatalogError("It is being written by somebody.", holder="somebody")

    with pytest.raises(CatalogError, match="somebody"):
        retry_until_available(locked, pause=pauses.append)
    assert pauses == []


@pytest.mark.parametrize(("tries", "longest"), [(0, 2.0), (3, 16.0), (99, 300.0)])
def test_a_batch_waits_twice_as_long_after_each_try_with_some_chance(tries, longest):
    found = [backoff(tries) for _ in range(100)]
    assert longest / 2 <= min(found) < max(found) <= longest
