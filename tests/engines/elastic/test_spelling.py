"""Near words, by what a server answers: what stands around stems that are near, and how many documents have a word."""

from __future__ import annotations

from indexer.engines.elastic import spelling
from indexer.engines.elastic.indices import Names

NAMES = Names.of("indexer", "main")


def highlighted(*texts):
    hits = [{"_id": f"{n}", "highlight": {"text": [text]}} for n, text in enumerate(texts)]
    return {"status": 200, "hits": {"hits": hits}}


def counted(documents):
    return {"status": 200, "hits": {"total": {"value": documents, "relation": "eq"}, "hits": []}}


def answered(stub, *answers):
    stub.mishaps.append(lambda items: (200, {"responses": list(answers)}))


def test_words_are_counted_in_their_order(stub, cluster):
    answered(stub, counted(3), counted(0))
    assert spelling.documents_of(cluster, NAMES, ["wind", "wimd"]) == {"wind": 3, "wimd": 0}
    assert spelling.documents_of(cluster, NAMES, []) == {}  # nothing is asked
    assert len(stub.requests) == 1


def test_of_near_words_the_one_that_most_documents_have_is_meant(stub, cluster):
    # Stems near "wimd" itself, and near its beginnings "wimd" and "wim".
    answered(stub, highlighted("the wind and"), highlighted("wild birds", "a wind"), highlighted())
    answered(stub, counted(4), counted(7))  # of "wild" and "wind", in the order of the alphabet
    assert spelling.near(cluster, NAMES, ["wimd"]) == {"wimd": "wind"}


def test_a_word_without_a_near_one_is_left_out(stub, cluster):
    answered(stub, highlighted("the ocean"), highlighted(), highlighted())
    assert spelling.near(cluster, NAMES, ["wimd"]) == {}
