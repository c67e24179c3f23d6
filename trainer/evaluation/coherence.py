"""How well phrases represent topics: co-occurring, similar, diverse and informative.

Everything here takes plain lists, the leading phrases of each topic, best first, so that the topics of any program
are measured by the same functions. A phrase occurs in a text where its words are contiguous, each word in its normal
form (`indexer.text.normal_form`: lower case, hyphens as spaces, singular).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence, Set
from itertools import combinations

import numpy as np

from indexer.common import Floats
from indexer.text import normal_form

Words = tuple[str, ...]
Topics = Sequence[Sequence[str]]  # the leading phrases of each topic, best first

LEADING = 10  # phrases of a topic that count
MIXED_WITH = 5  # phrases of a topic that an intruder is mixed with
TRIALS = 100  # intruders for each topic


def words_of(text: str) -> Words:
    """The words of a text or phrase, each in its normal form."""
    parts = (part for token in text.split() for part in normal_form(token).split())
    return tuple(sys.intern(normal_form(part)) for part in parts)


def occurrences(phrases: Iterable[Words], texts: Sequence[Words]) -> dict[Words, set[int]]:
    """Phrase ► positions of the texts that contain it."""
    found: dict[Words, set[int]] = {phrase: set() for phrase in phrases if phrase}
    starts: dict[str, list[Words]] = {}
    for phrase in found:
        starts.setdefault(phrase[0], []).append(phrase)
    for number, words in enumerate(texts):
        for at, word in enumerate(words):
            for phrase in starts.get(word, ()):
                if words[at : at + len(phrase)] == phrase:
                    found[phrase].add(number)
    return found


# -- together in documents ----------------------------------------------------------------------------------


def npmi(one: Set[int], other: Set[int], texts: int) -> float:
    """Normalised pointwise mutual information of two phrases: ``ln(p(x, y) / (p(x) p(y))) / -ln p(x, y)``.

    p is the share of the texts: the window is a whole text.

    Args:
        one, other: Texts that contain each phrase.
        texts: Number of texts.

    Returns:
        1 for phrases that occur together only, 0 for independent ones, -1 for those that never occur together. 0 too
        for two phrases that occur in every text, where the formula has no value.

    Source: Bouma 2009, Normalized (pointwise) mutual information in collocation extraction, section 3.
    """
    together = len(one & other)
    if not together:
        return -1.0
    if together == texts:
        return 0.0
    return math.log(together * texts / (len(one) * len(other))) / -math.log(together / texts)


def npmi_coherence(topics: Topics, texts: Sequence[Words]) -> list[float]:
    """Mean NPMI over all pairs of a topic's leading phrases, for each topic.

    Two spellings of one normal form are one phrase: a pair of them would score 1. NaN for a topic with fewer than two.
    """
    forms = [_forms(phrases) for phrases in topics]
    found = occurrences({form for some in forms for form in some}, texts)
    return [_mean([npmi(found[a], found[b], len(texts)) for a, b in combinations(some, 2)]) for some in forms]


def leading_words(topics: Topics) -> list[list[str]]:
    """The first distinct words of each topic's leading phrases, so that it can be compared with one of single words.

    A phrase occurs in fewer texts than its words: two phrases that belong together may never occur in one text.
    """
    return [
        list(dict.fromkeys(word for phrase in some for word in words_of(phrase)))[:LEADING] for some in topics
    ]


# -- near in meaning ----------------------------------------------------------------------------------------


def embedding_coherence(vectors: Sequence[Floats]) -> list[float]:
    """Mean cosine over all pairs of a topic's leading phrases, for each topic.

    Args:
        vectors: For each topic float32 [phrases, dims], unit length.

    Returns:
        -1 to 1; NaN for a topic with fewer than two phrases.
    """
    return [_mean([float(a @ b) for a, b in combinations(some, 2)]) for some in vectors]


def intrusion(
    topics: Topics, vectors: Sequence[Floats], *, trials: int = TRIALS, seed: int = 0
) -> list[float]:
    """Share of trials in which the intruder is found, for each topic.

    A trial is a topic's five leading phrases and an intruder: one of the five of another topic, drawn at random, that
    is not among the topic's own. The prediction is the phrase with the lowest mean cosine to the other five; a tie
    counts as not found. Guessing finds one in six.

    Args:
        vectors: For each topic float32 [phrases, dims], unit length, in the order of the phrases.

    Returns:
        0 to 1; NaN for a topic with fewer than five phrases, or without a phrase that could intrude.

    Source: Chang et al. 2009, Reading tea leaves, section 3.1 (word intrusion), with the encoder instead of human judges.
    """
    random = np.random.default_rng(seed)
    forms = [_forms(phrases) for phrases in topics]
    shares = []
    for topic, own in enumerate(vectors):
        strangers = [
            vector
            for other in range(len(topics))
            if other != topic
            for phrase, vector in zip(topics[other][:MIXED_WITH], vectors[other][:MIXED_WITH], strict=True)
            if words_of(phrase) not in forms[topic]
        ]
        if len(own) < MIXED_WITH or not strangers:
            shares.append(math.nan)
            continue
        drawn = np.stack(strangers)[random.integers(0, len(strangers), trials)]
        six = np.concatenate(
            [np.broadcast_to(own[:MIXED_WITH], (trials, MIXED_WITH, own.shape[1])), drawn[:, None]], axis=1
        )  # [trials, 6, dims]; the intruder is last, so that argmin prefers any other in a tie
        similarity = (six @ six.transpose(0, 2, 1)).sum(axis=2)  # to all six; each adds 1 for itself
        shares.append(float(np.mean(similarity.argmin(axis=1) == MIXED_WITH)))
    return shares


# -- different and telling ----------------------------------------------------------------------------------


def word_diversity(topics: Topics) -> float:
    """Share of distinct words among all words of the phrases: 0 to 1, NaN without a phrase.

    Source: UCTopic (ACL 2022), appendix B.2, which takes it of one topic at a time; Dieng et al. 2020, Topic
    modeling in embedding spaces, section 6, of all topics together.
    """
    words = [word for phrases in topics for phrase in phrases for word in words_of(phrase)]
    return len(set(words)) / len(words) if words else math.nan


def informativeness(topics: Topics, texts: Sequence[Words]) -> list[float]:
    """Mean tf-idf of a topic's leading phrases, for each topic.

    The tf-idf of a phrase in a text is the mean of that of its words; that of a phrase is the mean over the
    texts that contain it, 0 without any. The paper does not give the weighting; here it is the one of scikit-learn:
    ``count × (ln((1 + texts) / (1 + texts with the word)) + 1)``, each text scaled to length 1. It depends on the
    texts and their length: compare only figures of the same texts.

    Returns:
        0 to 1; NaN for a topic without a phrase.

    Source: UCTopic (ACL 2022), appendix B.2.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    forms = [[words_of(phrase) for phrase in phrases] for phrases in topics]
    found = occurrences({form for some in forms for form in some}, texts)
    if not any(found.values()):
        return [_mean([0.0] * len(some)) for some in forms]
    vectorizer = TfidfVectorizer(analyzer=_identity)
    weights = vectorizer.fit_transform(texts)  # sparse [texts, words]
    values = {
        form: float(weights[sorted(rows)][:, [vectorizer.vocabulary_[word] for word in form]].mean())
        for form, rows in found.items()
        if rows
    }
    return [_mean([values.get(form, 0.0) for form in some]) for some in forms]


def _identity(words: Words) -> Words:
    return words


def _forms(phrases: Sequence[str]) -> list[Words]:
    """Each normal form once, in the order given."""
    return list(dict.fromkeys(filter(None, map(words_of, phrases))))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
