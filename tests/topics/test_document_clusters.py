"""Clusters of documents: three kinds of documents whose phrases point elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from indexer.common import unit
from indexer.topics.models.base import Sample, vote
from indexer.topics.models.documents import fit_documents, number_of_clusters

DIMS = 12
PHRASES = 4


@pytest.fixture(scope="module")
def sample() -> Sample:
    """Documents point along one of three axes, their phrases in all directions around one of three others."""
    draw = np.random.default_rng(0)
    kinds = np.arange(60) % 3
    documents = unit(np.eye(DIMS)[kinds] + 0.1 * draw.normal(size=(60, DIMS))).astype(np.float32)
    document = np.repeat(np.arange(60), PHRASES)
    vectors = unit(np.eye(DIMS)[kinds[document] + 3] + draw.normal(size=(240, DIMS))).astype(np.float32)
    return Sample(vectors, np.ones(240, np.float32), document, documents)


def test_the_number_is_found_or_given(sample):
    assert number_of_clusters(sample.documents) == len(fit_documents(sample)) == 3
    assert len(fit_documents(sample, 5)) == 5


def test_a_document_has_one_topic_and_its_phrases_have_it_too(sample):
    fitted = fit_documents(sample, 3)
    found = []
    for at in range(60):
        placed = fitted.assign(sample.vectors[sample.document == at], sample.documents[at])
        [(topic, share)] = vote(placed.topic.tolist(), [1.0] * PHRASES) or [(-1, 1.0)]
        assert share == 1.0
        found.append(topic)
    kinds = {kind: {topic for topic in found[kind::3] if topic >= 0} for kind in range(3)}
    assert [len(topics) for topics in kinds.values()] == [1, 1, 1]
    assert len(set.union(*kinds.values())) == 3
    assert found.count(-1) <= 2  # of sixty, those beyond reach


def test_centroids_are_where_the_phrases_are(sample):
    """Labels compare phrases with them: kind 0 has its phrases along axis 3, and so on."""
    fitted = fit_documents(sample, 3)
    assert sorted(np.argmax(fitted.centroids, axis=1).tolist()) == [3, 4, 5]
    assert np.linalg.norm(fitted.centroids, axis=1) == pytest.approx([1, 1, 1])


def test_a_fit_comes_back_from_the_catalog(sample):
    fitted = fit_documents(sample, 3)
    again = type(fitted).from_arrays(fitted.arrays())
    assert again.share == 1.0
    one, other = (f.assign(sample.vectors[:4], sample.documents[0]) for f in (fitted, again))
    assert one.topic.tolist() == other.topic.tolist()
