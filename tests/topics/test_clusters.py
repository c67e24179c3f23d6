from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from indexer.common import unit
from indexer.topics.models.base import Sample, TopicFit, vote
from indexer.topics.models.clusters import fit


def made_sample(groups=3, documents=20, phrases=5, dims=8, noise=0.15):
    """Documents around `groups` orthogonal directions, with phrases around each document."""
    rng = np.random.default_rng(0)
    group = np.arange(groups * documents) % groups
    vectors = unit(np.eye(dims)[group] + noise * rng.normal(size=(len(group), dims)))
    rows = np.repeat(np.arange(len(group)), phrases)
    mentions = unit(vectors[rows] + noise * rng.normal(size=(len(rows), dims)))
    return Sample(mentions, np.ones(len(rows), np.float32), rows, vectors), group


def test_fit_finds_the_number_and_the_members_of_clear_groups():
    sample, group = made_sample()
    fitted = fit(sample)
    placed = fitted.assign(sample.vectors, sample.documents[sample.document])
    assert len(fitted) == 3
    within = placed.topic >= 0
    pairs = set(zip(group[sample.document][within].tolist(), placed.topic[within].tolist(), strict=True))
    assert len(pairs) == 3  # one topic for each group
    assert within.mean() > 0.9


def test_the_same_sample_gives_the_same_fit():
    sample, _ = made_sample()
    one, two = fit(sample, 3), fit(sample, 3)
    assert np.array_equal(one.mapped, two.mapped)
    assert one.threshold == two.threshold


def test_of_several_starts_the_most_distinct_is_kept():
    sample, _ = made_sample(noise=0.5, documents=100)
    alone = [fit(sample, 7, starts=[start]).silhouette for start in range(3)]
    assert len(set(alone)) > 1
    assert fit(sample, 7, starts=range(3)).silhouette == max(alone)


def test_fit_takes_the_number_that_was_asked_for():
    sample, _ = made_sample()
    assert len(fit(sample, 5)) == 5


@pytest.mark.parametrize("documents", [1, 2, 5])
def test_a_handful_of_documents_is_one_topic(documents):
    sample, _ = made_sample(groups=1, documents=documents)
    assert len(fit(sample)) == 1


def test_never_more_topics_than_documents():
    sample, _ = made_sample(groups=1, documents=2)
    assert len(fit(sample, 10)) == 2


@pytest.mark.parametrize("number", [None, 10])
@pytest.mark.parametrize(
    ("texts", "noise"), [(1, 0), (3, 0), (3, 1e-6)]
)  # batches of other sizes round otherwise
def test_copies_of_few_texts_are_so_many_topics_and_no_warning(texts, noise, number):
    rng = np.random.default_rng(0)
    vectors = unit(np.eye(8)[np.arange(60) % texts] + noise * rng.normal(size=(60, 8)))
    alone = Sample(vectors, np.ones(60, np.float32), np.arange(60), vectors)
    assert len(fit(alone, number)) == texts


def test_arrays_round_trip():
    sample, _ = made_sample()
    fitted = fit(sample, 3)
    again = TopicFit.from_arrays(fitted.arrays())
    assert np.array_equal(again.centroids, fitted.centroids)
    assert again.threshold == pytest.approx(fitted.threshold, abs=1e-6)


def test_place_by_hand():
    # No projection, two centroids on the axes; document and phrase are the same vector.
    plain = TopicFit(np.zeros(2, np.float32), np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32),
                     np.eye(2, dtype=np.float32), threshold=0.9)  # fmt: skip
    vectors = np.array([[1, 0], [0.6, 0.8]], np.float32)
    placed = plain.assign(vectors, vectors)
    assert placed.topic.tolist() == [0, -1]  # .8 is beyond the reach of .9
    assert placed.similarity.tolist() == pytest.approx([1.0, 0.8])
    assert placed.runner_up.tolist() == [1, 0]
    assert placed.margin.tolist() == pytest.approx([1.0, 0.2])


def test_vote_by_hand():
    assert vote([0, 0, 1], [1.0, 2.0, 1.0]) == [(0, 0.75), (1, 0.25)]


def test_vote_drops_topics_that_are_only_touched_on():
    assert vote([0, 1], [9.0, 1.0]) == [(0, 0.9)]


def test_a_document_with_most_of_its_vote_out_of_reach_has_no_topic():
    assert vote([-1, -1, 0], [1.0, 1.0, 1.0]) == []
    assert vote([-1, 0], [1.0, 1.0]) == [(0, 0.5)]


def test_a_document_votes_with_the_weight_of_all_its_phrases():
    assert vote([0, 1], [1.0, 1.0], own=1) == [(1, 0.75), (0, 0.25)]
    assert vote([0], [3.0], own=-1) == [(0, 0.5)]
    assert vote([-1], [3.0], own=-1) == []
    assert vote([], [], own=2) == [(2, 1.0)]


def on_axes(**options):
    """Three topics along the axes, in the space of the encoder itself."""
    axes = np.eye(3, dtype=np.float32)
    return TopicFit(np.zeros(3, np.float32), axes, axes, axes, 0.0, **options)


def test_what_a_document_itself_votes_for_by_hand():
    own = on_axes(document_threshold=0.7).own_topic(np.float32([0.6, 0.8, 0.0]))
    assert own == (1, pytest.approx(0.8), 0, pytest.approx(0.2))
    assert on_axes(document_threshold=0.9).own_topic(np.float32([0.6, 0.8, 0.0])).topic == -1


def test_a_fit_of_an_earlier_version_gives_documents_no_vote():
    arrays = on_axes(document_threshold=0.7).arrays()
    assert TopicFit.from_arrays(arrays).document_threshold == pytest.approx(0.7)
    del arrays["document_reach"]
    assert TopicFit.from_arrays(arrays).own_topic(np.float32([1, 0, 0])) is None
    assert (
        on_axes(document_threshold=0.7, share=1.0).own_topic(np.float32([1, 0, 0])) is None
    )  # it decides alone


def test_no_phrases_no_topic():
    assert vote([], []) == []


@pytest.mark.parametrize(
    ("documents", "fewest", "most"), [(20, 1, 2), (60, 2, 7), (600, 6, 22), (3_000, 12, 48)]
)
def test_without_a_request_there_are_neither_two_topics_of_thousands_nor_hundreds(documents, fewest, most):
    """Points without any groups: the number is what the size allows."""
    rng = np.random.default_rng(0)
    points = unit(rng.normal(size=(documents, 20))).astype(np.float32)
    sample = Sample(points, np.ones(documents, np.float32), np.arange(documents), points)
    assert fewest <= len(fit(sample)) <= most


def test_a_single_phrase_is_a_topic():
    one = np.array([[1.0, 0.0]], np.float32)
    fitted = fit(Sample(one, np.ones(1, np.float32), np.zeros(1, np.intp), one))
    assert fitted.assign(one, one).topic.tolist() == [0]


def test_topics_that_there_are_stay_where_no_others_are_clearly_better():
    """Five groups of documents, of which two are so near each other that four topics are as good as five."""
    rng = np.random.default_rng(5)
    middles = np.eye(8, dtype=np.float32)[:5]
    middles[4] = unit(middles[3] + middles[4])
    five = np.repeat(np.arange(5), 60)
    four = np.minimum(five, 3)
    documents = unit(middles[five] + 0.15 * rng.standard_normal((300, 8)).astype(np.float32))
    sample = Sample(documents, np.ones(300, np.float32), np.arange(300), documents)

    def topics(before, number=None):
        found = fit(replace(sample, before=before), number)
        return [found.own_topic(document).topic for document in documents]

    def same(found, wanted):
        """As many topics, and all but a few stragglers between two groups in that of their group."""
        pairs = Counter(zip(found, wanted.tolist(), strict=True)).most_common(wanted.max() + 1)
        return len({topic for (topic, _), _ in pairs}) == len(set(found) - {-1}) == len(pairs) and (
            sum(number for _, number in pairs) >= 0.97 * len(wanted)
        )

    assert same(topics(four), four)
    assert same(topics(five), five)
    new = np.arange(300) % 10 == 0
    assert same(topics(np.where(new, -1, five)), five)  # a tenth of the documents is new, or had none
    assert len(set(topics(five, 3)) - {-1}) == 3  # another number was requested
    assert same(topics(rng.permutation(four)), four)  # what says nothing about the documents does no harm
