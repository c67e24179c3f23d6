"""bfloat16 where it is faster: on GPUs that have it and CPUs with matrix units for it (AMX, Arm's bf16)."""

from __future__ import annotations

import torch

from models.hardware import multiplies_bfloat16


def fast(device: torch.device) -> torch.autocast:
    """A context for passes through the network. Losses stay outside: cosines divided by .05 need float32.

    On AVX-512 alone, even with its bfloat16 instructions, a step takes longer than in float32.
    """
    able = torch.cuda.is_bf16_supported() if device.type == "cuda" else multiplies_bfloat16()
    return torch.autocast(device.type, torch.bfloat16, enabled=able)
