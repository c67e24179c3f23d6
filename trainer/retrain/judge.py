"""Judges encoders for a collection by its frozen probe, the user's labelled examples, and the gate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

from indexer.catalog import Catalog
from indexer.engines.base import Engine
from indexer.errors import InputError, LossDiverged
from indexer.protocols import Encoder, Progress
from indexer.records import leaves
from indexer.settings import Settings
from models.bundle import Bundle
from models.registry import Registry
from models.tokens import TokenizerFile
from trainer.retrain.gate import Report, judge
from trainer.retrain.ground_truth import GroundTruth, fingerprint, read_ground_truth
from trainer.retrain.measure import Measured, measure, speed
from trainer.retrain.probe import Probe, check_enough, load_probe, make_probe, save_probe
from trainer.retrain.snapshot import documents_of, sampled

PROBE_DOCUMENTS = 400
PROBE_SHARE = 4  # at most one document in 4: the others are for training


class Judge:
    """Compares encoders with the live one.

    Args:
        live: The encoder of the collection.
        encoder: Returns the encoder of a bundle.
        ground_truth: File of the user's labelled examples.
        folder: Of the probe.
    """

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        catalog: Catalog,
        live: Bundle,
        encoder: Callable[[str], Encoder],
        *,
        ground_truth: Path | None,
        folder: Path,
        progress: Progress,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._catalog = catalog
        self._live = live
        self._encoder = encoder
        self._truth_file = ground_truth
        self._folder = folder
        self._progress = progress
        self._registry = Registry(settings.home)

    @cached_property
    def probe(self) -> Probe:
        """The frozen probe of the collection; created at first use, and when too many of its documents were deleted.

        Raises:
            NotEnoughData: The collection is too small to judge an encoder by.
        """
        file = self._folder / "probe.json.gz"
        frozen = load_probe(file) if file.exists() else None
        if frozen:
            known = self._catalog.ledger(self._settings.collection, [d.id for d in frozen.documents])
            left = frozen.without_missing(known)
            if left.is_enough:
                if left is not frozen:
                    save_probe(left, file)
                return left
        number = sum(self._catalog.count(self._settings.collection).values())
        most = min(PROBE_DOCUMENTS, number // PROBE_SHARE)
        check_enough(number, PROBE_SHARE)
        ids = sampled(self._catalog, self._settings.collection, most)
        self._progress("probe", 0, None)
        probe = make_probe(list(documents_of(self._engine, ids)), self._settings.tagger)
        save_probe(probe, file)
        return probe

    @cached_property
    def ground_truth(self) -> GroundTruth | None:
        """The labelled examples that can be used.

        Raises:
            InputError: The file has none.
        """
        if self._truth_file is None:
            return None
        truth = read_ground_truth(self._truth_file, self._engine, self._settings.tagger)
        for problem in truth.problems:
            self._progress(f"note: {problem}", 0, None)
        if not truth.queries and not truth.mentions:
            raise InputError(
                f"{self._truth_file}: no line can be used. {' '.join(truth.problems[:3])}".strip()
            )
        return truth

    def held_back(self) -> set[str]:
        """Ids of documents that decide, and that no training may use."""
        examples = self.ground_truth.documents if self.ground_truth else ()
        return {document.id for document in self.probe.documents} | {document.id for document, _ in examples}

    def judge(self, bundle: Bundle, kept: Path | None = None) -> Report:
        """Compare an encoder with the live one.

        Args:
            kept: A folder for the report, so that a resumed run does not measure again.
        """
        file = kept / f"judged-{self._fingerprint(bundle)}.json" if kept else None
        if file and file.exists():
            return Report.from_json(json.loads(file.read_text(encoding="utf-8")))
        try:
            new = self._measured(bundle)
        except LossDiverged as error:
            return Report((), (str(error),))
        report = judge(self._old, new, self._settings.gate, speed=self._speed(bundle))
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(report.as_json()), encoding="utf-8")
        return report

    def _speed(self, bundle: Bundle) -> float:
        """Speed relative to the live encoder; not measured where it is the same network on the same backend."""
        old, new = self._encoder_of(self._live), self._encoder_of(bundle)
        if _network(self._live, old) == _network(bundle, new):
            return 1.0
        return speed(old, new, self.probe)

    @cached_property
    def _old(self) -> Measured:
        return self._measured(self._live)

    def _measured(self, bundle: Bundle) -> Measured:
        probe, topics = self.probe, len(leaves(self._engine.topics()))
        self._progress("judge", 0, None)
        mask = TokenizerFile(bundle.base_folder / "tokenizer.json").mask_token
        return measure(self._encoder_of(bundle), probe, topics=topics, mask=mask, truth=self.ground_truth)

    def _encoder_of(self, bundle: Bundle) -> Encoder:
        return self._encoder(self._registry.address(bundle))

    def _fingerprint(self, bundle: Bundle) -> str:
        labels = fingerprint(self._truth_file) if self._truth_file else ""
        deciding = [self._live.fingerprint, bundle.fingerprint, asdict(self._settings.gate), labels]
        return hashlib.sha256(json.dumps(deciding).encode()).hexdigest()[:12]


def _network(bundle: Bundle, encoder: Encoder) -> tuple[object, ...]:
    """What its speed depends on; weights do not count."""
    return bundle.base_folder, bundle.pooling, bundle.window_tokens, encoder.bundle.rpartition("+")[2]
