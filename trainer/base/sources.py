"""What recipes for phrases learn from: mined sources with their shares, and texts whose vectors should stay."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from indexer.log import get_logger
from indexer.protocols import Progress
from indexer.records import Document
from models.hardware import physical_cores
from models.tokens import TokenizerFile
from trainer.base.corpus import Mined, found_in, given_mentions, mine
from trainer.base.job import documents_of, hashed, stamp
from trainer.base.options import PhraseOptions
from trainer.base.pairs import Mix, PairSampler
from trainer.base.partners import Partners

BATCH = 96  # pairs
TARGET_SHARE = 0.5  # of the batches, when there is a target; less where that would be
TARGET_EPOCHS = 5  # or more for each phrase that two of its texts have: a small one would be overfitted
KEPT_TEXTS = 6_000  # whose document vectors should stay
KEPT_TOKENS = 62  # of each, without the special ones
WINDOWS = 2_000  # whole ones, by which documents are aligned too
WINDOW_SENTENCES = 5
FEW_TEXTS = 200  # below it, a warning
REPORT_EVERY = 64  # documents, while phrases are found

logger = get_logger(__name__)


def mine_sources(options: PhraseOptions, folder: Path, progress: Progress) -> Mix:
    """Mine the sources that are not mined yet, each file for itself."""
    general = [_mined(path, False, folder, options, progress) for path in options.corpus]
    targets = [
        *(_mined(path, False, folder, options, progress) for path in options.target),
        *(_mined(path, True, folder, options, progress) for path in options.mentions),
    ]
    _warn_of_few_texts([*general, *targets])
    return Mix([*general, *targets], shares(general, targets, options.steps))


def fingerprint(mix: Mix) -> str:
    """Changes with the texts and their phrases: 32 hexadecimal digits."""
    return hashlib.sha256("".join(m.fingerprint for m in mix.sources).encode()).hexdigest()[:32]


def shares(general: Sequence[Mined], targets: Sequence[Mined], steps: int) -> list[float]:
    """Share of the batches of each source: half for the targets together, less where they have few pairs."""
    sizes = [
        math.sqrt(len(mined.phrases) - 1) for mined in general
    ]  # a large one counts for more, but not linearly
    of_targets = [
        min(TARGET_SHARE / len(targets), TARGET_EPOCHS * Partners(mined).repeated / (BATCH * steps))
        for mined in targets
    ]
    if not general:
        return [1 / len(targets) for _ in targets]
    return [*((1 - sum(of_targets)) * size / sum(sizes) for size in sizes), *of_targets]


def pair_sampler(mix: Mix, words: TokenizerFile, seed: int) -> PairSampler:
    """Draws batches of `BATCH` pairs."""
    return PairSampler(mix, words, size=BATCH, seed=seed)


def kept_texts(mix: Mix, words: TokenizerFile, seed: int) -> list[list[int]]:
    """Token ids of what people search in and with: three sentences (half of them), one, or a phrase."""
    draw = np.random.default_rng([seed, 2])
    texts: list[str] = []
    for source in mix.sources:
        size = KEPT_TEXTS // len(mix.sources) // 4
        long = draw.integers(0, source.size, 2 * size).tolist()
        texts += [_sentences(source, at, 3) for at in long]
        texts += [source.sentence(at) for at in draw.integers(0, source.size, size).tolist()]
        for row in draw.integers(0, len(source.mentions), size).tolist():
            sentence, (start, end) = source.mention(row)
            texts.append(sentence[start:end])
    return _token_ids(texts, words, KEPT_TOKENS)


def windows(mix: Mix, words: TokenizerFile, length: int) -> list[list[int]]:
    """Token ids of windows as long as those that documents are split into."""
    draw = np.random.default_rng(3)
    texts = [
        _sentences(source, at, WINDOW_SENTENCES)
        for source in mix.sources
        for at in draw.integers(0, source.size, WINDOWS // len(mix.sources)).tolist()
    ]
    return _token_ids(texts, words, length)


def _sentences(source: Mined, first: int, number: int) -> str:
    return " ".join(source.sentence(n) for n in range(first, min(first + number, source.size)))


def _token_ids(texts: Sequence[str], words: TokenizerFile, length: int) -> list[list[int]]:
    """The first `length` tokens of each text, between the special ones."""
    return [[*words.prefix, *ids[:length].tolist(), *words.suffix] for ids in words.ids(texts)]


def _mined(path: Path, given: bool, folder: Path, options: PhraseOptions, progress: Progress) -> Mined:
    """One source on disk; `given`: its mentions are known."""
    folder = folder / hashed([stamp(path), given, options.tagger])
    if not (folder / "done").exists():
        if given:
            found = given_mentions([path])
        else:
            documents = _reported(documents_of(path), progress)
            found = found_in(documents, tagger=options.tagger, workers=options.threads or physical_cores())
        progress("tag", 0, None)
        mine(found, folder)
        (folder / "done").touch()
    return Mined.open(folder)


def _reported(documents: Iterable[Document], progress: Progress) -> Iterator[Document]:
    """Report the number of documents read. This stage ends no slice: its work would have to be done again."""
    for number, document in enumerate(documents):
        if number % REPORT_EVERY == 0:
            progress("tag", number, None)
        yield document


def _warn_of_few_texts(sources: Sequence[Mined]) -> None:
    """A tiny collection is overfitted, and what its phrases mean elsewhere is lost."""
    texts = sum(len(np.unique(source.documents)) for source in sources)
    if texts < FEW_TEXTS:
        hint = f"{FEW_TEXTS} or more teach what holds for other texts; or use the encoder as it is."
        logger.warning("few_texts_to_learn_from", texts=texts, hint=hint)
