"""Retries: of calls while the catalog or the broker is away, and the backoff between two tries of a batch."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from indexer.errors import BrokerUnavailable, CatalogError
from indexer.log import get_logger

T = TypeVar("T")

RESTART = 90.0  # seconds for a restart of the catalog's server; less than a lease
FIRST_DELAY_S, MAX_DELAY_S = 2.0, 300.0  # of a batch


def retry_until_available(
    work: Callable[[], T], *, seconds: float = RESTART, pause: Callable[[float], None] = time.sleep
) -> T:
    """Call an idempotent function that uses the catalog or the broker; retry while that cannot be reached.

    Raises:
        CatalogError, BrokerUnavailable: It did not come back, or another process holds a lock.
    """
    left, delay = seconds, 0.25
    while True:
        try:
            return work()
        except (CatalogError, BrokerUnavailable) as error:
            if left <= 0 or "holder" in error.facts:
                raise
            server = "catalog" if isinstance(error, CatalogError) else "broker"
            get_logger(__name__).warning(f"{server}_waiting", seconds=round(delay, 2), reason=str(error))
            pause(delay)
            left -= delay
            delay = min(2 * delay, 5.0)


def backoff(tries: int) -> float:
    """Seconds before a batch is tried again: exponential, with jitter."""
    return float(min(FIRST_DELAY_S * 2.0**tries, MAX_DELAY_S) * random.uniform(0.5, 1.0))
