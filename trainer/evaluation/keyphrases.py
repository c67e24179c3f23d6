"""`indexer evaluate keyphrases`: precision, recall and F1 of the keyphrases, after the unsupervised protocol.

Micro-averaged (sums over documents); gold are all keyphrases, in the text or not; a document may have fewer
predictions than k; both sides as Porter stems of lower-case alphanumeric tokens, a hyphen counting as a space, and
without duplicates. This is the protocol of SEKE 2022 and PromptRank (ACL 2023).
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from indexer.analysis.keyphrases import choose
from indexer.batches import batches
from indexer.encoding import Encoder
from indexer.errors import InputError
from indexer.pipeline import mined
from indexer.progress import Progress, no_progress
from indexer.records import Document, MentionRow
from indexer.text import stemmed
from indexer.text.parallel import PreparePool
from indexer.windows import encode_documents

RANKS = (5, 10, 15)
CHUNK = 16  # documents at once; full papers are long
PROTOCOL = (
    "unsupervised: micro-averaged F1, all gold keyphrases count, as many predictions as there are, "
    "Porter stems, lower case, hyphen = space"
)

# Published F1@5/10/15 in per cent, by a word in the file's name. SEKE 2022 is the method this follows (BERT-base,
# trained on each set); PromptRank (T5-base) is the highest published one without labels.
PUBLISHED: Mapping[str, Mapping[str, tuple[float | None, ...]]] = {
    "inspec": {"SEKE 2022": (20.61, 28.33, 30.04), "PromptRank": (31.73, 37.88, None)},
    "semeval2017": {"SEKE 2022": (21.30, 30.52, 34.48), "PromptRank": (27.14, 37.76, None)},
    "semeval2010": {"SEKE 2022": (10.85, 15.05, 16.01), "PromptRank": (17.24, 20.66, None)},
    "krapivin": {"PromptRank": (16.11, 16.71, None)},
    "nus": {"PromptRank": (17.24, 20.13, None)},
    "duc2001": {"PromptRank": (27.39, 31.59, None)},
}


@dataclass(frozen=True)
class Score:
    """Sums over documents at one rank."""

    found: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        return 100 * self.found / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return 100 * self.found / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Per cent."""
        total = self.predicted + self.gold
        return 200 * self.found / total if total else 0.0


@dataclass(frozen=True)
class KeyphraseTable:
    """The figures of one file."""

    data: str
    documents: int
    bundle: str
    tagger: str
    scores: Mapping[int, Score]  # rank ► score

    @property
    def rows(self) -> list[tuple[str, tuple[float | None, ...]]]:
        """Name of a method ► F1@5/10/15 in per cent; ours first."""
        ours = tuple(round(self.scores[k].f1, 2) for k in RANKS)
        name = Path(self.data).name.lower()
        published = next((rows for word, rows in PUBLISHED.items() if word in name), {})
        return [(f"indexer, {self.bundle}", ours), *((f"{n} (published)", v) for n, v in published.items())]

    def as_json(self) -> dict[str, Any]:
        """One object; figures in per cent. Nothing here depends on a seed, so every spread is 0."""
        metrics = {}
        for k, score in self.scores.items():
            for name in ("precision", "recall", "f1"):
                metrics[f"{name}@{k}"] = {"mean": round(getattr(score, name), 2), "spread": 0.0}
        return {
            "task": "keyphrases",
            "data": self.data,
            "documents": self.documents,
            "bundle": self.bundle,
            "tagger": self.tagger,
            "protocol": PROTOCOL,
            "seeds": [],
            "metrics": metrics,
            "published": {name: list(values) for name, values in self.rows[1:]},
        }

    def render(self) -> str:
        """The table as text."""
        width = max(len(name) for name, _ in self.rows)
        lines = [f"{self.data}: {self.documents} documents", f"Protocol: {PROTOCOL}", ""]
        lines.append(f"{'':{width}}  " + "  ".join(f"F1@{k:<4}" for k in RANKS))
        for name, values in self.rows:
            figures = "  ".join("   -   " if v is None else f"{v:6.2f} " for v in values)
            lines.append(f"{name:{width}}  {figures}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Gold:
    """A document and the keyphrases that people gave it, as stems."""

    document: Document
    keyphrases: frozenset[str]


def evaluate_keyphrases(
    path: Path,
    *,
    encoder: Encoder,
    tagger: str = "auto",
    limit: int | None = None,
    progress: Progress = no_progress,
) -> KeyphraseTable:
    """Extract keyphrases from every document of a file and score them.

    The collection that says how rare a phrase is, is the file itself.

    Args:
        path: JSON Lines (.gz or not) with ``text``, ``keyphrases`` (a list), and maybe ``id`` and ``title``.
        limit: Only the first so many documents.

    Raises:
        InputError: A line is not such an object.
    """
    gold = list(read_gold(path, limit))
    rows: list[Sequence[MentionRow]] = []
    with PreparePool(1, tagger) as pool:
        pieces = batches((g.document for g in gold), CHUNK)
        for documents, outcomes, _ in pool.prepare_chunks(pieces):
            for document, outcome in zip(documents, outcomes, strict=True):
                if isinstance(outcome, InputError):
                    raise outcome
                encoded = encode_documents(encoder, [document], [outcome])[0]
                rows.append([_light(r) for r in mined(document, encoded, encoder.bundle, "", 1).mentions])
            progress("evaluate", len(rows), len(gold))
    frequencies = Counter(row.phrase_id for some in rows for row in some)
    predictions = [
        [stemmed(k.text) for k in choose(some, frequencies, len(gold), max(RANKS))] for some in rows
    ]
    scores = {k: score(predictions, [g.keyphrases for g in gold], k) for k in RANKS}
    return KeyphraseTable(str(path), len(gold), encoder.bundle, tagger, scores)


def score(predictions: Sequence[Sequence[str]], gold: Sequence[frozenset[str]], k: int) -> Score:
    """Count the first `k` predictions of each document against its gold keyphrases; both are stems."""
    found = sum(len(set(mine[:k]) & theirs) for mine, theirs in zip(predictions, gold, strict=True))
    return Score(found, sum(len(set(mine[:k])) for mine in predictions), sum(map(len, gold)))


def read_gold(path: Path, limit: int | None = None) -> Iterator[Gold]:
    """Documents with their keyphrases."""
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8") as lines
    ):
        for number, line in enumerate(lines, 1):
            if limit is not None and number > limit:
                return
            try:
                item = json.loads(line)
                stems = frozenset(stemmed(k) for k in item["keyphrases"])
                document = Document(str(item.get("id", number)), item["text"], item.get("title") or "")
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(
                    f'{path}:{number}: expected an object with "text" and a list "keyphrases" ({error}).'
                ) from error
            yield Gold(document, stems - {""})


def _light(row: MentionRow) -> MentionRow:
    """Without vector and places, so that a large file fits in memory."""
    return replace(row, vector=np.zeros(0, np.float32), places=())
