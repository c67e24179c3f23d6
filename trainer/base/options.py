"""Options of a training: one dataclass for each recipe, from which the command line makes its options and its help.

The docstring of a recipe's class is the help of its command. This module loads no torch: help pages do not wait for it.
"""

# ruff: noqa: RUF009 (`option` returns a dataclass field)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

from indexer.errors import TRAINING, require

if TYPE_CHECKING:
    from indexer.protocols import Progress
    from models.bundle import Bundle
    from trainer.base.loop import TrainConfig

FEW_STEPS = 30  # hardly change an encoder
Paths = tuple[Path, ...]


def option(default: Any, help: str, **more: Any) -> Any:
    """A field that is an option of the command line.

    Args:
        more: ``metavar``; ``minimum`` of a number; ``flags`` in place of the field's name; ``kind``: "source" (files or
            folders), "file", "folder" or "time"; ``required``; ``show_default``.
    """
    return field(default=default, metadata={"help": help, **more})


def metadata_of(options: type[TrainingOptions]) -> dict[str, Mapping[str, Any]]:
    """The command-line options of a recipe by field name, sources first; a class may change only the default."""
    found = {
        one.name: next((m for base in options.__mro__ if (m := _metadata(base, one.name))), None)
        for one in fields(options)
    }
    shown = {name: metadata for name, metadata in found.items() if metadata}
    return dict(sorted(shown.items(), key=lambda item: "kind" not in item[1] or item[1]["kind"] == "time"))


def _metadata(base: type, name: str) -> Mapping[str, Any] | None:
    declared = getattr(base, "__dataclass_fields__", {}).get(name)
    return declared.metadata if declared else None


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What every recipe has.

    Attributes:
        name: Of the new bundle.
        tagger: Finds the phrases of the texts.
        threads: CPU threads; 0 = all physical cores.
    """

    recipe: ClassVar[str] = ""  # in training.json
    title: ClassVar[str] = ""  # on the bundle's card
    function: ClassVar[str] = ""  # "module:name" of what trains
    sources: ClassVar[tuple[str, ...]] = ()  # fields that name files

    name: str = option("", "Of the new bundle.")
    steps: int = option(600, "Updates of the weights; fewer when the time is up.", minimum=1)
    licence: str = option("", "Of the texts, for the bundle's card.", show_default=False)
    seed: int = option(0, "Seed of all random numbers.")
    tagger: str = "auto"
    threads: int = 0

    def paths(self) -> list[Path]:
        """Files and folders that are learned from."""
        return [path for name in self.sources for path in getattr(self, name)]

    def recorded(self) -> dict[str, Any]:
        """What decides what is learned, without the files: for the fingerprint of a training and for training.json."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in self.sources}
        return {"recipe": self.recipe, **values}

    def train(self, base: Bundle, *, home: Path, progress: Progress) -> Bundle:
        """Train from a bundle, and put the new one into the home.

        Raises:
            PackageMissing: The extra `train` is not installed.
        """
        require(*TRAINING, extra="train", purpose="Training")
        trained: Bundle = resolve_name(self.function)(base, self, home=home, progress=progress)
        return trained

    @staticmethod
    def scores(bundle: Bundle) -> dict[str, float]:
        """Scores of a trained bundle, for programs."""
        return dict(bundle.scores)

    @staticmethod
    def summary(bundle: Bundle) -> str:
        """What a bundle has learned, in a sentence."""
        return f"{bundle.scores['held_back']:.0%} of what was held back is answered right."

    @staticmethod
    def warning(bundle: Bundle) -> str:
        """Why a bundle is hardly of use; empty when it is."""
        from indexer.export.formatting import count

        steps = int(bundle.scores.get("steps", FEW_STEPS))  # a bundle of an earlier version may not say
        if steps >= FEW_STEPS:
            return ""
        return (
            f"Only {count(steps, 'step')}: it has hardly learned anything. Give it more (--steps, --budget)."
        )


@dataclass(frozen=True, kw_only=True)
class EncoderOptions(TrainingOptions):
    """Options of recipes that change the encoder.

    Attributes:
        corpus: Files and folders as `indexer index` takes them.
        budget: Seconds for everything; 0 = no limit.
        lora: Rank of LoRA; 0 trains the layers whole.
        patience: Steps without a better dev score after which to stop; 0 = never.
    """

    sources: ClassVar[tuple[str, ...]] = ("corpus",)

    corpus: Paths = option((), "Texts to learn from: files or folders, as for indexer index; may be repeated.",
                           metavar="SOURCE", kind="source")  # fmt: skip
    budget: float = option(0.0, "Stop in time, for example 30m.", metavar="TIME", kind="time")
    lora: int = option(
        0, "Train a small addition to the weights; 0 trains the weights.", metavar="RANK", minimum=0
    )
    learning_rate: float = 1e-4
    warmup: int = 50
    eval_every: int = 100
    patience: int = 0

    def config(self, **changed: Any) -> TrainConfig:
        """For the training loop."""
        from trainer.base.loop import TrainConfig

        same = ("steps", "learning_rate", "warmup", "eval_every", "patience", "seed")
        values = {name: getattr(self, name) for name in same}
        return TrainConfig(**{"budget_s": self.budget, **values, **changed})


@dataclass(frozen=True, kw_only=True)
class PhraseOptions(EncoderOptions):
    """Options of recipes that learn from phrases and the sentences that they occur in.

    Attributes:
        target: As `corpus`: texts that the encoder is for. Up to half of the batches come from here.
        mentions: JSON Lines with sentence, start, end (types are not read): a target whose mentions are known.
    """

    sources: ClassVar[tuple[str, ...]] = ("corpus", "target", "mentions")
    keeps_documents: ClassVar[bool] = True  # document vectors are aligned with those from before the training

    target: Paths = ()
    mentions: Paths = ()
