"""`indexer evaluate texts`: do short texts of one label lie together? (HS-GC, section 4.4.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from indexer.common import batches
from indexer.protocols import Encoder, Progress, no_progress
from trainer.evaluation.clustering import Clusters, kmeans, numbered, scored
from trainer.evaluation.lines import Line, read_lines
from trainer.evaluation.table import Published, Table, known

CHUNK = 1_024  # texts encoded at once
PROTOCOL = (
    "true number of clusters; K-means on document vectors; accuracy by the Hungarian method, NMI by the arithmetic "
    "mean; labels only score"
)

# ACC and NMI, 0 to 1. HS-GC: distilbert-nli (66 million parameters), trained on each set.
PUBLISHED: Mapping[str, Published] = {
    "agnews": {"HS-GC": {"acc": 0.877, "nmi": 0.669}},
    "searchsnippets": {"HS-GC": {"acc": 0.850, "nmi": 0.682}},
    "stackoverflow": {"HS-GC": {"acc": 0.746, "nmi": 0.671}},
    "googlenews": {"HS-GC": {"acc": 0.881, "nmi": 0.943}},
    "trec": {"HS-GC": {"acc": 0.433, "nmi": 0.157}},
}


def evaluate_texts(
    path: Path,
    *,
    encoder: Encoder,
    others: Mapping[str, Sequence[Encoder]] | None = None,
    seeds: Sequence[int] = range(5),
    limit: int | None = None,
    progress: Progress = no_progress,
) -> Table:
    """Cluster the texts of a file and compare the clusters with their labels.

    Args:
        path: JSON Lines (.gz or not) with ``text`` and ``label``.
        others: Further rows by their name; the last one is what this task is about. Several encoders in a row are
            trainings with other seeds.
        seeds: One clustering of each encoder each.
        limit: Number of texts of a sample.

    Raises:
        InputError: A line is not such an object.
    """
    pairs = read_lines(path, _labelled, limit)
    gold = numbered([label for _, label in pairs])
    labels = int(gold.max()) + 1
    rows = {
        name: scored(gold, _clusterings([text for text, _ in pairs], labels, encoders, seeds, progress))
        for name, encoders in {"K-means": [encoder], **(others or {})}.items()
    }
    return Table(
        task="texts",
        data=str(path),
        size={"texts": len(pairs), "labels": labels},
        bundle=encoder.bundle,
        protocol=PROTOCOL,
        seeds=seeds,
        rows=rows,
        main=[*rows][-1],
        published=known(path, PUBLISHED) if limit is None else {},  # which is for the whole set
    )


def number_of_labels(path: Path) -> int:
    """The true number of clusters, which the papers give to their methods."""
    return len({label for _, label in read_lines(path, _labelled, None)})


def _clusterings(
    texts: Sequence[str],
    number: int,
    encoders: Sequence[Encoder],
    seeds: Sequence[int],
    progress: Progress,
) -> Iterator[Clusters]:
    """K-means on the vectors of each encoder, once for each seed."""
    for encoder in encoders:
        parts = []
        for some in batches(texts, CHUNK):
            parts.append(encoder.encode_texts(some))
            progress("evaluate", sum(map(len, parts)), len(texts))
        vectors = np.concatenate(parts)
        yield from (kmeans(vectors, number, seed) for seed in seeds)


def _labelled(line: Line) -> tuple[str, str]:
    return line.text("text"), line.name("label")
