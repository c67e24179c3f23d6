"""Candidates: encoders that are adapted to a snapshot of the collection, in one way or another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Literal, get_args

from indexer.errors import TrainingError
from indexer.log import get_logger
from indexer.protocols import Progress
from models.bundle import Bundle
from models.registry import Registry
from trainer.base.job import hashed
from trainer.base.loop import TrainConfig
from trainer.train import (
    CCL_RATE,
    Sources,
    TrainingOptions,
    train_bundle,
)

Method = Literal["pairs", "ccl", "both"]
METHODS: tuple[Method, ...] = get_args(Method)

PAIR_STEPS = 600
CCL_STEPS = 200
EVAL_EVERY = 50
MINED = "mined"  # folder beside the snapshot, for both trainings
PATIENCE = 150  # steps without a better score on held-back pairs, after which a training stops
SHARES = {"pairs": {"pairs": 1.0}, "ccl": {"ccl": 1.0}, "both": {"pairs": 0.7, "ccl": 0.3}}  # of the budget

logger = get_logger(__name__)


@dataclass(frozen=True)
class Adaptation:
    """What is wanted.

    Attributes:
        name: What the names of new bundles begin with.
        budget: Seconds for all candidates together; 0 = as long as it takes.
        clusters: For CCL: as many as the collection has topics.
    """

    name: str
    method: Method
    budget: float
    clusters: int
    seed: int = 0
    tagger: str = "auto"
    threads: int = 0


def candidates(
    live: Bundle, snapshot: Path, wanted: Adaptation, *, home: Path, progress: Progress
) -> Iterator[Bundle]:
    """Train one encoder after the other, each as soon as it is asked for.

    ``pairs`` is the recipe of `indexer train uctopic`; ``ccl`` the second stage of UCTopic (ACL 2022, 3.3) on the live
    encoder; ``both`` is pairs, and then CCL on these. A training that was killed goes on from its checkpoint. The names
    tell all that decides what is trained, and what has been trained is not trained again: a generation may have been
    mined with it.

    Raises:
        NotEnoughData, LossDiverged: Of the first training; one that follows is left out instead.
    """
    base = live
    if wanted.method != "ccl":
        base = _trained(live, snapshot, wanted, "pairs", home, progress)
        yield base
    if wanted.method != "pairs":
        try:
            yield _trained(base, snapshot, wanted, "ccl", home, progress)
        except TrainingError as error:
            if base is live:
                raise
            logger.warning("candidate_left_out", method="ccl", reason=str(error))


def _trained(
    base: Bundle,
    snapshot: Path,
    wanted: Adaptation,
    recipe: Literal["pairs", "ccl"],
    home: Path,
    progress: Progress,
) -> Bundle:
    steps, rate = (PAIR_STEPS, TrainConfig.learning_rate) if recipe == "pairs" else (CCL_STEPS, CCL_RATE)
    config = TrainConfig(
        steps=steps,
        budget_s=wanted.budget * SHARES[wanted.method][recipe],
        learning_rate=rate,
        eval_every=EVAL_EVERY,
        patience=PATIENCE,
        seed=wanted.seed,
    )
    order = TrainingOptions(
        wanted.name,
        config,
        recipe="uctopic" if recipe == "pairs" else "ccl",
        clusters=wanted.clusters if recipe == "ccl" else 0,
        licence=base.licence,
        tagger=wanted.tagger,
        threads=wanted.threads,
    )
    order = replace(order, name=f"{wanted.name}-{_deciding(base, snapshot, order)}-{recipe}")
    registry = Registry(home)
    if order.name in registry.list():
        return registry.get(order.name)
    return train_bundle(
        base,
        Sources(corpus=(snapshot,)),
        order,
        home=home,
        mined=snapshot.parent / MINED,
        progress=progress,
    )


def _deciding(base: Bundle, snapshot: Path, order: TrainingOptions) -> str:
    """Changes with the encoder that a training begins from, the texts, the order, and the version of the program."""
    texts = hashlib.sha256(snapshot.read_bytes()).hexdigest()
    return hashed([base.fingerprint, texts, asdict(order), metadata.version("indexer")])[:6]
