"""Keyphrases alone, nothing stored: tag, encode, score, choose ten."""

from __future__ import annotations

import json
import sys
import time


def main(file: str, home: str) -> None:
    from indexer.common import batches
    from indexer.pipeline.steps import CHUNK, mined
    from indexer.pipeline.windows import encode_documents
    from indexer.readers import read
    from indexer.records import Document, Prepared
    from indexer.settings import load_settings
    from indexer.text.pool import PreparePool
    from models.load import load_encoder

    settings = load_settings(home=home)
    encoder = load_encoder(settings.bundle, home=settings.home, threads=settings.threads)
    start = time.perf_counter()
    documents = [item for item in read([file]) if isinstance(item, Document)]
    found = 0
    with PreparePool(1) as pool:
        for chunk, outcomes, _ in pool.prepare_chunks(batches(documents, CHUNK)):
            prepared = [outcome for outcome in outcomes if isinstance(outcome, Prepared)]
            for document, encoded in zip(chunk, encode_documents(encoder, chunk, prepared), strict=True):
                found += len(mined(document, encoded, encoder.bundle, "", 10).keyphrases)
    print(json.dumps({"work": time.perf_counter() - start, "keyphrases": found, "backend": encoder.bundle}))


if __name__ == "__main__":
    main(*sys.argv[1:])
