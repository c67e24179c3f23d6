"""Waiting for a server that is away."""

from __future__ import annotations

import pytest

from indexer.errors import BrokerUnavailable, CatalogError, SearchError
from workers.retry import retry_until_available


@pytest.mark.parametrize("error", [BrokerUnavailable("The broker does not answer."), CatalogError("Away.")])
def test_a_server_that_comes_back_in_time_is_no_error(error, capsys):
    answers, pauses = [error, error, None], []

    def ask() -> str:
        if found := answers.pop(0):
            raise found
        return "there"

    assert retry_until_available(ask, seconds=10, pause=pauses.append) == "there"
    assert pauses == [0.25, 0.5]
    assert capsys.readouterr().err.count("_waiting") == 2


def test_one_that_stays_away_is_and_other_errors_are_at_once():
    pauses: list[float] = []

    def away() -> None:
        raise BrokerUnavailable("The broker does not answer.")

    with pytest.raises(BrokerUnavailable):
        retry_until_available(away, seconds=2, pause=pauses.append)
    assert pauses == [0.25, 0.5, 1.0, 2.0]  # 1.75 seconds are not over 2 yet

    def refused() -> None:
        raise SearchError("No.")

    with pytest.raises(SearchError):
        retry_until_available(refused, pause=pauses.append)
    assert len(pauses) == 4
