"""Checkpoints of others as bundles: a Hugging Face folder, or a name on the hub.

Loaded once by transformers' own classes, so that old names of weights and split files are brought into one form, and
written into the home as safetensors. Weights in pickle and code that comes with a model are refused: reading a model must
not run anything.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from indexer.errors import TRAINING, BundleIncompatible, BundleMissing, ModelError, require
from indexer.protocols import Window
from models.bundle import ADAPTER, Bundle, Pooling, write_bundle
from models.registry import Registry
from models.tokens import TokenizerFile
from models.weights import HEADS, MENTIONS, MENTIONS_BIAS, Weights, read_safetensors

ARCHITECTURES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "luke", "bart")
WINDOW = 128  # word pieces; longer windows gain little and cost more than their share
AFTER_PADDING = {
    "roberta",
    "xlm-roberta",
    "camembert",
    "luke",
}  # whose first position is that after the padding's
BASE = "base"  # the folder of the model, in that of the bundle
UCTOPIC_HEAD = {"mlp.dense.weight": MENTIONS, "mlp.dense.bias": MENTIONS_BIAS}
ENTITIES = "entity_embeddings.entity_embeddings.weight"
ENTITY_ROWS = (
    3  # that are kept of LUKE's half a million: none but [MASK], the last of them, is ever asked for
)
HUB_NAME = re.compile(r"([\w.-]+/)?[\w.-]+(@[\w./-]+)?")
READ = ["*.json", "*.txt", "*.model", "*.safetensors"]  # from the hub
NOT_READ = ["*/*"]  # other formats of the same model
AS_SAFETENSORS = (
    'python -c "import torch, safetensors.torch as s; s.save_file({k: v.clone().contiguous() for k, v in '
    "torch.load('pytorch_model.bin', map_location='cpu', weights_only=True).items()}, 'model.safetensors')\""
)


@dataclass(frozen=True)
class ImportOptions:
    """How to make a bundle of a checkpoint.

    Attributes:
        name: Of the bundle; empty = the last part of where it comes from.
        span_layers, document_layers: See `Pooling`; empty = the last layer.
    """

    name: str = ""
    span_layers: tuple[int, ...] = ()
    document_layers: tuple[int, ...] = ()


def import_checkpoint(source: str, wanted: ImportOptions, *, home: Path) -> Bundle:
    """Make a bundle of a checkpoint and put it into the home's bundles.

    Args:
        source: A folder with config.json, a tokenizer and safetensors, or NAME or NAME@REVISION on the hub.

    Raises:
        BundleMissing: There is no such folder or name, or the hub cannot be reached.
        BundleIncompatible: The architecture is unknown, or weights or tokenizer cannot be used.
        ModelError: There is a bundle of this name.
        PackageMissing: The extra `train` is not installed.
    """
    require(*TRAINING, extra="train", purpose="An import")
    registry = Registry(home)
    name = wanted.name or _name_of(source)
    if name in registry.list():
        raise ModelError(
            f"There is a bundle '{name}' already.",
            hint=f"Call this one something else: --name NAME. Or remove that one: indexer models remove {name}.",
        )
    folder = Path(source) if Path(source).is_dir() else _downloaded(source)
    config = _config(folder)
    _check_weights(folder)
    with tempfile.TemporaryDirectory(prefix="indexer-") as made:
        bundle = _written(folder, config, replace(wanted, name=name), Path(made))
        _check_runs(bundle)
        return registry.add(bundle.folder)


def _name_of(source: str) -> str:
    """Name of the bundle of a folder or of a name on the hub."""
    path = Path(source)
    return path.resolve().name if path.is_dir() else source.partition("@")[0].rpartition("/")[2]


def _downloaded(source: str) -> Path:
    """Folder of a checkpoint of the hub, without its pickles."""
    if not HUB_NAME.fullmatch(source):
        raise BundleMissing(f"There is no folder {source}.")
    from huggingface_hub import errors, snapshot_download

    name, _, revision = source.partition("@")
    try:
        found = snapshot_download(
            name, revision=revision or None, allow_patterns=READ, ignore_patterns=NOT_READ
        )
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise BundleMissing(
            f"There is no folder {source}, and nothing of that name on the hub that is open to all.",
            hint="Names there have the form OWNER/MODEL or OWNER/MODEL@REVISION.",
        ) from error
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError) as error:
        raise BundleMissing(
            f"There is no folder {source}, and the hub cannot be reached to look for a model of that name.",
            hint="Copy its files here from a machine that reaches it, and name the folder.",
        ) from error
    return Path(found)


def _config(folder: Path) -> dict[str, Any]:
    """The config.json of a checkpoint, when it is one of an architecture that is known here."""
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_bytes())
        kind = config.get("model_type", "")
    except FileNotFoundError as error:
        raise BundleMissing(f"{folder} is not a checkpoint: it has no config.json.") from error
    except (ValueError, AttributeError) as error:
        raise BundleIncompatible(f"{folder / 'config.json'} is not the description of a model.") from error
    if kind not in ARCHITECTURES:
        raise BundleIncompatible(
            f"The model in {folder} is of the architecture '{kind}'; known are: {', '.join(ARCHITECTURES)}."
        )
    if "auto_map" in config:
        raise BundleIncompatible(
            f"The model in {folder} wants to run code of its own (auto_map in config.json), which is never run."
        )
    return config


def _check_weights(folder: Path) -> None:
    """Refuse a checkpoint without safetensors."""
    if any(folder.glob("*.safetensors")):
        return
    pickles = sorted(path.name for path in [*folder.glob("*.bin"), *folder.glob("*.pt")])
    if not pickles:
        raise BundleIncompatible(f"There are no weights in {folder}.", hint="They are in model.safetensors.")
    raise BundleIncompatible(
        f"The weights of {folder} are only there pickled ({', '.join(pickles)}), and a pickle may run code.",
        hint=f"Where you trust the file, rewrite it: {AS_SAFETENSORS}. On the hub a rewritten one may wait as a "
        "pull request: NAME@refs/pr/1.",
    )


def _written(folder: Path, config: dict[str, Any], wanted: ImportOptions, made: Path) -> Bundle:
    """Write the model and what describes it into `made`."""
    base = made / BASE
    with _quiet():
        model = _model(folder)
        heads = _heads(folder, config)
        if config["model_type"] == "luke":
            _keep_mask_only(model, folder)
        model.save_pretrained(base)
        words = _tokenizer(folder, base)
    if words.size > model.config.vocab_size:
        raise BundleIncompatible(
            f"The tokenizer of {folder} has {words.size} word pieces, its model {model.config.vocab_size}."
        )
    if heads:
        from safetensors.numpy import save_file

        save_file({HEADS + name: value for name, value in heads.items()}, made / ADAPTER)
    last = (int(model.config.num_hidden_layers),)
    bundle = Bundle(
        name=wanted.name,
        base={"folder": BASE},
        pooling=Pooling(
            span_layers=wanted.span_layers or last,
            document_layers=wanted.document_layers or last,
            mentions="entities" if config["model_type"] == "luke" else "pieces",
        ),
        window_tokens=min(WINDOW, _room(model.config, words)),
        heads=tuple(sorted(heads)),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        about=f"A {config['model_type']} checkpoint, as it came.",
    )
    return write_bundle(bundle, made)


def _model(folder: Path) -> Any:
    """The checkpoint in transformers' own class, whole."""
    from safetensors import SafetensorError
    from transformers import AutoModel

    try:
        model, report = AutoModel.from_pretrained(
            folder,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise BundleIncompatible(f"The model in {folder} cannot be loaded: {error}") from error
    missing = sorted(key for key in report["missing_keys"] if "pooler." not in key)
    if missing:
        raise BundleIncompatible(
            f"The model in {folder} lacks {len(missing)} weights, the first: {missing[0]}."
        )
    return model.eval()


def _heads(folder: Path, config: dict[str, Any]) -> Weights:
    """The layer that UCTopic's checkpoints have after LUKE's entities; empty for all others."""
    if config["model_type"] != "luke":
        return {}
    found: Weights = {}
    for file in sorted(folder.glob("*.safetensors")):
        weights = read_safetensors(file)
        found |= {name: weights[key] for key, name in UCTOPIC_HEAD.items() if key in weights}
    return found


def _keep_mask_only(model: Any, folder: Path) -> None:
    """Leave out the vectors of LUKE's entities but for [MASK]: they are half of the file."""
    import torch

    vocabulary = folder / "entity_vocab.json"
    mask = ENTITY_ROWS - 1
    if vocabulary.is_file():
        mask = json.loads(vocabulary.read_text(encoding="utf-8"))["[MASK]"]
    embeddings = model.get_parameter(ENTITIES)
    rows = torch.zeros(ENTITY_ROWS, embeddings.shape[1], dtype=embeddings.dtype)
    rows[-1] = embeddings.detach()[mask]
    model.set_entity_embeddings(torch.nn.Embedding(ENTITY_ROWS, rows.shape[1], _weight=rows))
    model.config.entity_vocab_size = ENTITY_ROWS


def _tokenizer(folder: Path, base: Path) -> TokenizerFile:
    """Write tokenizer.json, made from the older files (vocab.txt, vocab.json with merges.txt) where it is missing."""
    from transformers import AutoTokenizer

    try:
        if (folder / "tokenizer.json").is_file():
            shutil.copyfile(folder / "tokenizer.json", base / "tokenizer.json")
        else:
            made = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
            made.backend_tokenizer.save(str(base / "tokenizer.json"))
        return TokenizerFile(base / "tokenizer.json")
    except Exception as error:  # the library that reads the file raises nothing narrower
        raise BundleIncompatible(f"The tokenizer of {folder} cannot be loaded: {error}") from error


def _room(config: Any, words: TokenizerFile) -> int:
    """Word pieces that there are positions for."""
    first = config.pad_token_id + 1 if config.model_type in AFTER_PADDING else 0
    return int(config.max_position_embeddings) - first - words.specials


def _check_runs(bundle: Bundle) -> None:
    """Encode a sentence, so that a model that does not run is reported now."""
    from models.encoder import WindowEncoder
    from models.torch.backend import TorchBackend

    encoder = WindowEncoder(bundle, TorchBackend(bundle, "torch-fp32", 1))
    [encoding] = encoder.encode([Window("a b", ((0, 1),))])
    if not np.isfinite(encoding.mentions).all() or not np.isfinite(encoding.document).all():
        raise BundleIncompatible(f"The vectors of '{bundle.name}' are no numbers: its weights are damaged.")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' own report on what it loads: ours is the one that counts."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        logging.enable_progress_bar()
