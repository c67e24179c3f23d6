"""What a worker does with one batch. Nothing here knows Celery.

Every way that it may end is one of these: done; given back, to be tried again later; divided, because it has killed its
workers or failed again and again; and of a batch with one document that does so: a dead letter.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from indexer.catalog import Catalog, Failure
from indexer.catalog.batches import LEASE, BatchOutcome, Claim
from indexer.catalog.entries import BatchState, BundleCandidate
from indexer.errors import CatalogError, IndexerError, InputError
from indexer.log import get_logger
from indexer.pipeline import metrics
from indexer.pipeline.run import failures_of
from indexer.pipeline.steps import (
    encode_chunk,
    load,
    mined,
    write_chunk,
)
from indexer.records import Document, Mention, Prepared, Sentence
from indexer.text.normal_forms import normal_form
from workers.messages import Message, messages
from workers.resources import Resources
from workers.retry import postpone, retry_until_available

# A worker may be killed for reasons that have nothing to do with the document: once is no proof.
MAX_CRASHES = 2
MAX_FAILURES = 4

logger = get_logger(__name__)

Step = Callable[[Resources, Claim], list[Message]]


def work(resources: Resources, state: BatchState, batch: str) -> list[Message]:
    """Do what a message says, if it still has to be done. Returns the messages to be sent next."""
    catalog = resources.catalog
    claim = retry_until_available(lambda: catalog.claim(batch, state))
    if claim is None:
        logger.debug("batch_not_ours", batch=batch, state=state)
        return []
    if claim.deaths >= MAX_CRASHES or claim.failures >= MAX_FAILURES:
        return retry_until_available(lambda: _take_apart(catalog, claim))
    start = time.perf_counter()
    with _held(catalog, claim):
        try:
            following = STEPS[state](resources, claim)
        except IndexerError as error:  # something is away, wrong or missing here: not the documents' fault
            _give_back(catalog, claim, error, failed=False)
            return []
        except Exception as error:
            logger.exception("batch_failed", batch=claim.id, state=state)
            _give_back(catalog, claim, error, failed=True)
            return []
        except BaseException:  # we are to stop at once
            catalog.release(claim)
            raise
    seconds = round(time.perf_counter() - start, 2)
    logger.info("batch_done", batch=claim.id, state=state, documents=len(claim.ids), seconds=seconds)
    return following


def _prepare(resources: Resources, claim: Claim) -> list[Message]:
    """Find sentences and candidates, and leave them for `encode`."""
    options = _options(resources, claim)
    engine = resources.engine(claim.collection, options["bundle"])
    documents, missing = load(engine, claim.ids)
    outcomes = resources.prepare(options["tagger"], documents)
    pairs = list(zip(documents, outcomes, strict=True))
    candidates = {d.id: to_candidate(d, o) for d, o in pairs if isinstance(o, Prepared)}
    letters = failures_of("prepare", [o for o in outcomes if isinstance(o, InputError)])
    metrics.through("prepare", len(candidates), len(letters))
    ready = retry_until_available(
        lambda: resources.catalog.advance(claim, candidates, missing=missing, failures=letters)
    )
    return messages("encode", claim.collection, [claim.id] if ready else [])


def _encode(resources: Resources, claim: Claim) -> list[Message]:
    """Encode, decide and write; what has another text by now is prepared again."""
    options = _options(resources, claim)
    engine = resources.engine(claim.collection, options["bundle"])
    documents, missing = load(engine, claim.ids)
    same = [d for d in documents if d.content_hash == claim.candidates[d.id].content_hash]
    changed = [d.id for d in documents if d.content_hash != claim.candidates[d.id].content_hash]
    prepared = [to_prepared(document, claim.candidates[document.id]) for document in same]
    chunk = encode_chunk(resources.encoder(options["bundle"]), same, prepared)
    rows = [
        mined(d, e, chunk.bundle, claim.run, options["keyphrases"], chunk.ranker) for d, e in chunk.encoded
    ]
    written = write_chunk(engine, rows, same)
    outcome = BatchOutcome(
        hashes=written.hashes,
        bundle=chunk.bundle,
        changed=sorted([*changed, *written.changed]),
        missing=sorted([*missing, *written.missing]),
        failures=[*failures_of("encode", chunk.not_encoded), *failures_of("write", written.refused)],
    )
    again = retry_until_available(lambda: resources.catalog.finish_batch(claim, outcome))
    if again is None:
        logger.warning("batch_lost", batch=claim.id)  # whoever has it writes the same
    return messages("prepare", claim.collection, again or [])


STEPS: dict[BatchState, Step] = {"prepare": _prepare, "encode": _encode}


def _options(resources: Resources, claim: Claim) -> dict[str, Any]:
    """What the run was told: bundle, tagger, keyphrases. The worker's own settings do not count here."""
    return dict(retry_until_available(lambda: resources.catalog.run(claim.run)).options)


# -- candidates ----------------------------------------------------------------------------------------------


def to_candidate(document: Document, prepared: Prepared) -> BundleCandidate:
    """Offsets only: the text stays in the engine, and the normal form of a phrase can be made again."""
    return BundleCandidate(
        document.content_hash,
        tuple((s.start, s.end) for s in prepared.sentences),
        tuple((m.start, m.end) for m in prepared.mentions),
    )


def to_prepared(document: Document, candidate: BundleCandidate) -> Prepared:
    """The other way round, for the same text."""
    return Prepared(
        tuple(Sentence(start, end) for start, end in candidate.sentences),
        tuple(
            Mention(start, end, normal_form(document.content[start:end])) for start, end in candidate.mentions
        ),
    )


# -- ends ----------------------------------------------------------------------------------------------------


def _give_back(catalog: Catalog, claim: Claim, error: Exception, *, failed: bool) -> None:
    reason = str(error) if isinstance(error, IndexerError) else f"{type(error).__name__}: {error}"
    delay = postpone(claim.tries)
    logger.warning("batch_put_off", batch=claim.id, seconds=round(delay, 1), reason=reason)
    retry_until_available(lambda: catalog.release(claim, delay=delay, error=reason, failed=failed))


def _take_apart(catalog: Catalog, claim: Claim) -> list[Message]:
    """Find the document that does it: alone, only the culprit can do it again."""
    if len(claim.ids) > 1:
        logger.warning("batch_divided", batch=claim.id, documents=len(claim.ids), deaths=claim.deaths)
        return messages("prepare", claim.collection, catalog.split(claim))
    (id_,) = claim.ids
    entry = catalog.ledger(claim.collection, [id_]).get(id_)
    where = entry.source if entry and entry.source else id_
    if claim.deaths >= MAX_CRASHES:
        reason = f"{where}: the worker process died of this document, {claim.deaths} times."
    else:
        reason = f"{where}: it failed {claim.failures} times: {claim.error}"
    logger.error("document_buried", id=id_, stage=claim.state, reason=reason)
    catalog.finish_batch(claim, BatchOutcome({}, "", failures=[Failure(where, claim.state, reason, id_)]))
    return []


@contextmanager
def _held(catalog: Catalog, claim: Claim, lease: float = LEASE) -> Iterator[None]:
    """Renew the lease in a thread, until the end of the block."""
    stop = threading.Event()

    def renew() -> None:
        while not stop.wait(lease / 4):
            try:
                if not catalog.renew_claim(claim, lease=lease):
                    return
            except CatalogError as error:
                logger.warning("lease_not_renewed", batch=claim.id, reason=str(error))

    thread = threading.Thread(target=renew, name=f"lease-{claim.id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
