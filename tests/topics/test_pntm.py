import numpy as np
import pytest

from indexer.common import unit
from indexer.topics.models.base import TopicFit
from indexer.topics.models.pntm import NEGATIVES, ORTHOGONALITY, SHARPNESS, fit, learned, reconstruct
from tests.topics.test_clusters import made_sample


def test_loss_by_hand():
    # Two topics on the axes, one document on the first, one other on the second. t = (s, 1 - s) with
    # s = 1 / (1 + exp(-SHARPNESS)), so y = t; hinge 1 - s + (1 - s), and topics at right angles cost nothing.
    told = reconstruct(np.eye(2), np.array([[1.0, 0.0]]), np.array([[[0.0, 1.0]]]))
    share = 1 / (1 + np.exp(-SHARPNESS))
    assert told.loss == pytest.approx(2 - 2 * share)


def test_a_document_told_well_enough_costs_nothing():
    # y = (2, 0): nearer by 2 than the other one, which a margin of 1 is content with. |R R' - I| = |4 - 1| = 3.
    told = reconstruct(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0]]), np.array([[[0.0, 1.0]]]))
    assert told.loss == pytest.approx(3 * ORTHOGONALITY)
    # Only the penalty is left, whose gradient is 2 (R R' - I) R / 3 = 2 · 3 · (2, 0) / 3.
    assert told.gradient == pytest.approx(np.array([[4.0 * ORTHOGONALITY, 0.0]]))


def test_gradient_is_the_slope():
    draw = np.random.default_rng(0)
    topics = draw.normal(size=(3, 4))
    documents, others = unit(draw.normal(size=(5, 4))), unit(draw.normal(size=(5, NEGATIVES, 4)))
    told = reconstruct(topics, documents, others)
    for place in np.ndindex(topics.shape):
        step = np.zeros_like(topics)
        step[place] = 1e-6
        slope = (
            reconstruct(topics + step, documents, others).loss
            - reconstruct(topics - step, documents, others).loss
        ) / 2e-6
        assert told.gradient[place] == pytest.approx(slope, abs=1e-5)


@pytest.mark.slow
def test_topics_are_the_directions_of_clear_groups():
    sample, group = made_sample()
    fitted = fit(sample, 3)
    placed = fitted.assign(sample.vectors, sample.documents[sample.document])
    within = placed.topic >= 0
    pairs = set(zip(group[sample.document][within].tolist(), placed.topic[within].tolist(), strict=True))
    assert len(pairs) == 3  # one topic for each group
    assert within.mean() > 0.9


@pytest.mark.slow
def test_its_number_is_that_of_the_groups():
    sample, _ = made_sample()
    assert len(fit(sample)) == 3


@pytest.mark.slow
def test_learning_makes_documents_better_told():
    sample, _ = made_sample()
    documents = sample.documents
    others = np.roll(documents, 1, axis=0)[:, None]  # of another group each
    begun = documents[:9:3]  # all of the first group: nothing tells the other two
    assert (
        reconstruct(learned(documents, 3), documents, others).loss
        < reconstruct(begun, documents, others).loss - 0.5
    )


@pytest.mark.slow
def test_the_same_sample_gives_the_same_fit():
    sample, _ = made_sample()
    one, two = fit(sample, 3), fit(sample, 3)
    assert all(np.array_equal(one.arrays()[name], two.arrays()[name]) for name in one.arrays())


@pytest.mark.slow
@pytest.mark.parametrize("documents", [1, 2, 5])
def test_a_handful_of_documents_is_one_topic(documents):
    sample, _ = made_sample(groups=1, documents=documents)
    assert len(fit(sample)) == 1


@pytest.mark.slow
def test_never_more_topics_than_documents():
    sample, _ = made_sample(groups=1, documents=2)
    assert len(fit(sample, 10)) == 2


def test_a_document_alone_can_decide():
    # Phrases on the second axis, documents on the first: with a share of 1 they lie where their document lies.
    plain = TopicFit(np.zeros(2, np.float32), np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32),
                     np.eye(2, dtype=np.float32), threshold=0.9, share=1.0)  # fmt: skip
    again = TopicFit.from_arrays(plain.arrays())
    document, phrases = np.array([1, 0], np.float32), np.array([[0, 1], [1, 0]], np.float32)
    assert again.assign(phrases, document).topic.tolist() == [0, 0]
