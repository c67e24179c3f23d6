"""The prepare step: documents in, sentences and mentions out. Needs spaCy, on first use only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from indexer.errors import SettingsError
from indexer.records import Document, Mention, Prepared, Sentence
from indexer.text.candidates import Span, Token, candidates
from indexer.text.normal_forms import normal_form
from indexer.text.segments import Segment, segments
from indexer.text.untagged import looks_english, plain_candidates, plain_sentences

SHIPPED = Path(__file__).parent / "tagger"
PREFERRED = "en_core_web_sm"
BATCH_CHARACTERS = 30_000  # tagged together; larger batches leave the processor's cache and are slower
MAX_SENTENCE_LENGTH = 2_000  # characters; beyond it is a list or data, cut between two words
REMEMBERED_WORDS = 300_000  # spaCy never forgets a word; past this many the pipeline is reloaded
MAY_END = frozenset(".?!:;…\"'”’)]}»")  # what may stand before a sentence that begins with a small letter
UNUSED = ("parser", "ner", "lemmatizer", "attribute_ruler", "morphologizer", "entity_linker", "textcat")


class Preparer:
    """Finds sentences and candidate phrases.

    Args:
        tagger: Name or folder of a spaCy pipeline with a tagger; "auto" takes `en_core_web_sm` when it is
            installed and the shipped tagger otherwise; "shipped" always takes that one.
    """

    def __init__(self, tagger: str = "auto") -> None:
        if tagger == "auto":
            tagger = PREFERRED if find_spec(PREFERRED) else "shipped"
        self._source = str(SHIPPED) if tagger == "shipped" else tagger
        self._nlp = _load(self._source)

    @property
    def name(self) -> str:
        """Which tagger, and its version: stored with what it made."""
        meta = self._nlp.meta
        return f"{meta['lang']}_{meta['name']}-{meta['version']}"

    def prepare(self, documents: Sequence[Document]) -> list[Prepared]:
        """Return sentences and mentions of each document, in the order given. Takes one core."""
        with threadpool_limits(1, user_api="blas"):  # the matrices are small, and waiting threads spin
            return self._prepare(documents)

    def _prepare(self, documents: Sequence[Document]) -> list[Prepared]:
        found: list[tuple[list[Sentence], list[Mention]]] = [([], []) for _ in documents]
        for index, piece, begins, spans in self._read(_all_pieces(documents)):
            content = documents[index].content
            sentences, mentions = found[index]
            sentences.extend(_extents(content, piece, begins))
            for start, end in spans:
                start, end = piece.start + start, piece.start + end
                if phrase := normal_form(content[start:end]):
                    mentions.append(Mention(start, end, phrase))
        return [Prepared(tuple(sentences), tuple(mentions)) for sentences, mentions in found]

    def _read(
        self, numbered: Iterable[tuple[int, Segment]]
    ) -> Iterator[tuple[int, Segment, list[int], list[Span]]]:
        """Yield document number, piece, where its sentences begin, and its candidates."""
        for batch in _batches(numbered):
            if len(self._nlp.vocab.strings) > REMEMBERED_WORDS:
                self._nlp = _load(self._source)
            english = [looks_english(piece.text) for _, piece in batch]
            texts = [piece.text for (_, piece), tagged in zip(batch, english, strict=True) if tagged]
            docs = iter(self._nlp.pipe(texts, batch_size=max(1, len(texts))))
            for (index, piece), tagged in zip(batch, english, strict=True):
                begins: list[int] = []
                spans: list[Span] = []
                if tagged:
                    for tokens in _sentences(next(docs), piece):
                        begins.append(tokens[0][0])
                        spans.extend(candidates(piece.text, tokens, piece.hidden))
                else:
                    for start, end in plain_sentences(piece.text):
                        begins.append(start)
                        spans.extend(plain_candidates(piece.text, start, end))
                yield index, piece, begins, spans


def _extents(content: str, piece: Segment, begins: Sequence[int]) -> Iterator[Sentence]:
    """Turn the beginnings of a piece's sentences into ranges of `content`, without the white space between."""
    for begin, end in zip(begins, (*begins[1:], len(piece.text)), strict=True):
        start, stop = piece.start + begin, piece.start + end
        yield Sentence(start, start + len(content[start:stop].rstrip()))


def _load(source: str) -> Any:
    try:
        import spacy

        nlp = spacy.load(source, exclude=UNUSED)
    except (ImportError, OSError, ValueError) as error:
        raise SettingsError(
            f"The tagger '{source}' cannot be loaded: {error}",
            hint="Set the tagger to 'auto', or install the pipeline: python -m spacy download en_core_web_sm",
        ) from error
    _multiply_with_numpy(nlp)
    if "senter" in nlp.disabled:
        nlp.enable_pipe("senter")
    if "senter" not in nlp.pipe_names:
        nlp.add_pipe("sentencizer")
    if "tagger" not in nlp.pipe_names:
        raise SettingsError(f"The pipeline '{source}' has no tagger, only: {', '.join(nlp.pipe_names)}.")
    return nlp


def _multiply_with_numpy(nlp: Any) -> None:
    """Let numpy's BLAS multiply instead of the one that thinc brings: twice as fast on a CPU with AVX-512."""
    from thinc.api import NumpyOps

    numpy_ops = NumpyOps(use_blis=False)
    for _, component in nlp.pipeline:
        model = getattr(component, "model", None)
        for layer in model.walk() if model else ():
            if type(layer.ops) is NumpyOps:  # not those of a GPU
                layer.ops = numpy_ops


def _all_pieces(documents: Sequence[Document]) -> Iterator[tuple[int, Segment]]:
    for index, document in enumerate(documents):
        for piece in segments(document):
            yield index, piece


def _batches(numbered: Iterable[tuple[int, Segment]]) -> Iterator[list[tuple[int, Segment]]]:
    batch: list[tuple[int, Segment]] = []
    size = 0
    for index, piece in numbered:
        batch.append((index, piece))
        size += len(piece.text)
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _sentences(doc: Any, piece: Segment) -> Iterator[list[Token]]:
    """Yield the tokens of each sentence; white space is not a token, and a title is one sentence."""
    from spacy.attrs import IDX, IS_SPACE, LENGTH, SENT_START, TAG

    strings, text = doc.vocab.strings, piece.text
    tags: dict[int, str] = {}
    tokens: list[Token] = []
    for start, length, tag, begins, is_space in doc.to_array(
        [IDX, LENGTH, TAG, SENT_START, IS_SPACE]
    ).tolist():
        if is_space:
            continue
        if tokens:
            too_long = start + length - tokens[0][0] > MAX_SENTENCE_LENGTH
            if too_long or (begins == 1 and not piece.is_title and _may_begin(text, start, tokens[-1][1])):
                yield tokens
                tokens = []
        if tag not in tags:
            tags[tag] = strings[tag] if tag else ""
        tokens.append((start, start + length, tags[tag]))
    if tokens:
        yield tokens


def _may_begin(text: str, start: int, end_before: int) -> bool:
    """Say whether a sentence may begin at `start`: after punctuation, or with anything but a small letter or sign."""
    return text[end_before - 1] in MAY_END or text[start].isupper()
