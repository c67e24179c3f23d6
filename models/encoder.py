"""The encoder: windows and phrases in, unit vectors out. Batches, order and memory; the network is a backend's."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from indexer.keyphrases.ranker import Ranker
from indexer.protocols import Encoding, Window
from models.backends import Backend, Batch, Floats, Ints, Output
from models.bundle import Bundle
from models.pooling import Span, normalised, pool, sums, touched
from models.tokens import TokenizerFile
from models.weights import KEYPHRASES, read_heads

REMEMBERED_PHRASES = 20_000  # 30 MB at 384 dims
MENTION_PIECES = 30  # of an entity, at most; LUKE's tokenizer cuts there too


class WindowEncoder:
    """Implements `indexer.protocols.Encoder` over any backend. Thread-safe for reading.

    Args:
        ranker: What the bundle has learned of keyphrases; None does without.
    """

    def __init__(self, bundle: Bundle, backend: Backend, ranker: Ranker | None = None) -> None:
        self._bundle = bundle
        self._backend = backend
        self._words = TokenizerFile(bundle.base_folder / "tokenizer.json")
        self._weights = read_heads(bundle).get(KEYPHRASES)
        self.ranker = ranker
        self._phrases: OrderedDict[str, Floats] = OrderedDict()  # least recently used first
        self._lock = threading.Lock()

    @property
    def dims(self) -> int:
        return self._backend.dims

    @property
    def bundle(self) -> str:
        """Provenance of every vector, e.g. ``minilm-base@1f0c9a2b+onnx-int8``."""
        return f"{self._bundle.name}@{self._bundle.fingerprint[:8]}+{self._backend.name}"

    @property
    def window_tokens(self) -> int:
        """Longest window, in word pieces without the special ones."""
        return self._bundle.window_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Word pieces of each text, without special ones."""
        return self._words.count(texts)

    def encode(self, windows: Sequence[Window]) -> list[Encoding]:
        """Encode windows, in the order given.

        The same windows in the same call give the same vectors, bit for bit. In another call a padding backend
        may put them together with other windows, and the last digits may differ.

        Raises:
            ValueError: A window is longer than `window_tokens`; the message has its position and length.
        """
        pieces = self._words.split([window.text for window in windows])
        for position, found in enumerate(pieces):
            if len(found) > self.window_tokens:
                raise ValueError(
                    f"Window {position} has {len(found)} word pieces; the encoder takes {self.window_tokens}. "
                    "Cut texts into windows first (count_tokens): nothing is cut here."
                )
        encodings: dict[int, Encoding] = {}
        first = len(self._words.prefix)
        spans = [touched(found, window.spans) for found, window in zip(pieces, windows, strict=True)]

        def keep(members: list[int], batch: Batch, output: Output) -> None:
            for row, at in enumerate(members):
                inside = slice(first, first + len(pieces[at]))
                received = output.received[row, inside]
                if batch.entities is None:
                    mentions = sums(spans[at], output.tokens[row, inside])
                else:
                    mentions = output.tokens[row, : len(spans[at])]
                encodings[at] = pool(spans[at], len(pieces[at]), output.document[row], mentions, received)

        self._run([found.ids for found in pieces], keep, spans=spans, attention=True)
        return [encodings[at] for at in range(len(windows))]

    def relevance(self, phrases: Floats, document: Floats) -> Floats:
        """How well phrases speak for their text; see `indexer.protocols.Encoder`."""
        if self._weights is not None:
            document = np.asarray(self._weights.T @ document, np.float32)
        found: Floats = phrases @ document
        return found

    def encode_phrases(self, texts: Sequence[str]) -> Floats:
        """Encode phrases standing alone, comparable with the vectors of mentions.

        Each distinct phrase is encoded once and remembered. Texts longer than a window are split, and the mean
        of the parts is taken, weighted by their length.

        Returns:
            float32 [len(texts), dims], unit length, in the order given.
        """
        found: dict[str, Floats] = {}
        with self._lock:
            for text in texts:
                if text in self._phrases:
                    self._phrases.move_to_end(text)
                    found[text] = self._phrases[text]
        new = [text for text in dict.fromkeys(texts) if text not in found]
        vectors = self._pooled(new, self._phrase_means, whole=True)
        found.update(zip(new, vectors, strict=True))
        with self._lock:
            self._phrases.update((text, found[text].copy()) for text in new)  # a copy: not the whole batch
            while len(self._phrases) > REMEMBERED_PHRASES:
                self._phrases.popitem(last=False)
        return np.stack([found[text] for text in texts]) if texts else vectors

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        """Encode texts standing alone as documents are: what to search document vectors with.

        Texts longer than a window are split, and the mean of the parts is taken, weighted by their length.

        Returns:
            float32 [len(texts), dims], unit length, in the order given.
        """
        return self._pooled(texts, lambda _, output: output.document)

    def _phrase_means(self, batch: Batch, output: Output) -> Floats:
        """Mean over the tokens of each row, the special ones only where the bundle says so; or its one entity."""
        if batch.entities is not None:
            return output.tokens[:, 0]
        shares = _shares(batch.mask, batch.words, specials=self._bundle.pooling.phrase_specials)
        means: Floats = np.einsum("bl,bld->bd", shares, output.tokens)
        return means

    def _pooled(
        self, texts: Sequence[str], means: Callable[[Batch, Output], Floats], *, whole: bool = False
    ) -> Floats:
        """Encode texts of any length, one vector each. `whole`: each of them is a mention."""
        parts: list[Ints] = []
        owners: list[int] = []
        for at, ids in enumerate(self._words.ids(texts)):
            for start in range(0, max(1, len(ids)), self.window_tokens):
                parts.append(ids[start : start + self.window_tokens])
                owners.append(at)
        found = np.zeros((len(parts), self.dims), dtype=np.float32)

        def keep(members: list[int], batch: Batch, output: Output) -> None:
            found[members] = normalised(means(batch, output))

        spans = [[(0, len(part))] for part in parts] if whole else None
        self._run(parts, keep, spans=spans, attention=False)
        vectors = np.zeros((len(texts), self.dims), dtype=np.float32)
        for owner, part, vector in zip(owners, parts, found, strict=True):
            vectors[owner] += max(1, len(part)) * vector
        return normalised(vectors)

    def _run(
        self,
        texts: Sequence[Ints],
        keep: Callable[[list[int], Batch, Output], None],
        *,
        spans: Sequence[Sequence[Span]] | None = None,
        attention: bool,
    ) -> None:
        """Run texts of like length together; `keep` gets the positions of each batch, the batch and its output.

        `keep` runs in the thread of its batch, and no two batches share a position.

        Args:
            spans: The word pieces (first, one past the last) of the mentions of each text, for a bundle whose
                mentions are entities.
        """
        lengths = [len(ids) + self._words.specials for ids in texts]
        groups = batches(lengths, self._backend.batch_tokens, pads=self._backend.pads)

        def one(members: list[int]) -> None:
            batch = self._padded([texts[at] for at in members])
            if spans is not None and self._bundle.pooling.mentions == "entities":
                batch = replace(batch, entities=self._entities([spans[at] for at in members]))
            keep(members, batch, self._backend.run(batch, attention=attention))

        workers = min(self._backend.workers, len(groups))
        if workers <= 1:
            for members in groups:
                one(members)
            return
        # Threads for this call only: they cost 0.1 ms, and none is left behind for a later fork.
        with ThreadPoolExecutor(workers) as pool_of_threads:
            list(pool_of_threads.map(one, groups))  # the list raises what a thread raised

    def _padded(self, texts: Sequence[Ints]) -> Batch:
        """Put special tokens around each text and pad all to the longest."""
        prefix, suffix = self._words.prefix, self._words.suffix
        length = max(len(ids) for ids in texts) + len(prefix) + len(suffix)
        ids = np.full((len(texts), length), self._words.padding, dtype=np.int64)
        mask = np.zeros((len(texts), length), dtype=np.int64)
        words = np.zeros((len(texts), length), dtype=np.float32)
        for row, text in enumerate(texts):
            whole = np.concatenate([prefix, text, suffix])
            ids[row, : len(whole)] = whole
            mask[row, : len(whole)] = 1
            words[row, len(prefix) : len(prefix) + len(text)] = 1
        return Batch(ids, mask, words, _shares(mask, words, specials=self._bundle.pooling.document_specials))

    def _entities(self, texts: Sequence[Sequence[Span]]) -> Ints:
        """Places of the mentions in the rows of a batch, see `models.backends.Batch`.

        A text without mentions gets one that stands nowhere, and so does a mention without word pieces.
        """
        first = len(self._words.prefix)
        most = max(1, max(map(len, texts)))
        places = np.full((len(texts), most, MENTION_PIECES), -1, dtype=np.int64)
        for row, spans in enumerate(texts):
            for at, (start, end) in enumerate(spans):
                length = max(0, min(end - start, MENTION_PIECES))
                places[row, at, :length] = np.arange(first + start, first + start + length)
        return places


def _shares(mask: Ints, words: Floats, *, specials: bool) -> Floats:
    """Weights of a mean over tokens.

    Returns:
        float32 [batch, length], rows sum to 1. A row without any word piece takes its special tokens: an empty
        text has a vector too.
    """
    wordless = words.sum(axis=1, keepdims=True) == 0
    kept = np.where(wordless | specials, mask, words).astype(np.float32)
    shares: Floats = kept / kept.sum(axis=1, keepdims=True)
    return shares


def batches(lengths: Sequence[int], budget: int, *, pads: bool) -> list[list[int]]:
    """Group positions by length, so that little is padded.

    Args:
        lengths: Tokens of each text.
        budget: Tokens of one batch, padding included. A longer text gets a batch of its own.
        pads: Whether a batch may hold different lengths.

    Returns:
        Positions, longest first. The same lengths always give the same groups.
    """
    groups: list[list[int]] = []
    longest = 0
    for at in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        full = not groups or longest * (len(groups[-1]) + 1) > budget
        if full or (lengths[at] != longest and not pads):
            groups.append([])
            longest = lengths[at]
        groups[-1].append(at)
    return groups
