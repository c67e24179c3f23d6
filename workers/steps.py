"""The work on one batch, without Celery.

A batch ends in one of these ways: done; released, to be tried again later; split, because it has crashed its workers or
failed several times; and a dead-letter entry, when a batch of a single document does so.
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
from indexer.pipeline.assign import Assigner
from indexer.pipeline.run import failures_of
from indexer.pipeline.steps import encode_chunk, load, mined, write_chunk
from indexer.records import Document, Mention, Prepared, Sentence
from indexer.text.normal_forms import normal_form
from workers.messages import Message, messages
from workers.resources import Resources
from workers.retry import backoff, retry_until_available

# A worker may be killed for reasons that have nothing to do with the document: one crash is not a proof.
MAX_CRASHES = 2
MAX_FAILURES = 4

logger = get_logger(__name__)

Step = Callable[[Resources, Claim], list[Message]]


def work(resources: Resources, state: BatchState, batch: str) -> list[Message]:
    """Work on the batch of a message, if it is still due. Returns the messages to be sent next."""
    catalog = resources.catalog
    claim = retry_until_available(lambda: catalog.claim(batch, state))
    if claim is None:
        logger.debug("batch_not_claimed", batch=batch, state=state)
        return []
    if claim.deaths >= MAX_CRASHES or claim.failures >= MAX_FAILURES:
        return retry_until_available(lambda: _split(catalog, claim))
    start = time.perf_counter()
    with _held(catalog, claim):
        try:
            following = STEPS[state](resources, claim)
        except IndexerError as error:  # a server, a setting or a file: not the documents' fault
            _release(catalog, claim, error, failed=False)
            return []
        except Exception as error:
            logger.exception("batch_failed", batch=claim.id, state=state)
            _release(catalog, claim, error, failed=True)
            return []
        except BaseException:  # this process must stop at once
            catalog.release(claim)
            raise
    seconds = round(time.perf_counter() - start, 2)
    logger.info("batch_done", batch=claim.id, state=state, documents=len(claim.ids), seconds=seconds)
    return following


def _prepare(resources: Resources, claim: Claim) -> list[Message]:
    """Find sentences and candidates, and store them for `encode`."""
    options = _options(resources, claim)
    engine = resources.engine(claim.collection, options["bundle"])
    documents, missing = load(engine, claim.ids)
    outcomes = resources.prepare(options["tagger"], documents)
    pairs = list(zip(documents, outcomes, strict=True))
    candidates = {d.id: to_candidate(d, o) for d, o in pairs if isinstance(o, Prepared)}
    failures = failures_of("prepare", [o for o in outcomes if isinstance(o, InputError)])
    metrics.through("prepare", len(candidates), len(failures))
    ready = retry_until_available(
        lambda: resources.catalog.advance(claim, candidates, missing=missing, failures=failures)
    )
    return messages("encode", claim.collection, [claim.id] if ready else [])


def _encode(resources: Resources, claim: Claim) -> list[Message]:
    """Encode, choose keyphrases and write; documents whose text has changed are prepared again."""
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
    fit = options.get("topic_fit", "")
    if fit:
        named = retry_until_available(lambda: resources.fit(claim.collection, fit))
        assigner = Assigner(named, claim.run, options["keyphrases"], ranked=chunk.ranker is not None)
        texts = {document.id: document for document in same}
        rows = [assigner.final(row, texts[row.id], engine) for row in rows]
    written = write_chunk(engine, rows, same)
    outcome = BatchOutcome(
        hashes=written.hashes,
        bundle=chunk.bundle,
        changed=sorted([*changed, *written.changed]),
        missing=sorted([*missing, *written.missing]),
        failures=[*failures_of("encode", chunk.not_encoded), *failures_of("write", written.refused)],
        topic_fit=fit,
    )
    again = retry_until_available(lambda: resources.catalog.finish_batch(claim, outcome))
    if again is None:
        logger.warning("batch_lost", batch=claim.id)  # the worker that has it writes the same
    return messages("prepare", claim.collection, again or [])


STEPS: dict[BatchState, Step] = {"prepare": _prepare, "encode": _encode}


def _options(resources: Resources, claim: Claim) -> dict[str, Any]:
    """Options of the run: bundle, tagger, keyphrases. They replace the worker's own settings."""
    return dict(retry_until_available(lambda: resources.catalog.run(claim.run)).options)


# -- candidates ----------------------------------------------------------------------------------------------


def to_candidate(document: Document, prepared: Prepared) -> BundleCandidate:
    """Return the offsets alone: the text is in the engine, and normal forms can be computed again."""
    return BundleCandidate(
        document.content_hash,
        tuple((s.start, s.end) for s in prepared.sentences),
        tuple((m.start, m.end) for m in prepared.mentions),
    )


def to_prepared(document: Document, candidate: BundleCandidate) -> Prepared:
    """Return the sentences and mentions of a candidate in the same text."""
    return Prepared(
        tuple(Sentence(start, end) for start, end in candidate.sentences),
        tuple(
            Mention(start, end, normal_form(document.content[start:end])) for start, end in candidate.mentions
        ),
    )


# -- ends ----------------------------------------------------------------------------------------------------


def _release(catalog: Catalog, claim: Claim, error: Exception, *, failed: bool) -> None:
    reason = str(error) if isinstance(error, IndexerError) else f"{type(error).__name__}: {error}"
    delay = backoff(claim.tries)
    logger.warning("batch_postponed", batch=claim.id, seconds=round(delay, 1), reason=reason)
    retry_until_available(lambda: catalog.release(claim, delay=delay, error=reason, failed=failed))


def _split(catalog: Catalog, claim: Claim) -> list[Message]:
    """Split a batch to find the document that fails; dead-letter a batch of a single document."""
    if len(claim.ids) > 1:
        logger.warning("batch_split", batch=claim.id, documents=len(claim.ids), deaths=claim.deaths)
        return messages("prepare", claim.collection, catalog.split(claim))
    (id_,) = claim.ids
    entry = catalog.ledger(claim.collection, [id_]).get(id_)
    where = entry.source if entry and entry.source else id_
    if claim.deaths >= MAX_CRASHES:
        slow = ", or tagging it took too long (tagging_timeout)" if claim.state == "prepare" else ""
        reason = f"{where}: the worker process crashed on this document {claim.deaths} times{slow}."
    else:
        reason = f"{where}: it failed {claim.failures} times: {claim.error}"
    logger.error("document_dead_lettered", id=id_, stage=claim.state, reason=reason)
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
