"""Rankers of keyphrases on disk: matrices among the heads of a bundle, and the texts of its vocabulary beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from indexer.errors import BackendUnavailable, BundleIncompatible, require
from indexer.keyphrases.absent import vocabulary
from indexer.keyphrases.ranker import DualEncoder, Ranker, Recombined
from indexer.records import Document
from indexer.text import stemmed
from models.bundle import Bundle
from models.weights import RANKER, Weights, read_heads

VOCABULARY = "vocabulary.json"  # texts of the vocabulary, and all labels: stems ► documents
STAGES = ("present", "absent")
PARTS = ("document", "document_bias", "phrase", "phrase_bias", "clues")


def read_ranker(bundle: Bundle) -> Ranker | None:
    """The ranker of a bundle, None where it has none.

    Raises:
        BundleIncompatible: A part of it is missing.
    """
    if f"{RANKER}present.document" not in bundle.heads:
        return None
    heads = read_heads(bundle)
    try:
        present, absent = (_dual(heads, stage) for stage in STAGES)
        said = json.loads((bundle.folder / VOCABULARY).read_text(encoding="utf-8"))
        texts, labels = said["texts"], said["labels"]
        stems = [stemmed(text) for text in texts]
        known = vocabulary(
            texts,
            stems,
            [labels[stem] for stem in stems],
            list(heads[RANKER + "vocabulary.phrases"]),
            list(heads[RANKER + "vocabulary.documents"]),
        )
    except (KeyError, OSError, ValueError) as error:
        raise BundleIncompatible(
            f"The ranker of bundle '{bundle.name}' is damaged: {error}.", hint="Train it again."
        ) from error
    return Ranker(present, absent, labels, known, _generator(bundle))


def _generator(bundle: Bundle) -> Callable[[Document], Sequence[Recombined]] | None:
    """The decoder of a bundle that has one."""
    if bundle.base_config.get("model_type") != "bart":
        return None
    require(
        "torch", "transformers", extra="train", purpose=f"Bundle '{bundle.name}'", error=BackendUnavailable
    )
    from models.torch.generator import Generator  # which loads torch

    return Generator(bundle)


def _dual(heads: Weights, stage: str) -> DualEncoder:
    parts = {part: heads[f"{RANKER}{stage}.{part}"] for part in PARTS}
    return DualEncoder(**parts, threshold=float(heads[f"{RANKER}{stage}.threshold"][0]))


def ranker_heads(ranker: Ranker) -> Mapping[str, np.ndarray]:
    """What `read_ranker` reads, by name of the head."""
    found = {}
    for stage in STAGES:
        dual = getattr(ranker, stage)
        for part in PARTS:
            found[f"{RANKER}{stage}.{part}"] = getattr(dual, part)
        found[f"{RANKER}{stage}.threshold"] = np.array([dual.threshold], np.float32)
    found[RANKER + "vocabulary.phrases"] = ranker.vocabulary.phrases.astype(np.float16)
    found[RANKER + "vocabulary.documents"] = ranker.vocabulary.documents.astype(np.float16)
    return found


def vocabulary_json(ranker: Ranker) -> str:
    """The contents of `VOCABULARY`."""
    said = {"texts": ranker.vocabulary.texts, "labels": ranker.labels}
    return json.dumps(said, ensure_ascii=False) + "\n"
