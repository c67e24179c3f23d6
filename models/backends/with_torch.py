"""Backends that run torch: on the CPU in float32 or bfloat16, or on a GPU."""

from __future__ import annotations

import torch

from indexer.errors import BackendUnavailable
from models.backends import Batch, Output
from models.bundle import Bundle
from models.network import Network

DTYPES = {"torch-fp32": torch.float32, "torch-bf16": torch.bfloat16, "torch": torch.bfloat16}


class TorchBackend:
    """Runs `models.network.Network`.

    Args:
        name: ``torch-fp32`` or ``torch-bf16`` (CPU), or ``torch`` (CUDA, in half precision).
        threads: Threads for the matrix products. torch has one such number per process.
    """

    def __init__(self, bundle: Bundle, name: str, threads: int) -> None:
        self.name = name
        if name == "torch" and not torch.cuda.is_available():
            raise BackendUnavailable(
                "Backend 'torch' needs a GPU that torch can use, and there is none.",
                hint="Take 'auto', or one of torch-fp32, torch-bf16, onnx-fp32, onnx-int8.",
            )
        self._device = torch.device("cuda" if name == "torch" else "cpu")
        if self._device.type == "cpu":
            torch.set_num_threads(threads)
        self._dtype = DTYPES[name]
        self._network = Network(bundle).to(self._device, self._dtype)

    @property
    def dims(self) -> int:
        return self._network.dims

    def run(self, batch: Batch, *, attention: bool = True) -> Output:
        with torch.inference_mode():
            document, tokens, received = self._network(
                torch.from_numpy(batch.ids).to(self._device),
                torch.from_numpy(batch.mask).to(self._device),
                torch.from_numpy(batch.words).to(self._device),
                attention=attention,
            )
            return Output(*(part.float().cpu().numpy() for part in (document, tokens, received)))
