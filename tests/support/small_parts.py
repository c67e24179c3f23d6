"""The two heavy parts made small, where a collection of the packaged bundle's dims is needed: encoder and tagger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hash_encoder import HashEncoder

from indexer.records import Mention, Prepared, Sentence
from indexer.text.normal_forms import normal_form
from indexer.text.untagged import plain_candidates, plain_sentences


class WideHashEncoder(HashEncoder):
    """With the dims and the window of the packaged bundle, which stays in the registry as it is."""

    dims = 384
    window_tokens = 128


class PlainPreparer:
    """Implements `indexer.text.Preparer` without spaCy: by punctuation and stop words."""

    name = "plain-0"

    def __init__(self, tagger="auto"):
        pass

    def prepare(self, documents):
        return [self._one(document) for document in documents]

    def _one(self, document):
        sentences, mentions = [], []
        for start, text in ((0, document.title), (document.text_start, document.text)):
            for begin, end in plain_sentences(text):
                sentences.append(Sentence(start + begin, start + end))
                for first, last in plain_candidates(text, begin, end):
                    phrase = normal_form(text[first:last])
                    if phrase:
                        mentions.append(Mention(start + first, start + last, phrase))
        return Prepared(tuple(sentences), tuple(mentions))


@contextmanager
def small_parts() -> Iterator[pytest.MonkeyPatch]:
    """No torch, no spaCy, no worker processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.load.load_encoder", lambda *args, **kwargs: WideHashEncoder())
        patch.setattr("indexer.text.pool._preparer", PlainPreparer)
        patch.setattr("indexer.collection.TAGGERS", 0)
        yield patch
