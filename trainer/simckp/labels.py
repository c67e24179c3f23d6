"""Documents with their keyphrases: those that people gave, or those that the title names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from indexer.batches import batches
from indexer.errors import InputError
from indexer.records import Document, Prepared
from indexer.text import stemmed
from indexer.text.parallel import PreparePool
from indexer.text.spans import with_parts
from trainer.evaluation.lines import Line, read_lines

CHUNK = 64  # documents tagged at once


@dataclass(frozen=True)
class Labelled:
    """A document with its keyphrases.

    Attributes:
        prepared: With parts of phrases.
        keyphrases: Stems ► the keyphrase as it was given. Some stand in the document, some do not.
    """

    document: Document
    prepared: Prepared
    keyphrases: dict[str, str]

    def present(self) -> frozenset[str]:
        """Stems of those that stand in the document."""
        text = f" {stemmed(self.document.content)} "
        return frozenset(stem for stem in self.keyphrases if f" {stem} " in text)

    def absent(self) -> frozenset[str]:
        """Stems of the others."""
        return frozenset(self.keyphrases) - self.present()


def read_labelled(paths: Iterable[Path], *, tagger: str = "auto", silver: bool = False) -> list[Labelled]:
    """Read documents and find their candidates.

    Args:
        paths: JSON Lines with ``text``, ``keyphrases``, and maybe ``id`` and ``title``.
        silver: Take the title as the label instead: phrases of the text that stand there are present keyphrases, its
            other phrases are absent ones. The document is then the text alone.

    Raises:
        InputError: A line is not such an object.
    """
    make = _titled if silver else _given
    found = [pair for path in paths for pair in read_lines(path, make) if pair[0].text.strip()]
    prepared = _prepared([document for document, _ in found], tagger)
    if not silver:
        return [
            Labelled(document, ready, {stem: k for k in given if (stem := stemmed(k))})
            for (document, given), ready in zip(found, prepared, strict=True)
        ]
    titles = [Document(document.id, given[0]) for document, given in found]
    named = _prepared(titles, tagger)
    return [
        Labelled(document, ready, _of_title(document, title, phrases))
        for (document, _), ready, title, phrases in zip(found, prepared, titles, named, strict=True)
    ]


def _given(line: Line) -> tuple[Document, Sequence[str]]:
    title = line.text("title", empty=True) if line.fields.get("title") else ""
    return _document(line, title), line.texts("keyphrases")


def _titled(line: Line) -> tuple[Document, Sequence[str]]:
    return _document(line, ""), [line.text("title", empty=True)]


def _document(line: Line, title: str) -> Document:
    number = line.where.rpartition(":")[2]
    return Document(str(line.fields.get("id", number)), line.text("text", empty=True), title)


def _prepared(documents: Sequence[Document], tagger: str) -> list[Prepared]:
    """Candidates and their parts."""
    found: list[Prepared] = []
    with PreparePool(0, tagger) as pool:
        for some, outcomes, _ in pool.prepare_chunks(batches(documents, CHUNK)):
            for document, outcome in zip(some, outcomes, strict=True):
                if isinstance(outcome, InputError):
                    raise outcome
                found.append(with_parts(document, outcome))
    return found


def _of_title(document: Document, title: Document, phrases: Prepared) -> dict[str, str]:
    """Phrases of a title: the longest parts that the text has, and the candidates that it has not."""
    text = f" {stemmed(document.content)} "
    content = title.content
    places = [(m.start, m.end) for m in (*phrases.mentions, *phrases.parts)]
    inside = [(a, b) for a, b in places if f" {stemmed(content[a:b])} " in text]
    longest = [
        (a, b) for a, b in inside if not any(c <= a and b <= d and (c, d) != (a, b) for c, d in inside)
    ]
    own = [(m.start, m.end) for m in phrases.mentions]
    return {stem: content[a:b] for a, b in (*longest, *own) if (stem := stemmed(content[a:b]))}
