"""What a server's counts are read as."""

from __future__ import annotations

from indexer.engines.elastic.search import counted


def bucket(key, documents, spelled):
    source = {"keyphrases": spelled}
    return {"key": key, "doc_count": documents, "spelling": {"hits": {"hits": [{"_source": source}]}}}


def test_what_is_counted_in_one_case_is_shown_as_a_document_spells_it():
    # Keyphrases are folded before they are sent; absent ones are written small by the server.
    own = [
        bucket("heat pump", 3, ["Solar Wind", "Heat Pump"]),
        bucket("strasse", 2, "Straße"),  # the only one of its document
        bucket("valve", 1, ["Other"]),
    ]
    absent = [bucket("straße", 2, ["STRASSE", "Straße"])]
    assert counted(
        {"0": {"buckets": own}, "1": {"buckets": absent}}, ["keyphrase", "absent_keyphrase"], 9
    ) == {"keyphrase": (("Heat Pump", 3), ("Straße", 2), ("valve", 1)), "absent_keyphrase": (("Straße", 2),)}


def test_values_with_equal_counts_stand_with_numbers_first_by_size():
    keys = ["b", "10", "9", "a"]
    buckets = [{"key": key, "doc_count": 2} for key in keys] + [{"key": "z", "doc_count": 5}]
    found = counted({"0": {"buckets": buckets}}, ["year", "none"], 9)
    assert found == {"year": (("z", 5), ("9", 2), ("10", 2), ("a", 2), ("b", 2)), "none": ()}
