"""From the name of a bundle, or the dotted path of a user's class, to an encoder that runs."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from indexer.common import DOTTED_PATH, import_object
from indexer.keyphrases.ranker import Ranker
from indexer.protocols import Encoder
from models.bundle import Bundle
from models.ranker import read_ranker
from models.registry import Registry

if TYPE_CHECKING:
    from models.encoder import WindowEncoder


def load_encoder(name: str, *, home: Path, backend: str = "auto", threads: int = 0) -> Encoder:
    """Load an encoder.

    Args:
        name: A bundle of the home or a shipped one, or the dotted path of a user's class.
        home: The program's folder; bundles, exported graphs and the choice of the backend are kept in it.
        backend: One of `indexer.settings.BACKENDS`, or ``auto`` for the fastest accurate one on this machine.
        threads: Threads of the matrix products; 0 = the physical cores available to this process.

    Raises:
        BundleMissing, BundleIncompatible: The bundle cannot be used.
        BackendUnavailable: There is no such backend, or it cannot run here.
        SettingsError: The user's class cannot be imported.
    """
    if is_user_class(name, home):
        return _user_encoder(name)
    return run_bundle(Registry(home).get(name), home=home, backend=backend, threads=threads)


def run_bundle(bundle: Bundle, *, home: Path, backend: str = "auto", threads: int = 0) -> WindowEncoder:
    """The encoder of a bundle that need not be in the home; see `load_encoder`."""
    from models.backend_factory import make_backend
    from models.calibrate import chosen_backend
    from models.encoder import WindowEncoder
    from models.hardware import physical_cores

    threads = threads or physical_cores()
    chosen = chosen_backend(bundle, home, threads) if backend == "auto" else backend
    made = make_backend(bundle, chosen, home=home, threads=threads)
    return WindowEncoder(bundle, made, read_ranker(bundle))


def encoder_dims(name: str, home: Path) -> int:
    """Length of an encoder's vectors; of a bundle, without loading it."""
    return _user_encoder(name).dims if is_user_class(name, home) else Registry(home).get(name).dims


def encoder_ranker(name: str, home: Path) -> Ranker | None:
    """The keyphrase ranker of an encoder, if it has one; of a bundle, without loading the encoder."""
    return _user_encoder(name).ranker if is_user_class(name, home) else read_ranker(Registry(home).get(name))


def is_user_class(name: str, home: Path) -> bool:
    """Whether a name is the dotted path of a class and not the name of a bundle."""
    return bool(re.fullmatch(DOTTED_PATH, name)) and name not in Registry(home).list()


@cache
def _user_encoder(path: str) -> Encoder:
    """One object of a user's class for the process."""
    encoder: Encoder = import_object(path)()
    return encoder
