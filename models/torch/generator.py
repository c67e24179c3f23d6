"""An encoder-decoder that writes keyphrases: for bundles whose base model is BART.

Its encoder gives vectors as any other does. Its decoder over-generates, with a large beam, what may be an absent
keyphrase (SimCKP, EMNLP Findings 2023, 4.3); which of it is one, the ranker says.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from indexer.keyphrases.ranker import Recombined
from indexer.records import Document
from indexer.text import stemmed
from models.bundle import Bundle
from models.tokens import TokenizerFile

BEAM = 50  # the paper's
MAX_SEQUENCE_LENGTH = 40  # word pieces that are written
MAX_TEXT_LENGTH = 512  # word pieces that are read
BETWEEN = "; "  # keyphrases of a sequence
FAMILY = "bart"


def load_bart(folder: Path) -> Any:
    """The model of a folder, from safetensors alone; no code of the folder is run."""
    from transformers import BartForConditionalGeneration

    return BartForConditionalGeneration.from_pretrained(
        folder, use_safetensors=True, local_files_only=True, trust_remote_code=False
    )


class Generator:
    """Writes keyphrases for documents. The model is loaded on first use."""

    def __init__(self, bundle: Bundle, beam: int = BEAM) -> None:
        self._bundle = bundle
        self._beam = beam
        self._lock = threading.Lock()

    @cached_property
    def _model(self) -> Any:
        return load_bart(self._bundle.base_folder).eval()

    @cached_property
    def _encoder(self) -> Any:
        from models.encoder import WindowEncoder
        from models.torch.backend import TorchBackend

        return WindowEncoder(self._bundle, TorchBackend(self._bundle, "torch-fp32", torch.get_num_threads()))

    def __call__(self, document: Document) -> list[Recombined]:
        """Everything that the beam has written, each phrase once, with its vector standing alone."""
        file = self._bundle.base_folder / "tokenizer.json"
        with self._lock:
            texts = written(self._model, file, document.content, self._beam)
            vectors = self._encoder.encode_phrases(texts)
        return [(text, stemmed(text), vector) for text, vector in zip(texts, vectors, strict=True)]


def written(model: Any, tokenizer: Path, text: str, beam: int) -> list[str]:
    """Phrases of all sequences of the beam, the best sequence first; of those with the same stems the first."""
    words = TokenizerFile(tokenizer)
    [ids] = words.ids([text])
    whole = torch.tensor([[*words.prefix, *ids[:MAX_TEXT_LENGTH].tolist(), *words.suffix]])
    with torch.inference_mode():
        sequences = model.generate(
            whole,
            attention_mask=torch.ones_like(whole),
            num_beams=beam,
            num_return_sequences=beam,
            max_new_tokens=MAX_SEQUENCE_LENGTH,
            do_sample=False,
        )
    return phrases_of(Tokenizer.from_file(str(tokenizer)).decode_batch(sequences.tolist()))


def phrases_of(sequences: Sequence[str]) -> list[str]:
    """Take sequences apart."""
    found: dict[str, str] = {}
    for sequence in sequences:
        for text in sequence.split(BETWEEN.strip()):
            phrase = " ".join(text.split())
            if stem := stemmed(phrase):
                found.setdefault(stem, phrase)
    return list(found.values())
