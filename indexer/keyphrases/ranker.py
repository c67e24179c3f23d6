"""Learned ranking of keyphrases: how well a phrase fits a document, in the text or not.

SimCKP (EMNLP Findings 2023, equation 2): document and phrase go through a layer each, and their cosine is the score. Its
two stages are two dual encoders here, over the vectors that one pass of the encoder has given anyway. Added are clues
that no vector tells (where a phrase stands, how often, how many documents have it), each with a learned weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indexer.common import Floats, unit
from indexer.records import Document, EncodedDocument
from indexer.text import stemmed

TEMPERATURE = 0.1  # the paper's
EARLY = 400  # characters; a phrase that begins here counts half as early as one that begins the document
CLUES = ("attention", "early", "often", "title", "one", "two", "three", "more", "own", "inside", "known")


@dataclass(frozen=True)
class DualEncoder:
    """Scores phrases against a document.

    Attributes:
        document, phrase: float32 [hidden, dims], the layers; `document_bias`, `phrase_bias`: float32 [hidden].
        clues: float32 [clues], what each clue adds to the cosine.
        threshold: From which score on a phrase is a keyphrase; chosen on documents held back.
    """

    document: Floats
    document_bias: Floats
    phrase: Floats
    phrase_bias: Floats
    clues: Floats
    threshold: float

    def scores(self, document: Floats, phrases: Floats, clues: Floats) -> Floats:
        """How well phrases fit a document.

        Args:
            document: float32 [dims]. phrases: float32 [n, dims]. clues: float32 [n, clues].

        Returns:
            float32 [n], 0 to 1; 0.5 at the threshold.
        """
        asked = unit(np.tanh(self.document @ document + self.document_bias))  # [hidden]
        given = unit(np.tanh(phrases @ self.phrase.T + self.phrase_bias))  # [n, hidden]
        raw = given @ asked + clues @ self.clues
        found: Floats = (1 / (1 + np.exp((self.threshold - raw) / TEMPERATURE))).astype(np.float32)
        return found


@dataclass(frozen=True)
class Vocabulary:
    """Keyphrases that other documents have: what an absent one is chosen from.

    Attributes:
        texts: Readable. stems: Their Porter stems, each once.
        counts: float32 [n], how many documents have it.
        phrases: float32 [n, dims], the phrases themselves.
        documents: float32 [n, dims], the mean of the documents that have it.
    """

    texts: tuple[str, ...]
    stems: tuple[str, ...]
    counts: Floats
    phrases: Floats
    documents: Floats

    def __len__(self) -> int:
        return len(self.texts)


Recombined = tuple[str, str, Floats]  # text, stems, vector


@dataclass(frozen=True)
class Ranker:
    """Both stages of a bundle, and the keyphrases that it was trained with.

    Attributes:
        labels: Stems of all of them ► how many documents have it.
        vocabulary: Those that several documents have, with their vectors.
        generate: Writes more candidates for a document; None where the bundle has no decoder.
    """

    present: DualEncoder
    absent: DualEncoder
    labels: Mapping[str, int]
    vocabulary: Vocabulary
    generate: Callable[[Document], Sequence[Recombined]] | None = None

    def rank(self, document: Document, encoded: EncodedDocument) -> Floats:
        """How well each phrase of a document speaks for it: float32 [phrases], 0 to 1."""
        stems = stems_of(document, encoded)
        known = np.array([self.labels.get(stem, 0) for stem in stems], np.float32)
        return self.present.scores(
            encoded.vector, encoded.vectors, present_clues(document, encoded, stems, known)
        )


def stems_of(document: Document, encoded: EncodedDocument) -> list[str]:
    """Porter stems of each phrase, as it first occurs in the document."""
    return [stemmed(document.content[m[0].start : m[0].end]) for m in encoded.phrases]


def present_clues(
    document: Document, encoded: EncodedDocument, stems: Sequence[str], known: Floats
) -> Floats:
    """What speaks for each phrase beside its vector.

    Args:
        stems: Of each phrase.
        known: float32 [phrases], how many other documents have it as a keyphrase.

    Returns:
        float32 [phrases, `CLUES`]: attention received (logarithm, less the document's mean), how early it begins, how
        often it occurs there (logarithm), whether it occurs in the title (of a document without one: in its first
        sentence), how many words it has (one of four), the share of its mentions that are candidates of their own, how
        many of them stand inside of one longer phrase, and how many documents are known to have it (logarithm).
    """
    attention = np.log1p(encoded.attention)
    attention = attention - attention.mean() if len(attention) else attention
    title = document.text_start or (encoded.sentences[0].end if encoded.sentences else 0)
    count = Counter(dict(zip(stems, (len(m) for m in encoded.phrases), strict=True)))
    longer = _longer(count)
    rows = []
    for at, mentions in enumerate(encoded.phrases):
        words = min(len(stems[at].split()), 4)
        rows.append(
            [
                attention[at],
                1 / (1 + mentions[0].start / EARLY),
                np.log(len(mentions)),
                mentions[0].start < title,
                *(words == n for n in (1, 2, 3, 4)),
                encoded.own[at],
                longer.get(stems[at], 0) / len(mentions),
                np.log1p(known[at]),
            ]
        )
    return np.array(rows, np.float32).reshape(len(rows), len(CLUES))


def _longer(count: Mapping[str, int]) -> dict[str, int]:
    """For each phrase that is a part of others: how often the most frequent of those occurs."""
    found: dict[str, int] = {}
    for stem, times in count.items():
        words = stem.split()
        for first in range(len(words)):
            for last in range(first + 1, len(words) + 1):
                part = " ".join(words[first:last])
                if last - first < len(words) and part in count:
                    found[part] = max(found.get(part, 0), times)
    return found
