"""How vectors are written, read back and searched."""

from __future__ import annotations

import numpy as np
import pytest
from contract_rows import axis, between

from indexer.engines.elastic.vectors import VectorField, bad_vector, quantized, to_vectors, vector_of

BYTES, NUMBERS = VectorField("byte", "flat"), VectorField("float", "int8_hnsw")


def test_bytes_are_scaled_to_127_and_sent_as_hexadecimal_digits():
    vector = np.array([0.6, -0.8, 0.0, 0.0031], np.float32)
    # -0.8 becomes -127; 0.6 * 127 / 0.8 = 95.25; 0.0031 * 127 / 0.8 = 0.49
    assert quantized(vector).tolist() == [95, -127, 0, 0]
    assert BYTES.stored(vector) == "5f810000"


@pytest.mark.parametrize("hit", [{"fields": {"vector": [95, -127]}}, {"_source": {"vector": "5f81"}}])
def test_they_come_back_as_long_as_one_from_a_field_and_from_the_source(hit):
    back = vector_of(hit)
    assert back is not None
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, np.array([95, -127]) / np.sqrt(95**2 + 127**2), atol=1e-7)
    assert vector_of({"_source": {"title": "x"}}) is None


def test_random_vectors_keep_their_cosines():
    vectors = np.random.default_rng(2).standard_normal((200, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    back = np.stack(to_vectors([quantized(vector) for vector in vectors]))
    assert np.abs(back @ back.T - vectors @ vectors.T).max() < 3e-3


def test_numbers_are_written_with_seven_digits_and_come_back_as_long_as_one():
    vector = between(0, 1, 30)
    numbers = NUMBERS.stored(vector)
    assert numbers[:3] == [0.8660254, 0.5, 0.0]
    back = to_vectors([[2 * number for number in numbers]])[0]
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, vector, atol=1e-7)


def test_a_search_asks_in_the_fields_own_form():
    assert BYTES.search(axis(0), 3, 10_000, []) == {"knn": {
        "field": "vector", "query_vector": [127, 0, 0, 0, 0, 0, 0, 0], "k": 3, "num_candidates": 200
    }}  # fmt: skip
    allowed = {"exists": {"field": "vector"}}
    numbers = NUMBERS.search(axis(0), 300, 500, [allowed])["knn"]
    assert numbers["filter"] == [allowed]
    assert (numbers["num_candidates"], numbers["rescore_vector"]) == (500, {"oversample": 2.0})


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        (np.ones(3, np.float32), "3 numbers, the collection has 8"),
        (np.full(8, np.inf, np.float32), "NaN or infinity"),
        (np.zeros(8, np.float32), "all zeros"),
        (axis(0), ""),
    ],
)
def test_a_vector_that_cannot_be_stored_is_explained(vector, reason):
    assert reason in bad_vector(vector, 8)
    assert bool(reason) == bool(bad_vector(vector, 8))
