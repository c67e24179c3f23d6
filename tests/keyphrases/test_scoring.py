import numpy as np
import pytest

from indexer.keyphrases.frequencies import DocumentFrequencies
from indexer.keyphrases.scoring import base_scores, choose
from indexer.records import EncodedDocument, Mention, MentionRow, Place, Sentence, phrase_id


def encoded(attention, vectors, starts=None, phrases=None):
    phrases = phrases or [f"p{i}" for i in range(len(attention))]
    starts = starts or [0] * len(attention)
    vectors = np.array(vectors, np.float32)
    return EncodedDocument(
        vector=np.array([1.0, 0.0], np.float32),
        phrases=tuple((Mention(s, s + 2, p),) for s, p in zip(starts, phrases, strict=True)),
        sentences=(Sentence(0, 10),) * len(attention),
        vectors=vectors,
        attention=np.array(attention, np.float32),
        relevance=vectors[:, 0],
        own=np.ones(len(vectors), np.float32),
    )


def row(phrase, score, surface=None):
    vector = np.array([1.0, 0.0], np.float32)
    place = (Place("text", 0, len(phrase)),)
    return MentionRow("d", phrase_id(phrase), phrase, surface or phrase, score, place, "", vector)


def test_base_scores_by_hand():
    # Attention 0 and e-1 scale to 0 and 1; cosines 1 and 0 to 1 and 0; both begin the document.
    scores = base_scores(encoded([0.0, np.e - 1], [[1, 0], [0, 1]]))
    assert scores.tolist() == pytest.approx([(0 + 0.2 + 0.3) / 1.5, (1 + 0 + 0.3) / 1.5], abs=1e-4)


def test_an_early_phrase_beats_a_late_one():
    early, late = base_scores(encoded([1, 1], [[1, 0], [1, 0]], starts=[0, 800]))
    assert early - late == pytest.approx(0.3 * (1 - 1 / 3) / 1.5, abs=1e-4)


def test_long_phrases_lose():
    short, long = base_scores(encoded([1, 1], [[1, 0], [1, 0]], phrases=["a b", "a b c d e"]))
    assert short - long == pytest.approx(0.4 / 1.5, abs=1e-4)


def test_no_phrases_no_scores():
    assert base_scores(encoded([], np.zeros((0, 2)))).shape == (0,)


def test_choose_prefers_the_rarer_of_two_equals():
    rows = [row("common thing", 0.5), row("rare thing", 0.5)]
    frequencies = DocumentFrequencies({phrase_id("common thing"): 90}, 100)
    assert [k.text for k in choose(rows, frequencies, 2)] == ["rare thing", "common thing"]


def test_choose_merges_near_duplicates_and_keeps_the_better():
    rows = [row("neural network", 0.9, "Neural networks"), row("neural networking", 0.8), row("sun", 0.1)]
    assert [k.text for k in choose(rows, DocumentFrequencies(), 5)] == ["Neural networks", "sun"]


def test_choose_keeps_places_and_orders_ties_by_phrase():
    chosen = choose([row("b", 0.5), row("a", 0.5)], DocumentFrequencies(), 5)
    assert [k.text for k in chosen] == ["a", "b"]
    assert chosen[0].present
    assert chosen[0].places == (Place("text", 0, 1),)


def test_choose_stops_at_the_limit():
    assert len(choose([row(w, 0.5) for w in ("sun", "moon", "star")], DocumentFrequencies(), 2)) == 2
