import math

import pytest
import torch

from trainer.base.losses import (
    cluster_contrast,
    different_phrases,
    global_centres,
    info_nce,
    kept_as_before,
    local_centres,
    nt_xent,
    span_contrast,
    triplet,
)

E = torch.eye(3)


def test_info_nce_by_hand():
    # Cosines: own 1, the other 0; at temperature 1 each row gives -log(e / (e + 1)).
    expected = -math.log(math.e / (math.e + 1))
    assert info_nce(E[:2], E[:2], temperature=1).item() == pytest.approx(expected)


def test_info_nce_does_not_look_at_lengths():
    assert info_nce(5 * E[:2], E[:2]).item() == pytest.approx(info_nce(E[:2], E[:2]).item())


def test_rows_that_are_no_negatives_do_not_count():
    # Rows 0 and 1 are the same phrase: without the mask they are each other's worst negatives.
    vectors = torch.stack([E[0], E[0], E[1]])
    allowed = torch.tensor([[True, False, True], [False, True, True], [True, True, True]])
    # Rows 0 and 1 then have one negative at cosine 0, row 2 has two.
    one, two = -math.log(math.e / (math.e + 1)), -math.log(math.e / (math.e + 2))
    assert info_nce(vectors, vectors, allowed, temperature=1).item() == pytest.approx((2 * one + two) / 3)


def test_the_diagonal_always_counts():
    nothing = torch.zeros(2, 2, dtype=torch.bool)
    assert info_nce(E[:2], E[:2], nothing).item() == pytest.approx(0)


def test_a_phrase_in_another_is_no_negative():
    phrases = [("neural network", "neural network"), ("network", "network"), ("work", "work")]
    assert different_phrases(phrases).tolist() == [
        [False, False, True],
        [False, False, True],
        [True, True, False],
    ]


def test_either_side_of_a_pair_counts():
    assert different_phrases([("rome", "paris"), ("paris", "oslo")]).tolist() == [
        [False, False],
        [False, False],
    ]


def test_kept_as_before_by_hand():
    assert kept_as_before(torch.stack([E[0], E[1]]), torch.stack([2 * E[0], E[2]])).item() == pytest.approx(
        0.5
    )


def test_cluster_contrast_by_hand():
    anchors, positives = torch.stack([E[0], E[1]]), torch.stack([E[0], E[1]])
    negatives = torch.stack([E[0], E[1], E[2]])  # one of each cluster; the first two are the anchors' own
    allowed = torch.tensor([[False, True, True], [True, False, True]])
    # Own cosine 1 against two negatives at 0.
    expected = -math.log(math.e / (math.e + 2))
    assert cluster_contrast(anchors, positives, negatives, allowed, temperature=1).item() == pytest.approx(
        expected
    )


def test_triplet_by_hand():
    # Anchor and positive alike: squared distances 0 against 2 (right angle) and 0 (the anchor again).
    anchors, positives = E[:1], E[:1]
    negatives = torch.stack([E[1], E[0]]).unsqueeze(0)
    assert triplet(anchors, positives, negatives, margin=0.5).item() == pytest.approx((0 + 0.5) / 2)
    # The positive at a right angle: 2 - 2 + 0.5 and 2 - 0 + 0.5.
    assert triplet(anchors, E[1:2], negatives, margin=0.5).item() == pytest.approx((0.5 + 2.5) / 2)


def test_nt_xent_by_hand():
    # Each row has its own other view at cosine 1, and both views of the other row at cosine 0.
    expected = -math.log(math.e / (math.e + 2))
    assert nt_xent(E[:2], 3 * E[:2], temperature=1).item() == pytest.approx(expected)


def test_nt_xent_of_rows_that_are_alike_is_that_of_guessing():
    assert nt_xent(torch.ones(4, 3), torch.ones(4, 3), temperature=0.7).item() == pytest.approx(math.log(7))


def test_nt_xent_takes_the_temperature():
    # Other views at cosine 0, the own at 1 / 0.5 = 2.
    assert nt_xent(E[:2], E[:2], temperature=0.5).item() == pytest.approx(
        -math.log(math.e**2 / (math.e**2 + 2))
    )


def test_local_centres_by_hand():
    vectors = torch.tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 2.0]])
    centres = local_centres(vectors, torch.tensor([0, 0, 2]), 3)
    # (3, 0) + (0, 4) has the length 5; nothing is of cluster 1.
    assert torch.allclose(centres, torch.tensor([[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]]))


def test_global_centres_by_hand():
    before = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    local = torch.tensor([[0.0, 1.0], [0.0, 0.0]])  # the batch has nothing of the second
    moved = global_centres(before, local, momentum=0.9)
    assert torch.allclose(moved, torch.tensor([[0.9, 0.1], [0.0, 1.0]]))


def test_global_centres_learn_from_this_batch_alone():
    local = E[:2].clone().requires_grad_()
    global_centres(E[1:], local, momentum=0.9)[0, 0].backward()
    assert torch.allclose(local.grad, torch.tensor([[0.1, 0, 0], [0, 0, 0]]))


def test_span_contrast_by_hand():
    scores = torch.tensor([2.0, 0.0, 1.0, 0.0])
    right = torch.tensor([True, True, False, False])
    # Each keyphrase against both wrong ones, e + 1, and not against the other keyphrase.
    wrong = math.e + 1
    expected = -math.log(math.e**2 / (math.e**2 + wrong)) - math.log(1 / (1 + wrong))
    assert span_contrast(scores, right).item() == pytest.approx(expected)
    assert span_contrast(torch.zeros(4), right).item() == pytest.approx(2 * math.log(3))
