"""Backends run the network of a bundle, all behind one protocol. Each imports its library; this file imports none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """Token ids of a few texts, padded to one length.

    Attributes:
        ids: int64 [batch, length], special tokens included; padding is at the end.
        mask: int64 [batch, length]; 1 for a token, 0 for padding.
        words: float32 [batch, length]; 1 for a word piece, 0 for special tokens and padding.
        shares: float32 [batch, length], weight of each token in the document vector; a row sums to 1.
        entities: int64 [batch, mentions, pieces], for bundles whose mentions are entities: the places in the row
            that each mention takes, padded with -1. None for the others.
    """

    ids: Ints
    mask: Ints
    words: Floats
    shares: Floats
    entities: Ints | None = None


@dataclass(frozen=True)
class Output:
    """What one pass gives.

    Attributes:
        document: float32 [batch, dims], mean over tokens of the bundle's document layers. Not normalised.
        tokens: float32 [batch, length, dims], mean of the bundle's span layers; with `Batch.entities`
            [batch, mentions, dims], of the entities.
        received: float32 [batch, length], attention that each word piece gets from the other word pieces
            and itself, summed over heads and layers; 0 for special tokens and padding.
    """

    document: Floats
    tokens: Floats
    received: Floats


class Backend(Protocol):
    """Runs the network of one bundle. Thread-safe."""

    @property
    def name(self) -> str: ...

    @property
    def dims(self) -> int: ...

    @property
    def batch_tokens(self) -> int:
        """Padded tokens in one pass that suit it: more costs cache misses, fewer costs overhead."""
        ...

    @property
    def pads(self) -> bool:
        """Whether texts of different lengths may share a batch."""
        ...

    @property
    def workers(self) -> int:
        """How many passes at once it is fastest with."""
        ...

    def run(self, batch: Batch, *, attention: bool = True) -> Output:
        """Run the network once. Without `attention`, `received` may be all 0, and the pass may be faster."""
        ...
