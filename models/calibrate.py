"""Which backend is fastest on this machine without saying something else than float32: measured, and remembered.

CPUs differ by a factor of ten in bfloat16 and by three in int8, so nothing is assumed. A backend is taken only
if it ranks keyphrases as well as float32 (within one point) and keeps at least 85 % of the ten nearest neighbours.

"Ranks keyphrases" is the chance that a phrase of the title stands before one that is not in it. On 48 abstracts
that differs by 0.3 points from sample to sample between two equal backends; mean average precision by 1.7.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np

from indexer.errors import BackendUnavailable
from indexer.log import get_logger
from indexer.protocols import Encoding, Window
from models.backend_factory import make_backend
from models.backends import Floats
from models.bundle import Bundle
from models.encoder import WindowEncoder
from models.hardware import cpu_model, has_gpu, multiplies_bfloat16

SAMPLE = ("data", "arxiv_sample600.jsonl")  # in the package `indexer`
DOCUMENTS = 48
VECTORS = 400  # mentions among which neighbours are looked for
NEIGHBOURS = 10
ROUNDS = 3  # passes over all windows at most; the fastest counts, so that a busy moment does not decide
CLEAR = 1.3  # times as fast as the next one: no further round could turn that
PATIENCE = 5.0  # seconds after which no further round begins, on a slow or busy machine

KEYPHRASE_TOLERANCE = 1.0  # points
MIN_NEIGHBOURS = 0.85

FILE = "backends.json"
REMEMBERED = 20  # machines and bundles in that file

STOP_WORDS = frozenset(
    (  # noqa: SIM905 (a list of 70 strings is not easier to read)
        "a an and are as at be been but by can do does each for from has have how if in into is it its may more "
        "most not of on or our over show shows some such than that the their then there these they this those to "
        "under use used using via was we were what when where which while who will with"
    ).split()
)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


@dataclass(frozen=True)
class BackendResult:
    """How one backend did on this machine.

    Attributes:
        name: As in `indexer.settings.BACKENDS`.
        windows_per_second: Whole windows of about 100 word pieces with about 15 mentions, pooling included.
        keyphrases: Chance that a phrase of the abstract that its title has too is ranked before one that it has
            not, in points: 50 by lot, 100 at best. Mean over the abstracts.
        neighbours: Share of the ten nearest mentions that are also those of float32, 0 to 1.
        refused: Why it is not taken; empty when it may be.
    """

    name: str
    windows_per_second: float = 0.0
    keyphrases: float = 0.0
    neighbours: float = 0.0
    refused: str = ""


def chosen_backend(bundle: Bundle, home: Path, threads: int) -> str:
    """The backend for this bundle on this machine: as remembered in the home, or measured now.

    Raises:
        BackendUnavailable: None of them runs.
    """
    remembered = remembered_results(bundle, home, threads)
    if remembered is None:
        remembered = calibrate(bundle, home, threads)
    return choose(remembered)


def choose(results: Sequence[BackendResult]) -> str:
    """The fastest of those that are accurate enough.

    Raises:
        BackendUnavailable: There is none; the message has the reasons.
    """
    usable = [result for result in results if not result.refused]
    if not usable:
        reasons = "; ".join(f"{result.name}: {result.refused}" for result in results)
        raise BackendUnavailable(f"No backend can run this encoder here. {reasons}")
    return max(usable, key=lambda result: result.windows_per_second).name


def calibrate(bundle: Bundle, home: Path, threads: int) -> list[BackendResult]:
    """Measure all backends that may suit this machine, and remember the results in the home. Takes some seconds.

    The first is the float32 that the others are compared with.
    """
    log = get_logger(__name__)
    log.info("backends_measured_now", bundle=bundle.name)
    encoders: dict[str, WindowEncoder] = {}
    results: dict[str, BackendResult] = {}
    for name in candidates():
        if name == "torch-fp32" and encoders:
            continue  # the same float32 as onnx-fp32, and seconds to import
        try:
            encoders[name] = WindowEncoder(bundle, make_backend(bundle, name, home=home, threads=threads))
        except (BackendUnavailable, ImportError) as error:
            results[name] = BackendResult(name, refused=str(error))
    if encoders:
        sample = CalibrationSample.of(next(iter(encoders.values())))
        results.update(measure(encoders, sample))
    found = [results[name] for name in candidates() if name in results]
    _remember(bundle, home, threads, found)
    for result in found:
        log.info("backend_measured", **asdict(result))
    return found


def candidates() -> list[str]:
    """Backends worth trying here, float32 first.

    torch takes seconds to import, so it is tried only where it has units that onnxruntime does not use.
    """
    names = ["onnx-fp32", "torch-fp32", "onnx-int8"]
    if multiplies_bfloat16():
        names.append("torch-bf16")
    if has_gpu():
        names.append("torch")
    return names


@dataclass(frozen=True)
class CalibrationSample:
    """Texts to measure with.

    Attributes:
        windows: Of all documents, one after the other.
        documents: Document of each window.
        phrases: For each window, the normal form of each span.
        titled: For each document, the phrases that its title has.
    """

    windows: list[Window]
    documents: list[int]
    phrases: list[list[str]]
    titled: list[set[str]]

    @classmethod
    def of(cls, encoder: WindowEncoder) -> CalibrationSample:
        """Cut the shipped abstracts into windows that fit the encoder, with candidate phrases as spans."""
        sample = cls([], [], [], [])
        for number, (title, text) in enumerate(_abstracts()):
            sample.titled.append({phrase for phrase, _ in _candidates(title)})
            for piece in _windows(text, encoder):
                found = list(_candidates(piece))
                sample.windows.append(Window(piece, tuple(span for _, span in found)))
                sample.documents.append(number)
                sample.phrases.append([phrase for phrase, _ in found])
        return sample


def measure(encoders: dict[str, WindowEncoder], sample: CalibrationSample) -> dict[str, BackendResult]:
    """Run all encoders over the sample, in turns, and compare each with the first."""
    seconds = dict.fromkeys(encoders, float("inf"))
    encodings: dict[str, list[Encoding]] = {}
    for encoder in encoders.values():
        encoder.encode(sample.windows[:4])  # the first pass allocates
    began = time.perf_counter()
    for done in range(ROUNDS):
        if done and (time.perf_counter() - began > PATIENCE or _is_clear(seconds.values())):
            break
        for name, encoder in encoders.items():
            start = time.perf_counter()
            encodings[name] = encoder.encode(sample.windows)
            seconds[name] = min(seconds[name], time.perf_counter() - start)

    reference = next(iter(encoders))
    nearest = _nearest(encodings[reference])
    results: dict[str, BackendResult] = {}
    for name, found in encodings.items():
        kept = [len(a & b) / len(a) for a, b in zip(nearest, _nearest(found), strict=True) if a]
        result = BackendResult(
            name,
            windows_per_second=round(len(sample.windows) / seconds[name], 1),
            keyphrases=round(keyphrase_points(found, sample), 2),
            neighbours=round(float(np.mean(kept)), 4),
        )
        results[name] = replace(result, refused=_too_different(result, results.get(reference, result)))
    return results


def _is_clear(seconds: Iterable[float]) -> bool:
    """Whether the fastest is far ahead of all others."""
    first, *others = sorted(seconds)
    return not others or others[0] > CLEAR * first


def _too_different(result: BackendResult, reference: BackendResult) -> str:
    """Why the accuracy of `result` is not enough; empty when it is."""
    if result.keyphrases < reference.keyphrases - KEYPHRASE_TOLERANCE:
        return f"keyphrases {result.keyphrases:.1f}, float32 {reference.keyphrases:.1f}"
    if result.neighbours < MIN_NEIGHBOURS:
        return f"keeps {result.neighbours:.0%} of the nearest neighbours, {MIN_NEIGHBOURS:.0%} are needed"
    return ""


def keyphrase_points(encodings: Sequence[Encoding], sample: CalibrationSample) -> float:
    """See `BackendResult.keyphrases`. Phrases are ranked by cosine to their document plus their share of attention."""
    points: list[float] = []
    for number, titled in enumerate(sample.titled):
        mine = [at for at, document in enumerate(sample.documents) if document == number]
        document = np.sum([encodings[at].document * encodings[at].tokens for at in mine], axis=0)
        document = document / max(float(np.linalg.norm(document)), 1e-12)
        scores: dict[str, float] = {}
        for at in mine:
            found = encodings[at]
            together = found.mentions @ document + found.attention / max(
                float(found.attention.max(initial=0)), 1e-12
            )
            for phrase, score in zip(sample.phrases[at], together.tolist(), strict=True):
                scores[phrase] = max(scores.get(phrase, score), score)
        right = np.array([score for phrase, score in scores.items() if phrase in titled])
        wrong = np.array([score for phrase, score in scores.items() if phrase not in titled])
        if len(right) and len(wrong):
            points.append(float(np.mean(right[:, None] > wrong[None, :])))
    return 100 * float(np.mean(points)) if points else 0.0


def _nearest(encodings: Sequence[Encoding]) -> list[set[int]]:
    """The ten nearest others of some 400 mentions, spread evenly over the sample."""
    vectors: Floats = np.concatenate([encoding.mentions for encoding in encodings])
    vectors = vectors[np.linspace(0, len(vectors) - 1, min(VECTORS, len(vectors))).astype(int)]
    similar = vectors @ vectors.T
    np.fill_diagonal(similar, -np.inf)
    count = min(NEIGHBOURS, len(vectors) - 1)
    return [set(row.tolist()) for row in np.argsort(-similar, axis=1, kind="stable")[:, :count]]


# -- the sample


def _abstracts() -> Iterator[tuple[str, str]]:
    """Title and text of the first shipped abstracts."""
    file = resources.files("indexer").joinpath(*SAMPLE)
    with file.open(encoding="utf-8") as lines:
        for line, _ in zip(lines, range(DOCUMENTS), strict=False):
            record = json.loads(line)
            yield record["title"], record["text"]


def _windows(text: str, encoder: WindowEncoder) -> Iterator[str]:
    """Pack whole sentences into windows; a sentence that is too long alone is left out."""
    sentences = SENTENCE_END.split(text)
    lengths = encoder.count_tokens(sentences)
    packed: list[str] = []
    total = 0
    for sentence, length in zip(sentences, lengths, strict=True):
        if packed and total + length > encoder.window_tokens:
            yield " ".join(packed)
            packed, total = [], 0
        if length <= encoder.window_tokens:
            packed.append(sentence)
            total += length
    if packed:
        yield " ".join(packed)


def _candidates(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """One to three words side by side without a stop word: lower case, and where they stand.

    Pairs and triples all, single words only when they are long: about 15 in a window.
    """
    words = [match for match in WORD.finditer(text)]
    at = 0
    while at < len(words):
        run = [words[at]]
        while (
            len(run) < 3
            and at + len(run) < len(words)
            and text[run[-1].end() : words[at + len(run)].start()] == " "
            and words[at + len(run)].group().lower() not in STOP_WORDS
            and run[0].group().lower() not in STOP_WORDS
        ):
            run.append(words[at + len(run)])
        start, end = run[0].start(), run[-1].end()
        if run[0].group().lower() not in STOP_WORDS and (len(run) > 1 or end - start > 6):
            yield text[start:end].lower(), (start, end)
        at += len(run)


# -- what is remembered


def remembered_results(bundle: Bundle, home: Path, threads: int) -> list[BackendResult] | None:
    """Results of an earlier calibration on such a machine with such libraries; None when there are none."""
    entry = _read(home / FILE).get(_key(bundle, threads))
    try:
        return [BackendResult(**result) for result in entry["results"]] if entry else None
    except (KeyError, TypeError):
        return None


def _remember(bundle: Bundle, home: Path, threads: int, results: Sequence[BackendResult]) -> None:
    """Add results to the file in the home; the oldest entries go."""
    entries = _read(home / FILE)
    entries.pop(_key(bundle, threads), None)
    entries[_key(bundle, threads)] = {
        "bundle": bundle.name,
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "results": [asdict(result) for result in results],
    }
    home.mkdir(parents=True, exist_ok=True)
    part = home / f"{FILE}.{os.getpid()}.part"
    kept = dict(list(entries.items())[-REMEMBERED:])
    part.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, home / FILE)


def _read(path: Path) -> dict[str, Any]:
    """The file's entries; none when it is missing or damaged, since all of it can be measured again."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _key(bundle: Bundle, threads: int) -> str:
    """What the results hold for. A new library version may be faster, or compute something else."""
    versions = " ".join(f"{name}={_version(name)}" for name in ("onnxruntime", "torch"))
    return f"{bundle.fingerprint[:16]} | {cpu_model()} | threads={threads} gpu={has_gpu()} | {versions}"


def _version(package: str) -> str:
    """The version of an installed package; empty without it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
