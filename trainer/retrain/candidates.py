"""Candidates: encoders that are adapted to a snapshot of the collection, on pairs, on clusters, or on both."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Literal, get_args

from indexer.errors import TrainingError
from indexer.log import get_logger
from indexer.protocols import Progress
from models.bundle import Bundle
from models.registry import Registry
from trainer.base.job import hashed
from trainer.uctopic.options import UCTopicOptions
from trainer.uctopic.train import train_uctopic

Method = Literal["pairs", "ccl", "both"]
METHODS: tuple[Method, ...] = get_args(Method)

STEPS = {"pairs": 600, "ccl": 200}
EVAL_EVERY = 50
MINED = "mined"  # folder next to the snapshot, for both trainings
PATIENCE = 150  # steps without a better score on held-back pairs after which a training stops
SHARES = {"pairs": {"pairs": 1.0}, "ccl": {"ccl": 1.0}, "both": {"pairs": 0.7, "ccl": 0.3}}  # of the budget

logger = get_logger(__name__)


@dataclass(frozen=True)
class Adaptation:
    """How candidates are trained.

    Attributes:
        name: Prefix of the names of new bundles.
        budget: Seconds for all candidates together; 0 = no limit.
        clusters: For CCL: the number of topics of the collection.
    """

    name: str
    method: Method
    budget: float
    clusters: int
    seed: int = 0
    tagger: str = "auto"
    threads: int = 0


def candidates(
    live: Bundle, snapshot: Path, adaptation: Adaptation, *, home: Path, progress: Progress
) -> Iterator[Bundle]:
    """Train one encoder after the other, each when the caller takes it.

    ``pairs`` is the recipe of `indexer train uctopic`; ``ccl`` the second stage of UCTopic (ACL 2022, 3.3) on the live
    encoder; ``both`` is pairs, and then CCL on these. A killed training resumes from its checkpoint. The names contain a
    fingerprint of everything that decides what is trained, and an encoder that exists is not trained again: a generation
    may have been mined with it.

    Raises:
        NotEnoughData, LossDiverged: Of the first training; one that follows is left out instead.
    """
    base = live
    if adaptation.method != "ccl":
        base = _trained(live, snapshot, adaptation, "pairs", home, progress)
        yield base
    if adaptation.method != "pairs":
        try:
            yield _trained(base, snapshot, adaptation, "ccl", home, progress)
        except TrainingError as error:
            if base is live:
                raise
            logger.warning("candidate_left_out", method="ccl", reason=str(error))


def _trained(
    base: Bundle,
    snapshot: Path,
    adaptation: Adaptation,
    stage: Literal["pairs", "ccl"],
    home: Path,
    progress: Progress,
) -> Bundle:
    options = UCTopicOptions(
        name=adaptation.name,
        corpus=(snapshot,),
        ccl=adaptation.clusters if stage == "ccl" else None,
        steps=STEPS[stage],
        budget=adaptation.budget * SHARES[adaptation.method][stage],
        eval_every=EVAL_EVERY,
        patience=PATIENCE,
        seed=adaptation.seed,
        licence=base.licence,
        tagger=adaptation.tagger,
        threads=adaptation.threads,
    )
    options = replace(options, name=f"{adaptation.name}-{_fingerprint(base, snapshot, options)}-{stage}")
    registry = Registry(home)
    if options.name in registry.list():
        return registry.get(options.name)
    return train_uctopic(base, options, home=home, mined=snapshot.parent / MINED, progress=progress)


def _fingerprint(base: Bundle, snapshot: Path, options: UCTopicOptions) -> str:
    """Changes with the encoder that a training starts from, the texts, the options, and the version of the program."""
    texts = hashlib.sha256(snapshot.read_bytes()).hexdigest()
    return hashed([base.fingerprint, texts, options.recorded(), metadata.version("indexer")])[:6]
