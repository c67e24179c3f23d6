"""A user without the rights of root, who may look into every folder and write everywhere."""

from __future__ import annotations

import os
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def as_another_user():
    """Inside the block, permissions count, also for root."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
