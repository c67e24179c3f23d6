"""`indexer evaluate texts`: do short texts of one label cluster together? (HS-GC, section 4.4.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from indexer.common import batches
from indexer.protocols import Encoder, Progress, no_progress
from trainer.evaluation.clustering import Clusters, ground_truth, kmeans, scored
from trainer.evaluation.lines import Line, read_lines
from trainer.evaluation.published import published_for
from trainer.evaluation.table import Table

CHUNK = 1_024  # texts encoded at once
PROTOCOL = (
    "true number of clusters; K-means on document vectors; accuracy by the Hungarian method, NMI by the arithmetic "
    "mean; labels only score"
)


def evaluate_texts(
    path: Path,
    *,
    encoder: Encoder,
    others: Mapping[str, Sequence[Encoder]] | None = None,
    seeds: Sequence[int] = range(5),
    limit: int | None = None,
    published: str = "",
    progress: Progress = no_progress,
) -> Table:
    """Cluster the texts of a file and compare the clusters with their labels.

    Args:
        path: JSON Lines (.gz or not) with ``text`` and ``label``.
        others: Further rows by name; the last one is the main row. Several encoders in a row are trainings with other
            seeds.
        seeds: One clustering of each encoder per seed.
        limit: Number of texts of a sample.
        published: Name of the set in `trainer.evaluation.published`; empty for no published rows.

    Raises:
        InputError: A line is not such an object, or there is one label only.
    """
    figures = published_for("texts", published, limit=limit)
    pairs = read_lines(path, _labelled, limit)
    labels = ground_truth(path, [label for _, label in pairs])
    number = int(labels.max()) + 1
    rows = {
        name: scored(labels, _clusterings([text for text, _ in pairs], number, encoders, seeds, progress))
        for name, encoders in {"K-means": [encoder], **(others or {})}.items()
    }
    return Table(
        task="texts",
        data=str(path),
        size={"texts": len(pairs), "labels": number},
        bundle=encoder.bundle,
        protocol=PROTOCOL,
        seeds=seeds,
        rows=rows,
        main=[*rows][-1],
        published=figures,
        published_set=published,
    )


def number_of_labels(path: Path) -> int:
    """The true number of clusters, which the papers give to their methods."""
    return len({label for _, label in read_lines(path, _labelled, None)})


def _clusterings(
    texts: Sequence[str], number: int, encoders: Sequence[Encoder], seeds: Sequence[int], progress: Progress
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
