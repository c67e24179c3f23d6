from __future__ import annotations

import numpy as np

from indexer.text.shingles import HASHES, REPRESENTATIVES, candidate_pairs, sketch


def made(*hashes: int) -> bytes:
    return np.array(hashes, "<u4").tobytes()


def test_a_sketch_has_one_hash_for_each_shingle_up_to_its_length() -> None:
    short, five, again, long = map(
        sketch,
        ["two words", "one two three four five", "Five? one, two, three", " ".join(map(str, range(100)))],
    )
    assert short == b""
    assert len(five) == 3 * 4  # one two three, two three four, three four five
    assert len(again) == 2 * 4  # five one two, one two three
    assert len(np.intersect1d(np.frombuffer(five, "<u4"), np.frombuffer(again, "<u4"))) == 1
    assert len(long) == HASHES * 4


def test_a_sketch_has_the_lowest_hashes_in_order() -> None:
    whole = sketch(" ".join(map(str, range(30))))  # 28 shingles: all of them
    longer = sketch(" ".join(map(str, range(60))))  # 58 shingles, the same 28 among them
    hashes = np.frombuffer(longer, "<u4")
    assert hashes.tolist() == sorted(hashes.tolist())
    kept = [one for one in np.frombuffer(whole, "<u4") if one <= hashes[-1]]
    assert set(kept) <= set(hashes.tolist())


def test_a_shingle_that_is_repeated_counts_once() -> None:
    assert len(sketch("a b c")) == 4
    assert len(sketch("a b c a b c a b c")) == 3 * 4  # a b c, b c a, c a b


def test_candidates_have_three_hashes_in_common() -> None:
    found = candidate_pairs([made(1, 2, 3, 4), made(2, 3, 4, 5), made(4, 5, 6), made()])
    assert found.tolist() == [[0, 1]]


def test_known_texts_are_not_compared_with_each_other_again() -> None:
    same = made(1, 2, 3)
    assert candidate_pairs([same, same, same], known=2).tolist() == [[0, 2], [1, 2]]
    assert candidate_pairs([same, same], known=2).tolist() == []


def test_of_many_copies_each_is_compared_with_the_first_ones() -> None:
    found = candidate_pairs([made(1, 2, 3)] * 20).tolist()
    assert {first for first, _ in found} == set(range(REPRESENTATIVES))
    assert [0, 19] in found


def test_without_sketches_there_are_no_candidates() -> None:
    assert candidate_pairs([]).shape == (0, 2)
    assert candidate_pairs([b"", b""]).shape == (0, 2)
