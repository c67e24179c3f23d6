"""`indexer evaluate texts`: do short texts of one label lie together? (HS-GC, section 4.4.)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from indexer.batches import batches
from indexer.encoding import Encoder
from indexer.progress import Progress, no_progress
from trainer.evaluation.clustering import kmeans, numbered, scored
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
    seeds: Sequence[int] = range(5),
    limit: int | None = None,
    progress: Progress = no_progress,
) -> Table:
    """Cluster the texts of a file and compare the clusters with their labels.

    Args:
        path: JSON Lines (.gz or not) with ``text`` and ``label``.
        seeds: One clustering each.
        limit: Only the first so many texts.

    Raises:
        InputError: A line is not such an object.
    """
    pairs = read_lines(path, _labelled, limit)
    gold = numbered([label for _, label in pairs])
    labels = int(gold.max()) + 1
    parts = []
    for some in batches((text for text, _ in pairs), CHUNK):
        parts.append(encoder.encode_texts(some))
        progress("evaluate", sum(map(len, parts)), len(pairs))
    vectors = np.concatenate(parts)
    return Table(
        task="texts",
        data=str(path),
        size={"texts": len(pairs), "labels": labels},
        bundle=encoder.bundle,
        protocol=PROTOCOL,
        seeds=seeds,
        rows={"K-means": scored(gold, [kmeans(vectors, labels, seed) for seed in seeds])},
        main="K-means",
        published=known(path, PUBLISHED) if limit is None else {},  # which is for the whole set
    )


def _labelled(line: Line) -> tuple[str, str]:
    return line.text("text"), line.name("label")
