"""Samples that depend on ids alone: the same documents give the same sample, in whatever order they came."""

from __future__ import annotations

import hashlib


def shuffled(id_: str) -> tuple[bytes, str]:
    """Where an id stands in an order that has nothing to do with its letters."""
    return hashlib.sha1(id_.encode("utf-8", "surrogatepass")).digest(), id_
