"""From a bundle's name to an encoder that runs."""

from __future__ import annotations

from pathlib import Path

from indexer.errors import BackendUnavailable
from models.backends import NAMES, Backend
from models.bundle import Bundle
from models.encoder import WindowEncoder
from models.hardware import physical_cores
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
    bundle = Registry(home).get(name)
    return WindowEncoder(
        bundle, make_backend(bundle, backend, home=home, threads=threads or physical_cores())
    )


def make_backend(bundle: Bundle, name: str, *, home: Path, threads: int) -> Backend:
    """Load the network of a bundle for one backend."""
    if name == "auto":
        from models.calibrate import chosen_backend

        name = chosen_backend(bundle, home, threads)
    if name not in NAMES:
        raise BackendUnavailable(f"There is no backend '{name}'. Available: auto, {', '.join(NAMES)}.")
    # Imported here: torch takes seconds, and an ONNX backend must not wait for it.
    if name.startswith("onnx"):
        from models.backends.with_onnx import OnnxBackend

        return OnnxBackend(bundle, name, threads, home=home)
    from models.backends.with_torch import TorchBackend

    return TorchBackend(bundle, name, threads)
