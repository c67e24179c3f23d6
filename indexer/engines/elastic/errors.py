"""What the client and the server say when something is wrong, as errors of ours: one sentence and a hint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from elasticsearch import (
    ApiError,
    ConnectionError,
    ConnectionTimeout,
    SSLError,
    TransportError,
    UnsupportedProductError,
)

from indexer.errors import (
    EngineForbidden,
    EngineIncompatible,
    EngineUnavailable,
    MappingMismatch,
    SearchError,
)

COME_BACK_LATER = {429, 502, 503, 504}
TOO_LARGE = 413


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn errors of the client inside the block into ours.

    Args:
        where: The server's URL without a password, for the message.
    """
    try:
        yield
    except UnsupportedProductError as error:
        raise EngineIncompatible(
            f"What answers at {where} is not Elasticsearch.",
            hint="OpenSearch is not supported. A proxy in between must pass the header X-Elastic-Product on.",
        ) from error
    except ApiError as error:
        raise explained(where, error.meta.status, error.body) from error
    except SSLError as error:
        if "WRONG_VERSION_NUMBER" in error.message:
            raise EngineUnavailable(
                f"What answers at {where} does not speak TLS.",
                hint="Is INDEXER_ENGINE to begin with http:// and not https://? Or is it another port?",
            ) from error
        raise EngineUnavailable(
            f"The certificate of {where} cannot be trusted: {error.message}.",
            hint="Name the certificate of the authority that signed it: INDEXER_CERTIFICATES=ca.crt",
        ) from error
    except ConnectionTimeout as error:
        raise EngineUnavailable(
            f"Elasticsearch at {where} did not answer in time.",
            hint="It may be overloaded: look at its load, and try again.",
        ) from error
    except ConnectionError as error:
        raise EngineUnavailable(
            f"There is no answer from Elasticsearch at {where}: {error.message}.",
            hint="Check INDEXER_ENGINE (http or https? which port?), and that the server is up.",
        ) from error
    except TransportError as error:
        raise SearchError(f"The answer of {where} cannot be understood: {error.message}.") from error


def explained(where: str, status: int, body: Any) -> SearchError:
    """The error for an answer with this status and body."""
    kind, reason = _cause(body)
    if kind == "cluster_block_exception" or "disk usage exceeded" in reason:
        return EngineUnavailable(
            f"Elasticsearch at {where} takes no writes: {reason}.",
            hint="Most often the disk is full (flood-stage watermark): free some space; the block then goes by itself.",
            status=status,
            blocked=True,
        )
    if "media_type" in kind or "compatible-with" in reason or "Accept version must be" in reason:
        return EngineIncompatible(
            f"The installed Python client and the server at {where} do not understand each other: {reason}.",
            hint="The client's major version must not be newer than the server's: pip install 'elasticsearch>=8.19,<9'",
        )
    if status == 401:
        return EngineForbidden(
            f"Elasticsearch at {where} does not accept the user and password, or the API key.",
            hint="Set INDEXER_CREDENTIALS to user:password or an API key, or to @FILE with one of these in it.",
        )
    if "non-compliant" in reason:
        return EngineForbidden(
            f"The licence of Elasticsearch at {where} does not allow this: {reason}.",
            hint="Nothing in this program needs more than the free Basic licence: please report this.",
        )
    if status == 403:
        return EngineForbidden(
            f"A privilege is missing at {where}: {reason}.",
            hint="docs/elasticsearch.md lists the privileges that reading and writing need.",
        )
    if "No search context found" in reason:
        return EngineUnavailable(
            f"Elasticsearch at {where} has forgotten what was being read: it was restarted, or the reader too slow.",
            hint="Do it again.",
            status=status,
            forgotten=True,
        )
    if kind == "index_not_found_exception":
        return MappingMismatch(
            f"An index of the collection is missing at {where}: {reason}.",
            hint="It was removed since the collection was opened. Index again: indexer index SOURCE",
        )
    if status in COME_BACK_LATER:
        return EngineUnavailable(
            f"Elasticsearch at {where} is busy ({status}): {reason}.",
            hint="Try again in a moment.",
            status=status,
        )
    return SearchError(f"Elasticsearch at {where} refused the request ({status}): {reason}.", status=status)


def reason_of(error: Any) -> str:
    """The ``error`` of one item of an answer, in words."""
    kind, reason = _cause({"error": error})
    return f"{kind}: {reason}" if kind and kind not in reason else reason


def _cause(body: Any) -> tuple[str, str]:
    """Type and reason; of the innermost cause where there is one, because it names the value at fault."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return "", str(error or body or "no reason given")[:300].rstrip(".")
    kind = str(error.get("type") or "")
    roots = error.get("root_cause")
    inner = error.get("caused_by") or (roots[0] if roots else None)
    reasons = [str(error.get("reason") or kind)]
    while isinstance(inner, Mapping):
        reason = str(inner.get("reason") or "")
        if reason and not any(reason in known for known in reasons):
            reasons.append(reason)
        inner = inner.get("caused_by")
    return kind, "; ".join(reasons)[:600].rstrip(".")
