"""Text to word pieces and back to characters, by the `tokenizers` library alone: transformers takes seconds to import."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

Ints = NDArray[np.int64]

SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Tokens:
    """The word pieces of one text, without special ones.

    Attributes:
        ids: int64 [n].
        starts: int64 [n], first character of each piece in the text as it was given.
        ends: int64 [n], one past its last character.
    """

    ids: Ints
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.ids)


class TokenizerFile:
    """The tokenizer of a base model, with truncation and padding switched off: nothing is cut here."""

    def __init__(self, file: Path) -> None:
        self._tokenizer: Any = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        padding = self._tokenizer.token_to_id("[PAD]")
        self.padding: int = padding if padding is not None else self._tokenizer.token_to_id("<pad>") or 0
        mask = self._tokenizer.token_to_id("[MASK]")
        self.mask: int = mask if mask is not None else self._tokenizer.token_to_id("<mask>") or self.padding
        self.mask_token: str = self._tokenizer.id_to_token(self.mask) or ""
        probe = self._tokenizer.encode("a")
        words = [at for at, special in enumerate(probe.special_tokens_mask) if not special]
        self.prefix: list[int] = probe.ids[: words[0]]  # e.g. [CLS]
        self.suffix: list[int] = probe.ids[words[-1] + 1 :]  # e.g. [SEP]

    @property
    def size(self) -> int:
        """How many pieces there are; ids lie below."""
        return int(self._tokenizer.get_vocab_size())

    @property
    def specials(self) -> int:
        """How many special tokens stand around every text."""
        return len(self.prefix) + len(self.suffix)

    def split(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into word pieces with their characters."""
        return [
            Tokens(
                np.array(encoded.ids, dtype=np.int64),
                *np.array(encoded.offsets, dtype=np.int64).reshape(-1, 2).T,
            )
            for encoded in self._tokenizer.encode_batch(_clean(texts), add_special_tokens=False)
        ]

    def ids(self, texts: Sequence[str]) -> list[Ints]:
        """Split texts into word pieces, ids only: about twice as fast."""
        encoded = self._tokenizer.encode_batch_fast(_clean(texts), add_special_tokens=False)
        return [np.array(one.ids, dtype=np.int64) for one in encoded]

    def count(self, texts: Sequence[str]) -> list[int]:
        """Word pieces of each text, without special ones."""
        return [
            len(one) for one in self._tokenizer.encode_batch_fast(_clean(texts), add_special_tokens=False)
        ]


def _clean(texts: Sequence[str]) -> list[str]:
    """Replace lone surrogates (from broken JSON), which have no UTF-8, one for one, so that offsets stay right."""
    return [text if text.isascii() else SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text) for text in texts]
