"""English words, as far as the packaged encoder has them as one word piece: some 22,000, the frequent ones."""

from __future__ import annotations

import json
from functools import cache

from models.bundle import read_bundle
from models.registry import SHIPPED


@cache
def english_words() -> frozenset[str]:
    """Return them in small letters; read from the tokenizer's file once."""
    file = read_bundle(SHIPPED / "minilm-phrases").base_folder / "tokenizer.json"
    vocabulary = json.loads(file.read_text(encoding="utf-8"))["model"]["vocab"]
    return frozenset(word for word in vocabulary if word.isalpha())
