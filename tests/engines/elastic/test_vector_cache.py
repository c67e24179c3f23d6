"""The vectors of this machine: found by key, in files of several processes, and never mistaken for others."""

import numpy as np
import pytest

from indexer.engines.elastic.vector_cache import VectorCache, key_of

DIMS = 4
ONE, OTHER, THIRD = bytes([1, 2, 3, 4]), bytes([5, 6, 7, 8]), bytes([9, 9, 9, 9])


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "vectors"


def keyed(*vectors):
    return {key_of(vector): vector for vector in vectors}


def found(cache, *vectors):
    return [v if v is None else v.tobytes() for v in cache.find([key_of(vector) for vector in vectors])]


def test_vectors_of_another_process_are_found_and_unknown_ones_are_not(folder):
    writer, reader = VectorCache(folder, DIMS), VectorCache(folder, DIMS)
    assert reader.is_empty()
    writer.add(keyed(ONE))
    reader.add(keyed(OTHER))
    assert found(reader, OTHER, THIRD, ONE) == [OTHER, None, ONE]
    writer.add(keyed(THIRD))  # to the same file, after it was read
    assert found(reader, THIRD, ONE) == [THIRD, ONE]
    assert reader.find([None, key_of(ONE)])[0] is None
    assert reader.find([key_of(ONE)])[0].dtype == np.int8


def test_vectors_of_another_length_are_in_other_files(folder):
    VectorCache(folder, DIMS).add(keyed(ONE))
    assert VectorCache(folder, 2 * DIMS).is_empty()


def test_a_damaged_record_and_one_that_was_cut_off_are_not_found(folder):
    VectorCache(folder, DIMS).add(keyed(ONE, OTHER))
    (file,) = folder.iterdir()
    data = bytearray(file.read_bytes())
    data[8] ^= 1  # the first byte of the first vector, after its key of 8 bytes
    file.write_bytes(data[:-1])
    assert found(VectorCache(folder, DIMS), ONE, OTHER) == [None, None]


def test_the_oldest_file_goes_when_there_is_too_much(folder):
    # A record has 12 bytes: 8 for the key, 4 for the vector. A file of an eighth of the limit is followed by another.
    cache = VectorCache(folder, DIMS, limit=88)
    vectors = [bytes([number, 0, 0, 0]) for number in range(10)]
    for vector in vectors:
        cache.add(keyed(vector))
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 88
    assert found(cache, vectors[0], vectors[-1]) == [None, vectors[-1]]


def test_a_disk_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = VectorCache(tmp_path / "file", DIMS)
    cache.add(keyed(ONE))
    assert found(cache, ONE) == [None]
