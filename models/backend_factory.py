"""From the name of a backend to one that runs. A new one is a branch here and a name in `indexer.settings.BACKENDS`."""

from __future__ import annotations

from pathlib import Path

from indexer.errors import BackendUnavailable, require
from indexer.settings import BACKENDS
from models.backends import Backend
from models.bundle import Bundle


def make_backend(bundle: Bundle, name: str, *, home: Path, threads: int) -> Backend:
    """Load the network of a bundle for one of `BACKENDS`.

    Raises:
        BackendUnavailable: There is no such backend, or it cannot run here.
    """
    if name not in BACKENDS:
        raise BackendUnavailable(f"There is no backend '{name}'. Available: auto, {', '.join(BACKENDS)}.")
    # Imported here: torch takes seconds, and an ONNX backend must not wait for it.
    if name.startswith("onnx"):
        from models.onnx.backend import OnnxBackend

        return OnnxBackend(bundle, name, threads, home=home)
    require("torch", "transformers", extra="train", purpose=f"Backend '{name}'", error=BackendUnavailable)
    from models.torch.backend import TorchBackend

    return TorchBackend(bundle, name, threads)
