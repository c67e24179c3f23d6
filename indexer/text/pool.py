"""The prepare step in worker processes, so that tagging keeps up with the encoder.

Workers are spawned, not forked: the parent may hold a CUDA context or threads, and neither survives a fork.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context, parent_process
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from indexer.errors import IndexerError, InputError
from indexer.processes import end_with_parent, limit_memory, main_left_alone
from indexer.records import Document, Mention, Prepared, Sentence
from indexer.text.prepare import Preparer

SECONDS, CHARACTERS = 60.0, 500_000  # that tagging may take: once, and again for so many characters
MEMORY = 6_000_000_000  # bytes, of a process

Chunk = Sequence[Document]
Outcome = Prepared | InputError


class PreparePool:
    """Prepares chunks of documents in `workers` processes; 0 means in this one, as for a tagger given as an object.

    Example:
        with PreparePool(4) as pool:
            for documents, prepared, seconds in pool.prepare_chunks(chunks):
                ...
    """

    def __init__(self, workers: int, tagger: str | Preparer = "auto", *, seconds: float = SECONDS) -> None:
        self.workers = workers if isinstance(tagger, str) else 0
        self.tagger = tagger
        self._seconds = seconds
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> PreparePool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._stop()
        else:
            self._kill()  # Ctrl-C does not wait for a long document

    def prepare_chunks(
        self, chunks: Iterable[Chunk], *, ahead: int = 4
    ) -> Iterator[tuple[Chunk, list[Outcome], float]]:
        """Yield each chunk with what was found in its documents, in the order given.

        A document that the tagger fails on has an `InputError` in the place of its `Prepared`; the others of
        its chunk are not lost, not even when the worker process died of it.

        Args:
            chunks: Read only as far as needed: never more than `ahead` chunks are in flight.
            ahead: At least the number of workers, or some of them idle.

        Yields:
            The chunk, one outcome for each of its documents, and the CPU seconds that the tagging took.

        Raises:
            SettingsError: The tagger cannot be loaded.
        """
        if not self.workers:
            for chunk in chunks:
                packed = _prepare(self.tagger, _texts(chunk))
                yield chunk, packed.unpack(), packed.seconds
            return
        waiting: deque[tuple[Chunk, ProcessPoolExecutor, Future[Packed]]] = deque()
        for chunk in chunks:
            waiting.append(self._submit(chunk))
            if len(waiting) >= ahead:
                yield self._finish(*waiting.popleft())
        while waiting:
            yield self._finish(*waiting.popleft())

    def _submit(self, chunk: Chunk) -> tuple[Chunk, ProcessPoolExecutor, Future[Packed]]:
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self.workers,
                mp_context=get_context("spawn"),
                initializer=_start_worker,
                initargs=(os.getpid(),),
            )
        try:
            with main_left_alone():  # processes start when there is work for them, that is here
                future = self._executor.submit(_prepare, self.tagger, _texts(chunk))
            return chunk, self._executor, future
        except BrokenProcessPool:  # noticed here before anybody asked for the result
            self._executor = None
            return self._submit(chunk)

    def _finish(
        self, chunk: Chunk, executor: ProcessPoolExecutor, future: Future[Packed]
    ) -> tuple[Chunk, list[Outcome], float]:
        try:
            packed = future.result(self._allowed(chunk))
            return chunk, packed.unpack(), packed.seconds
        except (BrokenProcessPool, TimeoutError):
            if executor is self._executor:
                self._kill()
        # A worker died, or was ended, and with it everything in flight. Alone, only the culprit can do that again.
        outcomes: list[Outcome] = []
        seconds = 0.0
        for document in chunk:
            _, executor, future = self._submit([document])
            try:
                packed = future.result(self._allowed([document]))
                outcomes += packed.unpack()
                seconds += packed.seconds
            except (BrokenProcessPool, TimeoutError) as error:
                self._kill()
                died = "the tagging process died of this document."
                slow = (
                    f"tagging it takes more than {self._allowed([document]):,.0f} seconds (tagging_timeout)."
                )
                reason = f"{_where(document)}: {died if isinstance(error, BrokenProcessPool) else slow}"
                outcomes.append(InputError(reason, document_id=document.id))
        return chunk, outcomes, seconds

    def _allowed(self, chunk: Chunk) -> float:
        return allowed(chunk, self._seconds)

    def _kill(self) -> None:
        """End the processes at once, whatever they do."""
        for process in list(((self._executor and self._executor._processes) or {}).values()):
            process.kill()
        self._stop()

    def _stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


def allowed(chunk: Chunk, seconds: float) -> float:
    """Return the seconds that the tagging of these documents may take together."""
    return seconds * (1 + sum(len(document.content) for document in chunk) / CHARACTERS)


def prepare_here(tagger: str, documents: Sequence[Document], *, alone: bool) -> list[Outcome]:
    """Prepare documents in this process; one that the tagger fails on has an `InputError` in its place.

    Args:
        alone: This process does nothing but that, so the tagger is loaded without torch.
    """
    with without_torch() if alone and not tagger.endswith("_trf") else nullcontext():
        return _prepare(tagger, _texts(documents)).unpack()


def preparer_here(tagger: str) -> Preparer:
    """The tagger of this process, loaded once for all who need it."""
    return _preparer(tagger)


@dataclass(frozen=True)
class Packed:
    """Outcomes on their way between processes: a few arrays instead of thousands of small objects."""

    counts: NDArray[np.int32]  # [documents, 2]: sentences and mentions of each
    sentences: NDArray[np.int32]  # [all sentences, 2]: start, end
    mentions: NDArray[np.int32]  # [all mentions, 2]: start, end
    phrases: str  # of all mentions, one per line; a normal form has no line break
    errors: dict[int, InputError]  # by position of the document
    seconds: float  # CPU time

    @classmethod
    def pack(cls, outcomes: Sequence[Outcome], seconds: float) -> Packed:
        found = [Prepared((), ()) if isinstance(outcome, InputError) else outcome for outcome in outcomes]
        mentions = [mention for prepared in found for mention in prepared.mentions]
        return cls(
            counts=_pairs([(len(prepared.sentences), len(prepared.mentions)) for prepared in found]),
            sentences=_pairs([(s.start, s.end) for prepared in found for s in prepared.sentences]),
            mentions=_pairs([(mention.start, mention.end) for mention in mentions]),
            phrases="\n".join(mention.phrase for mention in mentions),
            errors={at: outcome for at, outcome in enumerate(outcomes) if isinstance(outcome, InputError)},
            seconds=seconds,
        )

    def unpack(self) -> list[Outcome]:
        sentences = iter([Sentence(start, end) for start, end in self.sentences.tolist()])
        places = zip(self.mentions.tolist(), self.phrases.split("\n"), strict=False)
        mentions = iter([Mention(start, end, phrase) for (start, end), phrase in places])
        outcomes: list[Outcome] = []
        for position, (sentence_count, mention_count) in enumerate(self.counts.tolist()):
            prepared = Prepared(
                tuple(next(sentences) for _ in range(sentence_count)),
                tuple(next(mentions) for _ in range(mention_count)),
            )
            outcomes.append(self.errors.get(position, prepared))
        return outcomes


def _pairs(values: Sequence[tuple[int, int]]) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32).reshape(-1, 2)


def _texts(chunk: Chunk) -> list[Document]:
    """The documents without the user's fields, which the worker does not need."""
    return [
        Document(document.id, document.text, document.title, source=document.source) for document in chunk
    ]


def _where(document: Document) -> str:
    return document.source or f"document {document.id!r}"


# ---- in the worker


def _start_worker(parent: int) -> None:
    end_with_parent(parent)
    limit_memory(MEMORY)


@contextmanager
def without_torch() -> Iterator[None]:
    """Make `import torch` fail inside the block, unless it is already loaded.

    spaCy imports torch through thinc where it can, only to offer it. The tagger computes with numpy; without
    torch a worker starts seconds earlier and needs a few hundred megabytes less. For processes that do
    nothing but tag: another thread that imports torch at this moment would fail. (An entry left in
    `sys.modules` would break scipy, which looks there; so it is taken out again.)
    """
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]


@cache
def _preparer(tagger: str) -> Preparer:
    in_worker = parent_process() is not None
    with without_torch() if in_worker and not tagger.endswith("_trf") else nullcontext():
        return Preparer(tagger)


def _prepare(tagger: str | Preparer, documents: Sequence[Document]) -> Packed:
    preparer = _preparer(tagger) if isinstance(tagger, str) else tagger
    began = time.process_time()
    try:
        outcomes: list[Outcome] = list(preparer.prepare(documents))
    except Exception:  # whichever document it was, the others must not be lost
        outcomes = [_prepare_one(preparer, document) for document in documents]
    return Packed.pack(outcomes, time.process_time() - began)


def _prepare_one(preparer: Preparer, document: Document) -> Outcome:
    try:
        return preparer.prepare([document])[0]
    except InputError as error:
        return error
    except Exception as error:
        reason = str(error) if isinstance(error, IndexerError) else f"{type(error).__name__}: {error}"
        message = f"{_where(document)}: the text could not be tagged ({reason})."
        return InputError(message, document_id=document.id)
