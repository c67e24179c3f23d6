"""Phrases and their sentences on disk, from which training pairs are drawn.

UCTopic (ACL 2022, 3.1) takes two sentences that hold the same phrase as a positive pair; its phrases are the anchors of
Wikipedia. Here they are the candidates that indexing finds, so that training and use agree; or spans that come
with a file. "X and Y" and "X, Y" make a second kind of pair: things named side by side are of the same kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexer.common import batches
from indexer.errors import NotEnoughData
from indexer.records import Document, Prepared
from indexer.text import normal_form
from indexer.text.linking import coordinated, short_forms
from indexer.text.pool import PreparePool
from trainer.evaluation.lines import Line, read_lines

MAX_LENGTH = 2_000  # characters of a sentence; longer ones are lists or tables
MAX_MENTIONS = 100_000  # of one phrase; more do not help
CHUNK = 64  # documents tagged at once

Span = tuple[int, int]


@dataclass(frozen=True)
class FoundPhrases:
    """A sentence with its mentions, in order.

    Attributes:
        together: Pairs of positions in `mentions` that are named side by side.
        document: A number, the same for sentences of one text; None for a sentence without a document.
    """

    sentence: str
    mentions: tuple[Span, ...]
    together: tuple[tuple[int, int], ...] = ()
    document: int | None = None


def found_in(
    documents: Iterable[Document], *, tagger: str = "auto", workers: int = 1
) -> Iterator[FoundPhrases]:
    """Sentences of documents with the phrases that indexing would find in them; those without any are left out."""
    number = 0
    with PreparePool(workers, tagger) as pool:
        for some, outcomes, _ in pool.prepare_chunks(batches(documents, CHUNK), ahead=2 * workers + 2):
            for document, prepared in zip(some, outcomes, strict=True):
                if isinstance(prepared, Prepared):  # a text that cannot be tagged is left out
                    yield from _sentences(document.content, prepared, number)
                    number += 1


def _sentences(content: str, prepared: Prepared, document: int) -> Iterator[FoundPhrases]:
    at = 0
    for sentence in prepared.sentences:
        mentions: list[Span] = []
        while at < len(prepared.mentions) and prepared.mentions[at].start < sentence.end:
            mention = prepared.mentions[at]
            at += 1
            if mention.end <= sentence.end:
                mentions.append((mention.start - sentence.start, mention.end - sentence.start))
        if mentions and sentence.end - sentence.start <= MAX_LENGTH:
            yield _found(content[sentence.start : sentence.end], mentions, document)


def given_mentions(paths: Iterable[Path]) -> Iterator[FoundPhrases]:
    """Sentences with mentions that are known: JSON Lines with sentence, start, end; any other field is ignored.

    Raises:
        InputError: A line is not such an object.
    """
    for path in paths:
        by_sentence: dict[str, set[Span]] = {}
        for sentence, span in read_lines(path, _given):
            by_sentence.setdefault(sentence, set()).add(span)
        for sentence, spans in by_sentence.items():
            yield _found(sentence, sorted(spans))


def _given(line: Line) -> tuple[str, Span]:
    sentence, span = line.text("sentence"), (line.integer("start"), line.integer("end"))
    if not 0 <= span[0] < span[1] <= len(sentence):
        raise line.wrong(f"{span[0]} to {span[1]} is not a part of the sentence.")
    return sentence, span


def _found(sentence: str, mentions: Sequence[Span], document: int | None = None) -> FoundPhrases:
    return FoundPhrases(
        sentence,
        tuple(mentions),
        (*coordinated(sentence, mentions), *short_forms(sentence, mentions)),
        document,
    )


# -- on disk ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mined:
    """Mentions of one source, as arrays on disk that are mapped into memory.

    Attributes:
        text: uint8, all sentences in UTF-8, one after the other.
        sentences: int64 [n + 1], offset of each sentence in `text`.
        documents: int32 [n], text of each sentence; a sentence without a document has a unique number below 0.
        mentions: int32 [m, 4]: phrase, sentence, start, end (characters), sorted by phrase.
        phrases: int64 [p + 1], first mention of each phrase; those of one document are adjacent.
        together: int32 [c, 2], rows of `mentions` named side by side.
    """

    text: NDArray[np.uint8]
    sentences: NDArray[np.int64]
    documents: NDArray[np.int32]
    mentions: NDArray[np.int32]
    phrases: NDArray[np.int64]
    together: NDArray[np.int32]

    FILES = ("text", "sentences", "documents", "mentions", "phrases", "together")

    @classmethod
    def open(cls, folder: Path) -> Mined:
        """Map what `mine` wrote."""
        return cls(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in cls.FILES))

    def mention(self, row: int) -> tuple[str, Span]:
        """The sentence of a mention, and its span in it."""
        _, sentence, start, end = self.mentions[row].tolist()
        return self.sentence(sentence), (start, end)

    @property
    def size(self) -> int:
        """Number of sentences."""
        return len(self.sentences) - 1

    def sentence(self, at: int) -> str:
        first, last = self.sentences[at : at + 2].tolist()
        return self.text[first:last].tobytes().decode()

    @property
    def fingerprint(self) -> str:
        """Changes with any text or mention: 32 hexadecimal digits."""
        digest = blake2b(digest_size=16)
        for start in range(0, len(self.text), 1 << 20):
            digest.update(self.text[start : start + (1 << 20)].tobytes())
        for start in range(0, len(self.mentions), 1 << 20):
            digest.update(self.mentions[start : start + (1 << 20)].tobytes())
        return digest.hexdigest()


def mine(found: Iterable[FoundPhrases], folder: Path) -> Mined:
    """Write sentences and mentions to `folder`; sentences with the same letters and digits are taken once.

    Memory: 16 bytes for each mention and each different sentence, and each phrase once.

    Raises:
        NotEnoughData: There are no mentions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    seen: set[bytes] = set()
    names: dict[str, int] = {}
    counts: list[int] = []
    ends = [0]
    documents: list[int] = []
    rows: list[NDArray[np.int32]] = []
    together: list[tuple[int, int]] = []
    total = 0
    with (folder / "text.bin").open("wb") as file:
        for one in found:
            key = blake2b("".join(filter(str.isalnum, one.sentence.lower())).encode(), digest_size=8).digest()
            if key in seen:
                continue
            seen.add(key)
            kept: dict[int, int] = {}  # position among the sentence's mentions ► row
            for position, (start, end) in enumerate(one.mentions):
                name = normal_form(one.sentence[start:end])
                number = names.setdefault(name, len(names)) if name else -1
                if number == len(counts):
                    counts.append(0)
                if number < 0 or counts[number] >= MAX_MENTIONS:
                    continue
                counts[number] += 1
                kept[position] = total
                rows.append(np.array([number, len(ends) - 1, start, end], np.int32))
                total += 1
            together += [(kept[a], kept[b]) for a, b in one.together if a in kept and b in kept]
            documents.append(-len(ends) if one.document is None else one.document)
            ends.append(ends[-1] + file.write(one.sentence.encode("utf-8", "replace")))
    if not rows:
        raise NotEnoughData("No phrase was found in the texts.", hint="Give more text.")
    np.save(folder / "sentences.npy", np.array(ends, np.int64))
    np.save(folder / "documents.npy", np.array(documents, np.int32))
    np.save(folder / "text.npy", np.fromfile(folder / "text.bin", np.uint8))
    (folder / "text.bin").unlink()
    _save_mentions(folder, np.stack(rows), np.array(together, np.int32).reshape(-1, 2))
    return Mined.open(folder)


def _save_mentions(folder: Path, mentions: NDArray[np.int32], together: NDArray[np.int32]) -> None:
    """Sort mentions by phrase; within one they stay in the order of the texts."""
    order = np.argsort(mentions[:, 0], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    mentions = mentions[order]
    np.save(folder / "mentions.npy", mentions)
    np.save(folder / "phrases.npy", np.searchsorted(mentions[:, 0], np.arange(mentions[-1, 0] + 2)))
    np.save(folder / "together.npy", place[together].astype(np.int32))
