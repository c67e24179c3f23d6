"""Vocabularies: what terms do to a fit."""

from __future__ import annotations

import numpy as np

from indexer.catalog.vocabulary import Term
from indexer.topics.models.base import Sample, TopicFit
from indexer.topics.vocabulary import Seeds, broader_groups, with_terms


def test_a_broader_term_has_the_topics_of_all_that_are_narrower():
    terms = [
        Term("life", "Life", topic="t1"),
        Term("animals", "Animals", broader="life", topic="t2"),
        Term("dogs", "Dogs", broader="animals", topic="t3"),
        Term("trees", "Trees", broader="life", topic="t4"),
        Term("tax", "Tax", topic="t5"),
    ]
    assert broader_groups(terms) == {"t1": {"t3", "t4"}, "t2": {"t3"}}


def unit(rows):
    vectors = np.array(rows, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def fitted(directions, documents):
    """A fit in a space that is the encoder's own, and a sample with one phrase to a document, which is like it."""
    fit = TopicFit(
        np.zeros(3, np.float32), np.eye(3, dtype=np.float32), unit(directions), unit(directions), -1.0
    )
    vectors = unit(documents)
    return fit, Sample(vectors, np.ones(len(vectors), np.float32), np.arange(len(vectors)), vectors)


def test_a_term_covers_the_mined_topics_near_it_and_moves_to_their_documents():
    """The term lies at 45 degrees between two mined topics, cosine .71 to each, and to the side of the documents."""
    documents = [[1, 0.1, 0]] * 10 + [[0, 0, 1]] * 10
    fit, sample = fitted([[1, 0, 0], [0, 1, 0], [0, 0, 1]], documents)
    seeds = Seeds(("t9",), unit([[1, 1, 0]]), np.zeros(3, np.float32))
    found = with_terms(fit, sample, seeds)
    assert len(found) == 2  # the term, and the mined topic that is at a right angle to it
    np.testing.assert_allclose(found.mapped[1], [0, 0, 1])
    begun, now = unit([[1, 1, 0]])[0] @ sample.documents[0], found.mapped[0] @ sample.documents[0]
    assert now > 0.9 > begun
    # The mean of half where it began and half where the documents are.
    np.testing.assert_allclose(
        found.mapped[0], unit([unit([[1, 1, 0]])[0] + sample.documents[0]])[0], atol=1e-3
    )
    assert found.assign(sample.vectors, sample.documents).topic.tolist() == [0] * 10 + [1] * 10
    assert len(with_terms(fit, sample, seeds, strict=True)) == 1  # the other mined topic, too


def test_what_all_short_texts_have_in_common_is_taken_away_from_terms():
    """Both terms point along z, as all short texts do here; without that they are the two axes."""
    fit, sample = fitted([[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]])
    seeds = Seeds(("a", "b"), unit([[1, 0, 3], [0, 1, 3]]), np.array([0, 0, 0.9], np.float32))
    found = with_terms(fit, sample, seeds)
    assert len(found) == 2
    assert found.assign(sample.vectors, sample.documents).topic.tolist() == [0, 1]


def test_a_term_without_documents_has_the_centroid_of_its_names():
    fit, sample = fitted([[1, 0, 0]], [[1, 0, 0]] * 3)
    names = unit([[0, 1, 0], [1, 0, 0]])
    found = with_terms(fit, sample, Seeds(("a", "b"), names, np.zeros(3, np.float32)))
    np.testing.assert_allclose(found.centroids[0], names[0])
