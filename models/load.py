"""From a bundle's name to an encoder that runs."""

from __future__ import annotations

from pathlib import Path

from models.backends import make_backend
from models.bundle import Bundle
from models.calibrate import chosen_backend
from models.encoder import WindowEncoder
from models.hardware import physical_cores
from models.ranker import read_ranker
from models.registry import Registry


def load_encoder(name: str, *, home: Path, backend: str = "auto", threads: int = 0) -> WindowEncoder:
    """Load the encoder of a bundle.

    Args:
        name: A bundle of the home or a shipped one.
        home: The program's folder; bundles, exported graphs and the choice of the backend are kept in it.
        backend: One of `models.backends.NAMES`, or ``auto`` for the fastest one that is accurate enough on this machine.
        threads: Threads of the matrix products; 0 = the physical cores available to this process.

    Raises:
        BundleMissing, BundleIncompatible: The bundle cannot be used.
        BackendUnavailable: There is no such backend, or it cannot run here.
    """
    return run_bundle(Registry(home).get(name), home=home, backend=backend, threads=threads)


def run_bundle(bundle: Bundle, *, home: Path, backend: str = "auto", threads: int = 0) -> WindowEncoder:
    """The encoder of a bundle that need not be in the home; see `load_encoder`."""
    threads = threads or physical_cores()
    chosen = chosen_backend(bundle, home, threads) if backend == "auto" else backend
    made = make_backend(bundle, chosen, home=home, threads=threads)
    return WindowEncoder(bundle, made, read_ranker(bundle))
