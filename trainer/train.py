"""From sources to a bundle in the home: mine, train, write. The same call again goes on where a killed one stopped."""

from __future__ import annotations

import hashlib
import math
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from indexer.log import get_logger
from indexer.protocols import Progress, no_progress
from indexer.records import Document
from models.bundle import Bundle
from models.hardware import physical_cores
from models.registry import Registry
from models.tokens import TokenizerFile
from models.torch.network import Network
from models.weights import DOCUMENTS, HEADS, KEYPHRASES, RANKER, read_heads
from trainer.base.adapters import (
    Tensors,
    adapter_of,
    add_lora,
    only_layers,
)
from trainer.base.alignment import align_documents
from trainer.base.corpus import (
    Mined,
    found_in,
    given_mentions,
    mine,
)
from trainer.base.job import (
    documents_of,
    hashed,
    run,
    stamp,
    write,
)
from trainer.base.loop import Recipe, TrainConfig
from trainer.base.pairs import Mix, PairSampler
from trainer.base.partners import Partners
from trainer.phrase_bert.data import TripletSampler
from trainer.phrase_bert.recipe import PhraseBert
from trainer.seke.recipe import KeyphraseContrast
from trainer.uctopic.ccl import ClusterContrast
from trainer.uctopic.recipe import UCTopic

BATCH = 96  # pairs
TRIPLES = 16  # of each lesson of Phrase-BERT; the paper's
CCL_RATE = SEKE_RATE = 1e-5  # learning rates; the papers'
PHRASE_BERT_RATE = 5e-5  # the paper's is 2e-5, for twelve times as many steps
TARGET_SHARE = 0.5  # of the batches, when there is a target; less where that would be
TARGET_EPOCHS = 5  # or more for each phrase that two of its texts have: a small one is learned by heart
KEPT_TEXTS = 6_000  # whose document vectors should stay
KEPT_PIECES = 62  # of each, without the special ones
WINDOWS = 2_000  # whole ones, by which documents are settled too
SETTLING_SHARE = 0.15  # of a budget
SETTLED_BY = 3  # every third of the kept texts; each is encoded twice
WINDOW_SENTENCES = 5
FEW_TEXTS = 200  # below it, a warning
REPORT_EVERY = 64  # documents, while phrases are found
RecipeName = Literal["uctopic", "ccl", "seke", "phrase-bert"]
TITLES = {"uctopic": "UCTopic", "ccl": "UCTopic, CCL", "seke": "SEKE", "phrase-bert": "Phrase-BERT"}

logger = get_logger(__name__)


@dataclass(frozen=True)
class Sources:
    """What is learned from.

    Attributes:
        corpus: Files and folders as `indexer index` takes them: general text.
        target: The same: what the encoder is wanted for. Half of the batches come from here.
        mentions: JSON Lines with sentence, start, end (types are not read): a target whose mentions are known.
    """

    corpus: tuple[Path, ...] = ()
    target: tuple[Path, ...] = ()
    mentions: tuple[Path, ...] = ()


@dataclass(frozen=True)
class TrainingOptions:
    """What is wanted.

    Attributes:
        name: Of the new bundle.
        recipe: ``uctopic`` (pairs), ``ccl`` (clusters of the last source), ``seke`` (keyphrases) or ``phrase-bert``
            (phrases alone).
        clusters: For CCL.
        whole: For SEKE: whether the encoder is trained too, or the weights of phrases alone.
        lora: Rank of LoRA; 0 trains the layers whole.
        licence: Of the texts, for the card.
    """

    name: str
    config: TrainConfig
    recipe: RecipeName = "uctopic"
    clusters: int = 0
    whole: bool = True
    lora: int = 0
    licence: str = ""
    tagger: str = "auto"
    threads: int = 0


def train_bundle(
    base: Bundle,
    sources: Sources,
    order: TrainingOptions,
    *,
    home: Path,
    mined: Path | None = None,
    progress: Progress = no_progress,
) -> Bundle:
    """Train an encoder on unlabelled text, and put it into the home's bundles.

    What was trained already, by the same order on the same files, is returned as it is.

    Args:
        mined: A folder where what was mined stays, for another order on the same sources; None: it goes in the end.

    Raises:
        NotEnoughData: The sources have no phrases.
        LossDiverged: The learning rate is too high.
    """
    began = time.perf_counter()
    registry = Registry(home)
    asked = _asked(base, sources, order)
    if order.name in registry.list() and registry.get(order.name).training.get("asked") == asked:
        return registry.get(order.name)
    torch.set_num_threads(order.threads or physical_cores())
    torch.manual_seed(order.config.seed)
    work = home / "training" / f"{order.name}-{asked}"  # a killed run goes on in the same place
    work.mkdir(parents=True, exist_ok=True)
    mix = _mix(sources, mined or work / "mined", order, progress)
    fingerprint = hashlib.sha256("".join(m.fingerprint for m in mix.sources).encode()).hexdigest()[:32]
    words = TokenizerFile(base.base_folder / "tokenizer.json")
    if order.recipe == "phrase-bert":
        base = _pooled_as_texts(base)
    network = Network(base)
    if order.lora:
        add_lora(network, order.lora)
    else:
        only_layers(network)
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    progress("prepare", 0, None)
    recipe = _recipe(base, network, words, mix, order)
    config = order.config
    if config.budget_s:  # which is for everything, mining too
        left = config.budget_s - (time.perf_counter() - began) - SETTLING_SHARE * config.budget_s
        config = replace(config, budget_s=max(1.0, left))
    steps = run(recipe, network, config, work, progress)
    if order.recipe != "seke":  # which moves documents on purpose
        progress("settle", 0, None)
        kept = _kept_texts(mix, words, order.config.seed)[::SETTLED_BY]
        texts = [*kept, *_windows(mix, words, base.window_tokens)]
        before = Network(base).to(network.documents.device)
        time_left = SETTLING_SHARE * order.config.budget_s
        align_documents(network, before, texts, padding=words.padding, seconds=time_left, progress=progress)
    # A ranker of keyphrases was trained on vectors that are no more: it does not go on.
    lasting = {name: head for name, head in read_heads(base).items() if not name.startswith(RANKER)}
    heads = {**lasting, **_heads(network, recipe)}
    bundle = replace(
        base,
        name=order.name,
        base=base.base_beside,
        about=f"{TITLES[order.recipe]} on {base.name}: {_named(sources)}.",
        licence=order.licence or base.licence,
        adapter={"scale": 1.0},
        trained_on=fingerprint,
        scores={
            "held_back": round(steps[-1]["score"] or 0.0, 4),  # of the weights that are kept: the last
            "steps": steps[-1]["step"] or 0,
        },
        heads=tuple(sorted(heads)),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    weights = {**adapter_of(network.cpu(), base), **{HEADS + name: head for name, head in heads.items()}}
    said = {
        "asked": asked,
        "base": f"{base.name}@{base.fingerprint[:8]}",
        **asdict(order),
        "batch": BATCH,
        "versions": {name: metadata.version(name) for name in ("indexer", "torch", "transformers")},
    }
    registered = registry.add(write(weights, bundle, said, steps, work))
    shutil.rmtree(work)
    return registered


def _recipe(base: Bundle, network: Network, words: TokenizerFile, mix: Mix, order: TrainingOptions) -> Recipe:
    seed, last = order.config.seed, mix.sources[-1]
    if order.recipe == "ccl":
        return ClusterContrast(network, words, last, order.clusters, seed=seed, budget=order.config.budget_s)
    if order.recipe == "seke":
        pieces = base.window_tokens
        return KeyphraseContrast(network, words, mix.sources, pieces=pieces, encoder=order.whole, seed=seed)
    if order.recipe == "phrase-bert":
        triplets = TripletSampler(
            mix.sources, mix.shares, words, size=TRIPLES, specials=base.pooling.phrase_specials, seed=seed
        )
        return PhraseBert(network, words, triplets, _kept_texts(mix, words, seed), seed=seed)
    pairs = PairSampler(mix, words, size=BATCH, seed=seed)
    return UCTopic(network, words, pairs, _kept_texts(mix, words, seed), seed=seed)


def _pooled_as_texts(base: Bundle) -> Bundle:
    """The bundle with vectors of phrases pooled as those of texts are: a mean over the last layer, as in the paper."""
    pooling = base.pooling
    return replace(
        base,
        pooling=replace(
            pooling, span_layers=pooling.document_layers, phrase_specials=pooling.document_specials
        ),
    )


def _heads(network: Network, recipe: Recipe) -> Tensors:
    """What was trained beside the layers."""
    found: Tensors = {}
    documents = network.documents.detach().cpu().numpy().astype(np.float16)
    if not np.array_equal(documents, np.eye(len(documents))):
        found[DOCUMENTS] = documents
    if isinstance(recipe, KeyphraseContrast):
        found[KEYPHRASES] = recipe.weights.detach().cpu().numpy().astype(np.float16)
    return found


def _mix(sources: Sources, folder: Path, order: TrainingOptions, progress: Progress) -> Mix:
    """Mine what is not mined yet, each file for itself."""
    general = [_mined(path, False, folder, order, progress) for path in sources.corpus]
    targets = [
        *(_mined(path, False, folder, order, progress) for path in sources.target),
        *(_mined(path, True, folder, order, progress) for path in sources.mentions),
    ]
    _warn_of_few_texts([*general, *targets])
    return Mix([*general, *targets], shares(general, targets, order.config.steps))


def shares(general: Sequence[Mined], targets: Sequence[Mined], steps: int) -> list[float]:
    """Share of the batches of each source: half for the targets together, less where they have few pairs."""
    sizes = [
        math.sqrt(len(mined.phrases) - 1) for mined in general
    ]  # a large one counts for more, but less than it is
    wanted = [
        min(TARGET_SHARE / len(targets), TARGET_EPOCHS * Partners(mined).repeated / (BATCH * steps))
        for mined in targets
    ]
    if not general:
        return [1 / len(targets) for _ in targets]
    return [*((1 - sum(wanted)) * size / sum(sizes) for size in sizes), *wanted]


def _warn_of_few_texts(sources: Sequence[Mined]) -> None:
    """A tiny collection is learned by heart, and what its phrases mean elsewhere is lost."""
    texts = sum(len(np.unique(source.documents)) for source in sources)
    if texts < FEW_TEXTS:
        hint = f"{FEW_TEXTS} or more teach something that holds for others; or use the encoder as it is."
        logger.warning("few_texts_to_learn_from", texts=texts, hint=hint)


def _mined(path: Path, given: bool, folder: Path, order: TrainingOptions, progress: Progress) -> Mined:
    """One source on disk; `given`: its mentions are known."""
    folder = folder / hashed([stamp(path), given, order.tagger])
    if not (folder / "done").exists():
        if given:
            found = given_mentions([path])
        else:
            documents = _told(documents_of(path), progress)
            found = found_in(documents, tagger=order.tagger, workers=order.threads or physical_cores())
        progress("tag", 0, None)
        mine(found, folder)
        (folder / "done").touch()
    return Mined.open(folder)


def _told(documents: Iterable[Document], progress: Progress) -> Iterator[Document]:
    """Tell how many have been read. This stage ends no slice: what is done of it would have to be done again."""
    for number, document in enumerate(documents):
        if number % REPORT_EVERY == 0:
            progress("tag", number, None)
        yield document


def _kept_texts(mix: Mix, words: TokenizerFile, seed: int) -> list[list[int]]:
    """Word pieces of what people search in and with: three sentences (half of them), one, or a phrase."""
    draw = np.random.default_rng([seed, 2])
    texts: list[str] = []
    for source in mix.sources:
        size = KEPT_TEXTS // len(mix.sources) // 4
        long = draw.integers(0, source.size, 2 * size).tolist()
        texts += [" ".join(source.sentence(n) for n in range(at, min(at + 3, source.size))) for at in long]
        texts += [source.sentence(at) for at in draw.integers(0, source.size, size).tolist()]
        for row in draw.integers(0, len(source.mentions), size).tolist():
            sentence, (start, end) = source.mention(row)
            texts.append(sentence[start:end])
    return [[*words.prefix, *ids[:KEPT_PIECES].tolist(), *words.suffix] for ids in words.ids(texts)]


def _windows(mix: Mix, words: TokenizerFile, pieces: int) -> list[list[int]]:
    """Word pieces of windows as long as documents are cut into."""
    draw = np.random.default_rng(3)
    texts = [
        " ".join(source.sentence(n) for n in range(at, min(at + WINDOW_SENTENCES, source.size)))
        for source in mix.sources
        for at in draw.integers(0, source.size, WINDOWS // len(mix.sources)).tolist()
    ]
    return [[*words.prefix, *ids[:pieces].tolist(), *words.suffix] for ids in words.ids(texts)]


def _asked(base: Bundle, sources: Sources, order: TrainingOptions) -> str:
    """Changes with the order, the base, the files and the version of the program."""
    files = [[stamp(path) for path in part] for part in (sources.corpus, sources.target, sources.mentions)]
    return hashed([base.fingerprint, asdict(order), files, metadata.version("indexer")])


def _named(sources: Sources) -> str:
    return ", ".join(
        path.name for part in (sources.corpus, sources.target, sources.mentions) for path in part
    )
