"""The network, its training and its scores."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.errors import LossDiverged, NotEnoughData
from tools.tagger.treebank import TaggedSentence, example, passages, rewrite

PIPELINE_NAME = "ewt_tagger"
PIPELINE_VERSION = "1.0.0"
# What decides whether a word may be in a candidate phrase; the accuracy that matters to us.
NOMINAL = {"NN": "N", "NNS": "N", "NNP": "N", "NNPS": "N", "JJ": "J", "JJR": "J", "JJS": "J"}


@dataclass(frozen=True)
class TaggerConfig:
    """Sizes and schedule. The defaults are the shipped tagger."""

    width: int = 96
    vector_words: int = 12_000  # most frequent words of the raw text
    vector_dims: int = 48
    depth: int = 3  # convolutions over one neighbour on each side
    pieces: int = 3  # of each maxout
    rows: tuple[int, ...] = (2000, 300, 1500, 300)  # hash tables for norm, prefix, suffix, shape
    dropout: float = 0.2
    learning_rate: float = 1e-3
    warmup_steps: int = 100
    batch_words: int = 500
    minutes: float = 3.0  # of processor time: a busy machine trains no less; the learning rate ends at 0
    eval_every: int = 500  # updates
    seed: int = 7


@dataclass(frozen=True)
class Step:
    """One optimiser update."""

    number: int  # updates so far, from 1
    loss: float  # sum over the words of the batch, tagger and senter together
    learning_rate: float
    scores: dict[str, float] = field(default_factory=dict)  # empty when not evaluated
    is_best: bool = False


def new_pipeline(config: TaggerConfig, vectors: tuple[list[str], NDArray[np.float32]] | None = None) -> Any:
    """An untrained pipeline: one tok2vec that tagger and senter listen to, with or without word vectors."""
    from spacy.lang.en import English
    from spacy.vectors import Vectors

    nlp = English(meta={"name": PIPELINE_NAME, "version": PIPELINE_VERSION})
    if vectors is not None:
        words, rows = vectors
        keys = [nlp.vocab.strings.add(word) for word in words]
        nlp.vocab.vectors = Vectors(
            strings=nlp.vocab.strings, data=rows, keys=keys, attr="LOWER", name="neighbours"
        )
    nlp.add_pipe(
        "tok2vec",
        config={
            "model": {
                "@architectures": "spacy.Tok2Vec.v2",
                "embed": {
                    "@architectures": "spacy.MultiHashEmbed.v2",
                    "width": config.width,
                    "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
                    "rows": list(config.rows),
                    "include_static_vectors": vectors is not None,
                },
                "encode": {
                    "@architectures": "spacy.MaxoutWindowEncoder.v2",
                    "width": config.width,
                    "window_size": 1,
                    "maxout_pieces": config.pieces,
                    "depth": config.depth,
                },
            }
        },
    )
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": config.width, "upstream": "tok2vec"}
    head = {"@architectures": "spacy.Tagger.v2", "nO": None, "tok2vec": listener}
    nlp.add_pipe("tagger", config={"model": head})
    nlp.add_pipe("senter", config={"model": head})
    return nlp


def train(
    nlp: Any, sentences: Sequence[TaggedSentence], dev: Sequence[TaggedSentence], config: TaggerConfig
) -> Iterator[Step]:
    """Train until the time is up; averaged weights are in place whenever a step has scores.

    Raises:
        NotEnoughData: The treebank has no sentence.
        LossDiverged: The loss became NaN or infinite.
    """
    from spacy.util import fix_random_seed
    from thinc.api import Adam

    if not sentences:
        raise NotEnoughData("The treebank has no sentence to learn from.")
    fix_random_seed(config.seed)
    random_ = random.Random(config.seed)
    first = [example(nlp, [sentence.words]) for sentence in sentences]
    optimizer = Adam(
        learn_rate=config.learning_rate, grad_clip=1.0, L2=0.01, L2_is_weight_decay=True, use_averages=True
    )
    nlp.initialize(lambda: first, sgd=optimizer)
    dev_examples = whole_passages(nlp, dev)

    began = time.process_time()
    best = -math.inf
    number = 0
    for batch in batches(nlp, sentences, config, random_):
        number += 1
        done = (time.process_time() - began) / (60 * config.minutes)  # share of the time
        warmup = min(1.0, number / config.warmup_steps)
        optimizer.learn_rate = config.learning_rate * warmup * max(0.02, 1 - done)
        losses = nlp.update(batch, drop=config.dropout, sgd=optimizer, losses={})
        loss = float(sum(losses.values()))
        if not math.isfinite(loss):
            raise LossDiverged(
                f"The loss became {loss} at step {number}.",
                hint=f"Try a learning rate below {config.learning_rate:g}.",
            )
        if number % config.eval_every and done < 1:
            yield Step(number, loss, optimizer.learn_rate)
            continue
        with nlp.use_params(optimizer.averages):
            scores = evaluate(nlp, dev_examples)
            score = scores["tag_acc"] + 0.1 * scores["sents_f"]  # sentences get worse when trained long
            is_best = score > best  # strictly: on a tie the earlier one stays
            best = max(best, score)
            yield Step(number, loss, optimizer.learn_rate, scores, is_best)
        if done >= 1:
            return


def whole_passages(nlp: Any, sentences: Sequence[TaggedSentence]) -> list[Any]:
    """Examples for scoring: the treebank as it is, the same passages each time."""
    return [example(nlp, passage) for passage in passages(sentences, random.Random(0))]


def evaluate(nlp: Any, examples: Sequence[Any]) -> dict[str, float]:
    """Score predictions from raw text.

    Returns:
        `tag_acc`: share of the treebank's words that are tagged right (only those that spaCy's tokenizer also
        makes count); `nominal_acc`: the same when only noun, adjective and rest are told apart; `sents_f`: F1
        of sentences; all 0 to 1.
    """
    for eg, doc in zip(examples, nlp.pipe([eg.text for eg in examples], batch_size=128), strict=True):
        eg.predicted = doc
    right = nominal = total = 0
    for eg in examples:
        for token, tag in zip(eg.predicted, eg.get_aligned("TAG", as_string=True), strict=True):
            if tag is not None:
                total += 1
                right += token.tag_ == tag
                nominal += NOMINAL.get(token.tag_) == NOMINAL.get(tag)
    sentences = nlp.get_pipe("senter").score(examples)
    return {
        "tag_acc": right / max(1, total),
        "nominal_acc": nominal / max(1, total),
        "sents_f": float(sentences["sents_f"] or 0.0),
    }


def batches(
    nlp: Any, sentences: Sequence[TaggedSentence], config: TaggerConfig, random_: random.Random
) -> Iterator[list[Any]]:
    """Endless training batches of about `batch_words` words."""
    batch: list[Any] = []
    size = 0
    while True:
        for passage in passages(sentences, random_):
            batch.append(example(nlp, [rewrite(words, random_) for words in passage]))
            size += sum(map(len, passage))
            if size >= config.batch_words:
                yield batch
                batch, size = [], 0
