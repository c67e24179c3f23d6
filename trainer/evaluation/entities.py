"""`indexer evaluate entities`: do mentions of one kind of entity lie together? (UCTopic, ACL 2022, section 4.2.)

Each mention has a vector in its sentence; the vectors are clustered into as many clusters as there are kinds, and the
clusters are compared with the kinds. Four rows, all from the same vectors: K-means, as published, and a Gaussian
mixture (`trainer.evaluation.mixture`), each on the vectors as they are and smoothed over the mentions of a phrase and
the phrases named side by side with it, short forms standing for their long forms (`indexer.text.linking`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, batches
from indexer.protocols import Encoder, Progress, Window, no_progress
from indexer.text import normal_form
from indexer.text.linking import (
    Related,
    coordinated,
    short_forms,
    smoothed,
)
from trainer.evaluation.clustering import Clusters, kmeans, numbered, scored
from trainer.evaluation.lines import Line, read_lines
from trainer.evaluation.mixture import fit_mixture
from trainer.evaluation.table import Published, Table, known

CHUNK = 512  # windows encoded at once
MAIN = "mixture, smoothed"
PROTOCOL = (
    "true number of clusters; accuracy by the Hungarian method, NMI by the arithmetic mean; every row on the same "
    "vectors, of mentions in their sentences; labels only score (those of UCTopic with CCL chose its epoch too)"
)

# ACC and NMI, 0 to 1. UCTopic is LUKE-base, pre-trained on 109 million pairs of Wikipedia; CCL trains it on each set.
PUBLISHED: Mapping[str, Published] = {
    "conll2003": {
        "UCTopic": {"acc": 0.743, "nmi": 0.495},
        "UCTopic without CCL": {"acc": 0.704, "nmi": 0.464},
        "Phrase-BERT": {"acc": 0.643, "nmi": 0.297},
    },
    "bc5cdr": {
        "UCTopic": {"acc": 0.981, "nmi": 0.865},
        "UCTopic without CCL": {"acc": 0.977, "nmi": 0.846},
        "Phrase-BERT": {"acc": 0.918, "nmi": 0.617},
    },
    "movie": {
        "UCTopic": {"acc": 0.942, "nmi": 0.661},
        "UCTopic without CCL": {"acc": 0.845, "nmi": 0.439},
        "Phrase-BERT": {"acc": 0.916, "nmi": 0.575},
    },
    "wnut": {
        "UCTopic": {"acc": 0.521, "nmi": 0.314},
        "UCTopic without CCL": {"acc": 0.509, "nmi": 0.287},
        "Phrase-BERT": {"acc": 0.452, "nmi": 0.241},
    },
}

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Entity:
    """A mention in its sentence, and its kind."""

    line: Line
    sentence: str
    start: int
    end: int
    label: str


def evaluate_entities(
    path: Path,
    *,
    encoders: Sequence[Encoder],
    seeds: Sequence[int] = range(5),
    limit: int | None = None,
    progress: Progress = no_progress,
) -> Table:
    """Cluster the mentions of a file and compare the clusters with their labels.

    Args:
        path: JSON Lines (.gz or not) with ``sentence``, ``start``, ``end``, ``phrase`` and ``label``.
        encoders: One row has the mean over all of them, as for an encoder that was trained with several seeds.
        seeds: One clustering each.
        limit: Number of mentions of a sample; those of one sentence are sampled together.

    Raises:
        InputError: A line is not such an object.
    """
    mentions = read_lines(path, _entity, limit, key="sentence")
    gold = numbered([mention.label for mention in mentions])
    kinds = int(gold.max()) + 1
    phrase, related = phrases_and_relations(mentions)
    encoded = [encode_mentions(encoder, mentions, progress) for encoder in encoders]
    spaces = {
        "": [vectors for vectors, _ in encoded],
        ", smoothed": [smoothed(vectors, phrase, related) for vectors, _ in encoded],
    }
    methods: dict[str, Callable[[Floats, int, int], Clusters]] = {"K-means": kmeans, "mixture": _mixture}
    rows = {
        method + space: scored(
            gold, [cluster(points, kinds, seed) for points in spaces[space] for seed in seeds]
        )
        for method, cluster in methods.items()
        for space in spaces
    }
    return Table(
        task="entities",
        data=str(path),
        size={"mentions": len(mentions), "labels": kinds},
        bundle=", ".join(encoder.bundle for encoder in encoders),
        protocol=PROTOCOL,
        seeds=seeds,
        rows=rows,
        main=MAIN,
        published=known(path, PUBLISHED) if limit is None else {},  # which is for the whole set
        more={
            "phrases": int(phrase.max()) + 1,
            "links": len(related.linked),
            "short_forms": len(related.short),
            "cut_windows": encoded[0][1],
        },
    )


def _mixture(vectors: Floats, number: int, seed: int) -> Clusters:
    return fit_mixture(vectors, number, seed=seed).place(vectors)


def _entity(line: Line) -> Entity:
    sentence, phrase = line.text("sentence"), line.text("phrase")
    start, end = line.integer("start"), line.integer("end")
    if not 0 <= start < end <= len(sentence):
        raise line.wrong(
            f'"start" {start} and "end" {end} must lie in the sentence of {len(sentence)} characters.'
        )
    if sentence[start:end] != phrase:
        raise line.wrong(
            f"\"phrase\" is '{phrase}', but {start} to {end} of the sentence is '{sentence[start:end]}'."
        )
    return Entity(line, sentence, start, end, line.name("label"))


def phrases_and_relations(mentions: Sequence[Entity]) -> tuple[NDArray[np.intp], Related]:
    """The phrase of each mention, by normal form: int [n]; and what the sentences say of these phrases."""
    order: dict[str, int] = {}
    surfaces = [mention.sentence[mention.start : mention.end] for mention in mentions]
    phrase = np.array([order.setdefault(normal_form(text) or text, len(order)) for text in surfaces], np.intp)
    together: list[tuple[int, int]] = []  # rows
    short: list[tuple[int, int]] = []
    for sentence, members in _by_sentence(mentions).items():
        spans = [(mentions[at].start, mentions[at].end) for at in members]
        together += [(members[a], members[b]) for a, b in coordinated(sentence, spans)]
        short += [(members[a], members[b]) for a, b in short_forms(sentence, spans)]
    return phrase, Related(_phrases(phrase, together + short), _phrases(phrase, short))


def _phrases(phrase: NDArray[np.intp], rows: list[tuple[int, int]]) -> NDArray[np.intp]:
    """Pairs of phrases for pairs of rows."""
    return phrase[np.array(rows, np.intp).reshape(-1, 2)]


def encode_mentions(
    encoder: Encoder, mentions: Sequence[Entity], progress: Progress = no_progress
) -> tuple[Floats, int]:
    """The vector of each mention in its sentence, one pass per sentence.

    A sentence that is longer than a window is cut to a window around each of its mentions.

    Returns:
        float32 [n, dims], unit length, and how many windows were cut.

    Raises:
        InputError: A mention alone is longer than a window.
    """
    sentences = _by_sentence(mentions)
    lengths = encoder.count_tokens(list(sentences))
    windows: list[tuple[Window, list[int]]] = []  # with the rows of its mentions
    cut = 0
    for (sentence, members), length in zip(sentences.items(), lengths, strict=True):
        if length <= encoder.window_tokens:
            spans = tuple((mentions[at].start, mentions[at].end) for at in members)
            windows.append((Window(sentence, spans), members))
        else:
            windows += [(_around(encoder, mentions[at]), [at]) for at in members]
            cut += len(members)
    vectors = np.zeros((len(mentions), encoder.dims), np.float32)
    done = 0
    for some in batches(windows, CHUNK):
        encodings = encoder.encode([window for window, _ in some])
        for (_, members), encoding in zip(some, encodings, strict=True):
            vectors[members] = encoding.mentions
            done += len(members)
        progress("evaluate", done, len(mentions))
    return vectors, cut


def _by_sentence(mentions: Sequence[Entity]) -> dict[str, list[int]]:
    """Sentence ► rows of its mentions."""
    found: dict[str, list[int]] = {}
    for row, mention in enumerate(mentions):
        found.setdefault(mention.sentence, []).append(row)
    return found


def _around(encoder: Encoder, mention: Entity) -> Window:
    """A window of whole words around a mention, as wide as it may be, with as many on either side as there are."""
    words = [match.span() for match in _WORD.finditer(mention.sentence)]
    inside = [i for i, (start, end) in enumerate(words) if start < mention.end and end > mention.start]

    def within(distance: int) -> tuple[int, int]:
        """Offsets of the text that is so many words away at most."""
        first, last = max(inside[0] - distance, 0), min(inside[-1] + distance, len(words) - 1)
        return words[first][0], words[last][1]

    def tokens(distance: int) -> int:
        start, end = within(distance)
        return encoder.count_tokens([mention.sentence[start:end]])[0]

    widest = bisect_right(range(len(words)), encoder.window_tokens, key=tokens) - 1
    if widest < 0:
        raise mention.line.wrong(f"the phrase is longer than {encoder.window_tokens} word pieces, a window.")
    start, end = within(widest)
    return Window(mention.sentence[start:end], ((mention.start - start, mention.end - start),))
