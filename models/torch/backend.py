"""Backends that run torch: on the CPU in float32 or bfloat16, or on a GPU."""

from __future__ import annotations

import torch

from indexer.errors import BackendUnavailable
from models.backends import Batch, Output
from models.bundle import Bundle
from models.torch.network import Network

CPU_DTYPES = {"torch-fp32": torch.float32, "torch-bf16": torch.bfloat16}


class TorchBackend:
    """Runs `models.torch.network.Network`.

    Args:
        name: ``torch-fp32`` or ``torch-bf16`` (CPU), or ``torch`` (CUDA, in half precision).
        threads: Threads of the matrix products. torch has one such number per process.
    """

    pads = True
    workers = 1

    def __init__(self, bundle: Bundle, name: str, threads: int) -> None:
        self.name = name
        if name in CPU_DTYPES:
            torch.set_num_threads(threads)
            self._device, dtype = torch.device("cpu"), CPU_DTYPES[name]
            self.batch_tokens = 512 * max(
                2, threads
            )  # what fits the caches: 4096 on one core is a fifth slower
        else:
            if not torch.cuda.is_available():
                raise BackendUnavailable(
                    "Backend 'torch' needs a GPU that torch can use, and there is none.",
                    hint="Take 'auto', or one of torch-fp32, torch-bf16, onnx-fp32, onnx-int8.",
                )
            self._device = torch.device("cuda")
            dtype = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
            self.batch_tokens = 32_768
        self._network = Network(bundle).to(self._device, dtype)

    @property
    def dims(self) -> int:
        return self._network.dims

    def run(self, batch: Batch, *, attention: bool = True) -> Output:
        arrays = (batch.ids, batch.mask, batch.words, batch.shares)
        entities = None if batch.entities is None else torch.from_numpy(batch.entities).to(self._device)
        with torch.inference_mode():
            parts = self._network(
                *(torch.from_numpy(array).to(self._device) for array in arrays),
                entities=entities,
                attention=attention,
            )
            return Output(*(part.float().cpu().numpy() for part in parts))
