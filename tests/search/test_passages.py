"""The sentence of a hit that is nearest to the query."""

from indexer.engines.base import NearSentence
from indexer.records import Document, StoredDocument
from indexer.search.passages import passages

DOCUMENT = StoredDocument(Document("d", "Wind blows. Rain falls. The sun shines.", "On weather."))


def test_the_nearest_sentence_of_each_text_is_chosen():
    other = StoredDocument(Document("e", "Rain falls.", ""))
    near = [
        NearSentence("d", "Wind blows.", 0.4),
        NearSentence("d", "The sun shines.", 0.6),
        NearSentence("e", "Rain falls.", 0.1),
    ]
    assert passages(near, [DOCUMENT, other]) == {"d": "The sun shines.", "e": "Rain falls."}


def test_titles_and_sentences_of_an_earlier_text_are_not_chosen():
    near = [
        NearSentence("d", "On weather.", 0.9),
        NearSentence("d", "Snow lies.", 0.8),
        NearSentence("d", "Rain falls.", 0.1),
        NearSentence("gone", "Rain falls.", 0.9),
    ]
    assert passages(near, [DOCUMENT]) == {"d": "Rain falls."}
    assert passages(near[:2], [DOCUMENT]) == {}
