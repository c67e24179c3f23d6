"""Write the folder ``int8`` of a bundle, on which an installation without the base model runs; see `models.weights`.

python -m tools.int8_weights models/bundles/minilm-phrases
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from models.bundle import BASE_DIGEST, INT8, read_bundle, sampled
from models.checksums import write_checksums
from models.weights import SCALE, load_weights

WEIGHTS = "weights.safetensors"


def write_int8(folder: Path) -> None:
    """Write the merged weights of a bundle whose base model is installed."""
    bundle = read_bundle(folder)
    if bundle.is_int8:
        sys.exit(f"The base model of {folder} is not installed: make install")
    tensors = {}
    for name, weight in load_weights(bundle).items():
        if weight.ndim == 2:
            scales = np.maximum(np.abs(weight).max(axis=1), 1e-12) / np.float32(127)
            tensors[name + SCALE] = scales
            weight = np.rint(weight / scales[:, None]).astype(np.int8)
        tensors[name] = weight
    (folder / INT8).mkdir(exist_ok=True)
    save_file(tensors, folder / INT8 / WEIGHTS)
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(bundle.base_folder / name, folder / INT8 / name)
    (folder / INT8 / BASE_DIGEST).write_text(sampled(bundle.weights_file).hex() + "\n")
    write_checksums(folder / INT8, [WEIGHTS, "config.json", "tokenizer.json", BASE_DIGEST])


if __name__ == "__main__":
    write_int8(Path(sys.argv[1]))
