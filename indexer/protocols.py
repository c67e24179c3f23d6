"""Protocols that the core takes from its callers: an encoder (`Encoder`), and a callback for progress (`Progress`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from indexer.common import Floats

if TYPE_CHECKING:
    from indexer.keyphrases.ranker import Ranker


@dataclass(frozen=True)
class Window:
    """Text to encode in one pass, with the spans whose vectors are requested.

    `spans` are character offsets (start, end) into `text`; they may overlap and need no order.
    A window has at most `Encoder.window_tokens` tokens; a longer one raises, it is never truncated.
    """

    text: str
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Encoding:
    """One pass over one window.

    Attributes:
        document: float32 [dims], unit length: the window's own vector.
        tokens: Number of tokens in the window, without special ones; the weight when windows are averaged.
        mentions: float32 [n, dims], unit length, one row per span, in the order of the spans.
        attention: float32 [n], attention received, summed over heads, the layers that the bundle names, and tokens.
    """

    document: Floats
    tokens: int
    mentions: Floats
    attention: Floats


class Encoder(Protocol):
    """Turns windows and phrases into unit vectors. Thread-safe for reading; loaded once per process."""

    @property
    def dims(self) -> int: ...

    @property
    def bundle(self) -> str:
        """Provenance of every vector: bundle name, fingerprint and backend, e.g. ``minilm-base@1f0c9a2b+onnx-int8``."""
        ...

    @property
    def window_tokens(self) -> int:
        """Longest window, in tokens without the special ones."""
        ...

    @property
    def ranker(self) -> Ranker | None:
        """The trained keyphrase ranker of the bundle (`indexer train simckp`), if it has one."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, without special ones."""
        ...

    def encode(self, windows: Sequence[Window]) -> list[Encoding]:
        """Encode windows, in the order given. The same windows in the same call give the same vectors."""
        ...

    def relevance(self, phrases: Floats, document: Floats) -> Floats:
        """Relevance of phrases to their text: cosines, or as the bundle has learned to weigh them (SEKE 2022, eq. 4).

        Args:
            phrases: float32 [n, dims], unit length. document: float32 [dims], unit length.

        Returns:
            float32 [n].
        """
        ...

    def encode_phrases(self, texts: Sequence[str]) -> Floats:
        """Encode phrases without context, comparable with `Encoding.mentions`: float32 [texts, dims], unit length."""
        ...

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        """Encode texts or queries, comparable with `Encoding.document`: float32 [len(texts), dims], unit length."""
        ...


class Paused(Exception):
    """Raised by a progress callback to stop the run. The same call resumes it."""


class Progress(Protocol):
    """Callback for the progress of a stage; `total` is None when it is unknown. ``stage: more`` adds a detail.

    ``note: sentence`` is not a stage, but a message to print once.
    """

    def __call__(self, stage: str, done: int, total: int | None) -> None: ...


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Ignore the progress."""
