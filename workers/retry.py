"""Waiting: for a catalog that is being restarted, and between two tries of a batch."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from indexer.errors import CatalogError
from indexer.log import get_logger

T = TypeVar("T")

RESTART = 90.0  # seconds that a restart of the catalog's server may take; less than a lease
FIRST, MAX_LENGTH = 2.0, 300.0  # seconds that a batch is put off


def retry_until_available(
    work: Callable[[], T], *, seconds: float = RESTART, pause: Callable[[float], None] = time.sleep
) -> T:
    """Do work with the catalog that may be done twice; wait for a catalog that is away.

    Raises:
        CatalogError: It did not come back, or somebody else holds a lock.
    """
    left, delay = seconds, 0.25
    while True:
        try:
            return work()
        except CatalogError as error:
            if left <= 0 or "holder" in error.facts:
                raise
            get_logger(__name__).warning("catalog_waiting", seconds=round(delay, 2), reason=str(error))
            pause(delay)
            left -= delay
            delay = min(2 * delay, 5.0)


def postpone(tries: int) -> float:
    """Seconds before a batch is tried again: growing, and never the same for two of them."""
    return float(min(FIRST * 2.0**tries, MAX_LENGTH) * random.uniform(0.5, 1.0))
