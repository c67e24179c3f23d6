"""From the name of a backend to one that runs. A new backend is a branch here and a name in `models.backends.NAMES`."""

from __future__ import annotations

from pathlib import Path

from indexer.errors import BackendUnavailable, require
from models.backends import NAMES, Backend
from models.bundle import Bundle


def make_backend(bundle: Bundle, name: str, *, home: Path, threads: int) -> Backend:
    """Load the network of a bundle for one backend of `NAMES`.

    Raises:
        BackendUnavailable: There is no such backend, or it cannot run here.
    """
    if name not in NAMES:
        raise BackendUnavailable(f"There is no backend '{name}'. Available: auto, {', '.join(NAMES)}.")
    # Imported here: torch takes seconds, and an ONNX backend must not wait for it.
    if name.startswith("onnx"):
        from models.onnx.backend import OnnxBackend

        return OnnxBackend(bundle, name, threads, home=home)
    require("torch", "transformers", extra="train", purpose=f"Backend '{name}'", error=BackendUnavailable)
    from models.torch.backend import TorchBackend

    return TorchBackend(bundle, name, threads)
