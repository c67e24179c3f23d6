"""The treebank: read, rewritten as people write, cut into passages, given to spaCy."""

from __future__ import annotations

import gzip
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from indexer.errors import InputError

FINAL_PUNCTUATION = {".", "!", "?"}


@dataclass(frozen=True)
class Word:
    """One token of the treebank."""

    form: str
    tag: str
    space_after: bool


@dataclass(frozen=True)
class TaggedSentence:
    words: tuple[Word, ...]
    paragraph: int  # sentences with the same number stand together in the source


def read_conllu(path: Path) -> list[TaggedSentence]:
    """Read forms, XPOS tags and spacing of a (gzip-compressed) CoNLL-U file.

    Raises:
        InputError: A line does not have ten columns, or a word has no tag.
    """
    sentences: list[TaggedSentence] = []
    words: list[Word] = []
    covered = 0  # the last word that the current multi-word token covers
    paragraph = 0
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            line = line.rstrip("\n")
            if line.startswith(("# newdoc", "# newpar")):
                paragraph += 1
            elif not line and words:
                sentences.append(TaggedSentence(tuple(words), paragraph))
                words, covered = [], 0
            elif line and not line.startswith("#"):
                columns = line.split("\t")
                if len(columns) != 10:
                    raise InputError(f"{path}:{number}: {len(columns)} columns instead of 10.")
                word_id, form, tag, misc = columns[0], columns[1], columns[4], columns[9]
                space_after = "SpaceAfter=No" not in misc
                if "-" in word_id:  # "don't" as one token; the words follow, written in their own right
                    covered = int(word_id.split("-")[1])
                    ends_with_space = space_after
                    continue
                if "." in word_id:  # an elided word that is not in the text
                    continue
                if tag == "_":
                    raise InputError(f"{path}:{number}: {form!r} has no XPOS tag.")
                if int(word_id) <= covered:
                    space_after = int(word_id) == covered and ends_with_space
                words.append(Word(form, tag, space_after))
    if words:
        sentences.append(TaggedSentence(tuple(words), paragraph))
    return sentences


def rewrite(words: Sequence[Word], random_: random.Random) -> tuple[Word, ...]:
    """Change case or drop the final punctuation of one sentence, more often than not leave it as it is."""
    words = tuple(words)
    if random_.random() < 0.12 and len(words) > 1 and words[-1].form in FINAL_PUNCTUATION:
        words = (*words[:-2], replace(words[-2], space_after=True))
    chance = random_.random()
    if chance < 0.15:
        return tuple(replace(word, form=word.form.lower()) for word in words)
    if chance < 0.23:  # a title; short words often stay small
        return tuple(
            replace(word, form=word.form.capitalize()) if len(word.form) > 3 and word.form.islower() else word
            for word in words
        )
    if chance < 0.25:
        return tuple(replace(word, form=word.form.upper()) for word in words)
    return words


def passages(
    sentences: Sequence[TaggedSentence], random_: random.Random, *, longest: int = 6
) -> Iterator[list[tuple[Word, ...]]]:
    """Cut the treebank into runs of one to `longest` neighbouring sentences, in random order."""
    runs: list[list[tuple[Word, ...]]] = []
    for _, together in itertools.groupby(sentences, key=lambda sentence: sentence.paragraph):
        waiting = [sentence.words for sentence in together]
        while waiting:
            size = random_.randint(1, longest)
            runs.append(waiting[:size])
            waiting = waiting[size:]
    random_.shuffle(runs)
    yield from runs


def example(nlp: Any, sentences: Sequence[Sequence[Word]]) -> Any:
    """Pair what spaCy's tokenizer makes of the text with what the treebank says of it."""
    from spacy.tokens import Doc
    from spacy.training import Example

    words = [word for sentence in sentences for word in sentence]
    spaces = [word.space_after for word in words]
    end = -1
    for sentence in sentences[:-1]:
        end += len(sentence)
        spaces[end] = True  # the treebank does not say so at a paragraph's end, and a text always has it
    reference = Doc(
        nlp.vocab,
        words=[word.form for word in words],
        spaces=spaces,
        tags=[word.tag for word in words],
        sent_starts=[position == 0 for sentence in sentences for position in range(len(sentence))],
    )
    return Example(nlp.make_doc(reference.text), reference)
