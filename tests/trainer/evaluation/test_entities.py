"""Mentions in sentences: how they are read, encoded and linked, and what comes out."""

from __future__ import annotations

import json

import pytest
from hash_encoder import HashEncoder

from indexer.common import unit
from indexer.errors import InputError
from indexer.protocols import Window
from trainer.evaluation.entities import Entity, encode_mentions, evaluate_entities, phrases_and_relations
from trainer.evaluation.lines import Line


class KindEncoder(HashEncoder):
    """Puts cities along one direction and drugs along another, with a little of the words themselves."""

    def _mean(self, text):
        kind = self.vector("drug" if "drug" in text else "city")
        return unit(kind + 0.2 * super()._mean(text))


def line(sentence, phrase, label):
    start = sentence.index(phrase)
    return {
        "sentence": sentence,
        "start": start,
        "end": start + len(phrase),
        "phrase": phrase,
        "label": label,
    }


def entity(sentence, phrase, label="x"):
    start = sentence.index(phrase)
    return Entity(Line("f:1", {}), sentence, start, start + len(phrase), label)


@pytest.fixture
def data(tmp_path):
    lines = []
    for i in range(12):
        lines += [line(f"We took drug{i} there.", f"drug{i}", "Chemical")]
        lines += [line(f"We saw town{i} and town{i + 1}.", f"town{i + j}", "Place") for j in (0, 1)]
    path = tmp_path / "wnut2017.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in lines))
    return path


@pytest.mark.slow
def test_kinds_that_lie_apart_are_found(data):
    encoder = KindEncoder()
    found = evaluate_entities(data, encoders=[encoder], seeds=range(2), published="wnut2017").as_json()
    assert found["task"] == "entities"
    assert (found["mentions"], found["labels"], found["phrases"], found["links"]) == (36, 2, 25, 12)
    assert list(found["rows"]) == ["K-means", "K-means, smoothed", "mixture", "mixture, smoothed"]
    assert found["metrics"] == found["rows"]["mixture, smoothed"]
    for figures in found["rows"].values():
        assert figures["acc"] == {"mean": 1.0, "spread": 0.0}
    assert found["published"]["UCTopic"] == {"acc": 0.521, "nmi": 0.314}
    assert len(encoder.windows) == 24  # one per sentence, not one per mention


def test_one_label_is_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        "".join(json.dumps(line(f"in {name}", name, "Place")) + "\n" for name in ("Rome", "Oslo"))
    )
    with pytest.raises(InputError, match=r"x\.jsonl: every label is 'Place'; clusters are"):
        evaluate_entities(path, encoders=[HashEncoder()])


def test_a_sentence_is_one_window_wherever_its_mentions_stand():
    mentions = [entity("Rome and Oslo", "Oslo"), entity("in Paris", "Paris"), entity("Rome and Oslo", "Rome")]
    encoder = HashEncoder()
    vectors, cut = encode_mentions(encoder, mentions)
    assert encoder.windows == [Window("Rome and Oslo", ((9, 13), (0, 4))), Window("in Paris", ((3, 8),))]
    assert cut == 0
    for vector, mention in zip(vectors, mentions, strict=True):
        assert vector == pytest.approx(encoder.vector(mention.sentence[mention.start : mention.end]))


@pytest.mark.parametrize("place", [0, 7, 50, 98, 99])
def test_a_long_sentence_is_cut_to_a_full_window_around_each_mention(place):
    words = [f"word{i}" for i in range(100)]
    words[place] = "Rome"
    encoder = HashEncoder()  # windows of 24 words
    vectors, cut = encode_mentions(encoder, [entity(" ".join(words), "Rome")])
    [window] = encoder.windows
    assert cut == 1
    assert [window.text[start:end] for start, end in window.spans] == ["Rome"]
    kept = window.text.split()
    at = kept.index("Rome")
    assert kept == words[place - at : place - at + len(kept)]
    assert len(kept) == (23 if place == 50 else 24)  # eleven on either side, or up to the border
    assert at == {0: 0, 7: 7, 50: 11, 98: 22, 99: 23}[place]
    assert vectors[0] == pytest.approx(encoder.vector("Rome"))


def test_a_mention_longer_than_a_window_is_an_error():
    mention = entity("a " * 30 + "end", "a " * 29 + "a")
    with pytest.raises(InputError, match="f:1: the phrase is longer than a window of 24 tokens"):
        encode_mentions(HashEncoder(), [mention])


def test_phrases_by_normal_form_and_what_is_said_of_them():
    mentions = [
        entity("Cats and Dogs", "Cats"),
        entity("the cat", "the cat"),
        entity("Cats and Dogs", "Dogs"),
        entity("...", "..."),
        entity("heart failure (HF)", "HF"),
        entity("heart failure (HF)", "heart failure"),
    ]
    phrase, related = phrases_and_relations(mentions)
    assert phrase.tolist() == [0, 0, 1, 2, 3, 4]
    assert related.linked.tolist() == [[0, 1], [4, 3]]
    assert related.short.tolist() == [[4, 3]]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"end": 99}, '"start" 3 and "end" 99 must lie in the sentence of 7 characters'),
        ({"start": 7}, '"start" 7 and "end" 7 must lie'),
        ({"start": -4}, '"start" -4 and "end" 7 must lie'),
        ({"start": 2}, "\"phrase\" is 'Rome', but 2 to 7 of the sentence is ' Rome'"),
        ({"start": "3"}, '"start" must be a whole number, not "3"'),
        ({"label": None}, '"label" must be a text, not null'),
    ],
)
def test_bad_lines_are_named(tmp_path, changed, message):
    good = line("in Rome", "Rome", "Place")
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | changed) + "\n")
    with pytest.raises(InputError) as caught:
        evaluate_entities(path, encoders=[HashEncoder()])
    assert str(caught.value).startswith(f"{path}:2: {message}")
