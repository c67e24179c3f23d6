"""An encoder that needs no model: each word has a fixed random vector, texts are means of their words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache

import numpy as np

from indexer.common import Floats, unit
from indexer.keyphrases.ranker import Ranker
from indexer.protocols import Encoding, Window

WORD = re.compile(r"\w+")


@cache
def random_direction(word: str, dims: int) -> Floats:
    seed = int.from_bytes(hashlib.sha1(word.encode()).digest()[:4], "big")
    return unit(np.random.default_rng(seed).normal(size=dims))


class HashEncoder:
    """Implements `indexer.protocols.Encoder`. A word is a word piece; a word receives attention by its length."""

    dims = 16
    window_tokens = 24
    bundle = "hash@00000000+test"
    ranker: Ranker | None = None

    def __init__(self) -> None:
        self.windows: list[Window] = []  # everything that was encoded, for tests to look at

    def vector(self, word: str) -> Floats:
        return random_direction(word.lower(), self.dims)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(WORD.findall(text)) for text in texts]

    def encode(self, windows: Sequence[Window]) -> list[Encoding]:
        self.windows += windows
        return [self._encode(window) for window in windows]

    def _encode(self, window: Window) -> Encoding:
        words = WORD.findall(window.text)
        if len(words) > self.window_tokens:
            raise ValueError(f"{len(words)} words do not fit in a window of {self.window_tokens}")
        spans = [window.text[start:end] for start, end in window.spans]
        return Encoding(
            document=self._mean(window.text),
            tokens=len(words),
            mentions=np.stack([self._mean(s) for s in spans])
            if spans
            else np.zeros((0, self.dims), np.float32),
            attention=np.array([len(span) for span in spans], np.float32),
        )

    def _mean(self, text: str) -> Floats:
        words = WORD.findall(text) or ["nothing"]
        return unit(np.mean([self.vector(word) for word in words], axis=0))

    def relevance(self, phrases: Floats, document: Floats) -> Floats:
        found: Floats = phrases @ document
        return found

    def encode_phrases(self, texts: Sequence[str]) -> Floats:
        return np.stack([self._mean(text) for text in texts])

    encode_texts = encode_phrases


class OtherEncoder(HashEncoder):
    """Another space: every word lies elsewhere."""

    bundle = "other@00000000+test"

    def vector(self, word: str) -> Floats:
        return super().vector(f"other {word}")
