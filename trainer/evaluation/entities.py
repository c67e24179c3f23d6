"""`indexer evaluate entities`: do mentions of one kind of entity cluster together? (UCTopic, ACL 2022, section 4.2.)

Each mention has a vector in its sentence; the vectors are clustered into as many clusters as there are kinds, and the
clusters are compared with the kinds. Four rows, all from the same vectors: K-means, as published, and a mixture of
Gaussians, each on the vectors as they are and smoothed over phrases (`trainer.evaluation.smoothing`). Indexing uses
neither mixture nor smoothing: the rows with them show what the vectors hold, not what topics of a collection score.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, batches
from indexer.protocols import Encoder, Progress, Window, no_progress
from indexer.text import normal_form
from indexer.text.linking import coordinated, short_forms
from trainer.evaluation.clustering import Clusters, ground_truth, kmeans, mixture, scored
from trainer.evaluation.lines import Line, read_lines
from trainer.evaluation.published import published_for
from trainer.evaluation.smoothing import Related, smoothed
from trainer.evaluation.table import Table

CHUNK = 512  # windows encoded at once
MAIN = "mixture, smoothed"
PROTOCOL = (
    "true number of clusters; accuracy by the Hungarian method, NMI by the arithmetic mean; every row on the same "
    "vectors, of mentions in their sentences; labels only score (those of UCTopic with CCL chose its epoch too); mixture "
    "and smoothing belong to this evaluation, indexing does not use them"
)

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
    published: str = "",
    progress: Progress = no_progress,
) -> Table:
    """Cluster the mentions of a file and compare the clusters with their labels.

    Args:
        path: JSON Lines (.gz or not) with ``sentence``, ``start``, ``end``, ``phrase`` and ``label``.
        encoders: Each row is the mean over all of them, as for an encoder that was trained with several seeds.
        seeds: One clustering each.
        limit: Number of mentions of a sample; those of one sentence are sampled together.
        published: Name of the set in `trainer.evaluation.published`; empty for no published rows.

    Raises:
        InputError: A line is not such an object, or there is one label only.
    """
    figures = published_for("entities", published, limit=limit)
    mentions = read_lines(path, _entity, limit, key="sentence")
    labels = ground_truth(path, [mention.label for mention in mentions])
    kinds = int(labels.max()) + 1
    phrase, related = phrases_and_relations(mentions)
    encoded = [encode_mentions(encoder, mentions, progress) for encoder in encoders]
    spaces = {
        "": [vectors for vectors, _ in encoded],
        ", smoothed": [smoothed(vectors, phrase, related) for vectors, _ in encoded],
    }
    methods: dict[str, Callable[[Floats, int, int], Clusters]] = {"K-means": kmeans, "mixture": mixture}
    rows = {
        method + space: scored(
            labels, [cluster(points, kinds, seed) for points in spaces[space] for seed in seeds]
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
        published=figures,
        published_set=published,
        more={
            "phrases": int(phrase.max()) + 1,
            "links": len(related.linked),
            "short_forms": len(related.short),
            "cut_windows": encoded[0][1],
        },
    )


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
    """The phrase of each mention, by normal form: int [n]; and the relations of these phrases."""
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
    """The widest window of whole words around a mention, with equally many words on either side where possible."""
    words = [match.span() for match in _WORD.finditer(mention.sentence)]
    inside = [i for i, (start, end) in enumerate(words) if start < mention.end and end > mention.start]

    def within(distance: int) -> tuple[int, int]:
        """Offsets of the text up to `distance` words away."""
        first, last = max(inside[0] - distance, 0), min(inside[-1] + distance, len(words) - 1)
        return words[first][0], words[last][1]

    def tokens(distance: int) -> int:
        start, end = within(distance)
        return encoder.count_tokens([mention.sentence[start:end]])[0]

    widest = bisect_right(range(len(words)), encoder.window_tokens, key=tokens) - 1
    if widest < 0:
        raise mention.line.wrong(f"the phrase is longer than a window of {encoder.window_tokens} tokens.")
    start, end = within(widest)
    return Window(mention.sentence[start:end], ((mention.start - start, mention.end - start),))
