"""Document frequencies of a sample, and their way into the catalog."""

from indexer.keyphrases.frequencies import DocumentFrequencies

ONE, TWO, THREE = "00000000000000aa", "ffffffffffffffff", "0123456789abcdef"


def test_phrases_are_counted_by_document_and_rare_ones_left_out():
    found = DocumentFrequencies.of([[ONE, TWO], [ONE, THREE], [], [ONE, THREE]])
    assert found == DocumentFrequencies({ONE: 3, THREE: 2}, 4)
    assert DocumentFrequencies.from_arrays(found.arrays()) == found


def test_an_empty_sample_and_a_fit_without_counts_are_one_document():
    assert DocumentFrequencies.of([]) == DocumentFrequencies({}, 1) == DocumentFrequencies.from_arrays({})
    assert DocumentFrequencies.from_arrays(DocumentFrequencies().arrays()) == DocumentFrequencies()
