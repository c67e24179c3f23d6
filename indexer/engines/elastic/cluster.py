"""The connection: how it is made, the one object that sends every request, and its errors as errors of this program."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast
from urllib.parse import SplitResult, unquote, urlsplit

from elasticsearch import (
    ApiError,
    ConnectionError,
    ConnectionTimeout,
    Elasticsearch,
    SSLError,
    TransportError,
    UnsupportedProductError,
)
from elasticsearch.serializer import OrjsonSerializer

from indexer.engines import deadline
from indexer.engines.elastic.credentials import authorization
from indexer.engines.elastic.opensearch import ServerTransport
from indexer.errors import (
    EngineForbidden,
    EngineIncompatible,
    EngineUnavailable,
    MappingMismatch,
    SearchError,
    SettingsError,
)
from indexer.log import get_logger
from indexer.settings import secret_of

RETRY_STATUS = {429, 502, 503, 504}
TOO_LARGE = 413
RETRY_S = 180.0  # how long a write or a run retries while the server is away or busy; a restart takes less
MAX_PAUSE_S = 15.0  # seconds between two tries
PORTS = {"http": 80, "https": 443}

P = ParamSpec("P")
T = TypeVar("T")


def connect(url: str, *, credentials: str = "", certificates: str = "", timeout: float = 60.0) -> Cluster:
    """Create a client; sends no request.

    Args:
        url: ``http://`` or ``https://``; may contain ``user:password@`` and a path.
        credentials: ``user:password``, an API key, or ``@FILE`` that contains one of these; overrides the URL. The file
            is read again when the server refuses what was in it.
        certificates: PEM file of the authority that signed the server's certificate; empty: the authorities of
            the system. Certificates are always verified.
        timeout: Seconds that the server may take to answer one request.

    Raises:
        SettingsError: A file cannot be read, the URL is invalid, or it has no TLS but certificates are given.
    """
    parts, address = _read(url)
    options: dict[str, Any] = {}
    secret = secret_of(credentials)
    if not secret and parts.username is not None:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    if secret:
        options["headers"] = {"authorization": authorization(secret)}
    if certificates:
        if parts.scheme != "https":
            raise SettingsError(
                f"INDEXER_CERTIFICATES is set, but {address} begins with http://: nothing would be encrypted.",
                hint="Set INDEXER_ENGINE to https://, or unset INDEXER_CERTIFICATES.",
            )
        if not Path(certificates).expanduser().is_file():
            raise SettingsError(f"The file of the certificates, '{certificates}', does not exist.")
        options["ca_certs"] = str(Path(certificates).expanduser())
    options["serializers"] = {"application/json": OrjsonSerializer()}  # reads vectors five times as fast
    options["transport_class"] = ServerTransport
    client = Elasticsearch(address, request_timeout=timeout, max_retries=0, **options)
    cast(ServerTransport, client.transport).credentials = credentials
    return Cluster(client, address)


def _read(url: str) -> tuple[SplitResult, str]:
    """Return the parts of a URL, and its address without user and password."""
    try:
        parts = urlsplit(url)
        port = parts.port
        if "@" in url and "@" not in parts.netloc:
            raise ValueError("A part of the password was taken for host and port.")
    except ValueError:
        raise SettingsError(
            "The engine's URL has no usable port.",
            hint="A port is a number up to 65535. In a password write / as %2F, ? as %3F, # as %23, or set "
            "INDEXER_CREDENTIALS=user:password instead.",
        ) from None  # its message may contain a part of the password
    if not parts.hostname:
        raise SettingsError(
            "The engine's URL has no host.", hint="For example: INDEXER_ENGINE=http://localhost:9200"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return parts, f"{parts.scheme}://{host}:{port or PORTS[parts.scheme]}{parts.path.rstrip('/')}"


class Cluster:
    """A client and its address. Errors of the client are translated to `SearchError` and its subclasses.

    Args:
        retry_s: Seconds of retries, see `retrying`.
        pause: Called with the seconds to wait between two tries; for tests.
    """

    def __init__(
        self,
        client: Elasticsearch,
        where: str,
        *,
        retry_s: float = RETRY_S,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.client = client
        self.where = where
        self._retry_s = retry_s
        self._pause = pause
        self.retries = False

    @property
    def opensearch(self) -> bool:
        """The server has answered, and it is OpenSearch."""
        transport = self.client.transport
        return isinstance(transport, ServerTransport) and transport.opensearch

    @property
    def product(self) -> str:
        return "OpenSearch" if self.opensearch else "Elasticsearch"

    @contextmanager
    def retrying(self) -> Iterator[None]:
        """Inside the block, retry requests while the server is away or busy: for unattended runs."""
        before, self.retries = self.retries, True
        try:
            yield
        finally:
            self.retries = before

    def once(self, call: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return the body of the answer to one request, without retries."""
        if deadline.expired():
            raise deadline.timeout()
        try:
            with translated(self.where):
                return call(*args, **kwargs).body
        except EngineUnavailable as error:
            raise deadline.timeout() if deadline.expired() else error from error

    def ask(self, call: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return the body of the answer to one request."""
        return self.tried(lambda: self.once(call, *args, **kwargs))

    def tried(self, work: Callable[[], T]) -> T:
        """Call a function that sends requests; inside `retrying`, again while the server is away or busy."""
        return self._retry(work) if self.retries else work()

    def _retry(self, work: Callable[[], T]) -> T:
        retry = self.retry_policy()
        while True:
            try:
                return work()
            except EngineUnavailable as error:
                retry.wait(error)

    def retry_policy(self) -> RetryPolicy:
        """Return a new retry policy for one task."""
        return RetryPolicy(self._retry_s, self._pause)

    def search(self, **parts: Any) -> Any:
        """Return the answer to one search; an answer from only some of the shards is an error."""
        return self.ask(self.client.search, allow_partial_search_results=False, **parts)

    def search_many(self, searches: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Send several searches (index, body) in one request; return the answers in order."""
        lines: list[dict[str, Any]] = []
        for index, body in searches:
            lines += [{"index": index, "allow_partial_search_results": False}, body]
        return self.tried(lambda: self._answers(lines))

    def _answers(self, searches: list[dict[str, Any]]) -> list[Any]:
        answers = self.once(self.client.msearch, searches=searches)["responses"]
        for answer in answers:
            if "error" in answer:
                raise explained(self.where, answer.get("status", 500), answer)
        return list(answers)

    def version(self) -> str:
        """Return the server's version; empty when this user may not read it.

        Some users may not list nodes, some servers lack ``GET /``.
        """
        try:
            nodes = self.ask(self.client.nodes.info, node_id="_local", filter_path="nodes.*.version")["nodes"]
            return next((str(node["version"]) for node in nodes.values()), "")
        except EngineUnavailable:
            raise
        except SearchError:
            pass
        try:
            return str(self.ask(self.client.info)["version"]["number"])
        except SearchError:
            return ""

    def close(self) -> None:
        self.client.close()


class RetryPolicy:
    """Retries for a limited time with exponential backoff; `reset` restarts it."""

    def __init__(self, seconds: float, pause: Callable[[float], None]) -> None:
        self._seconds = seconds
        self._pause = pause
        self.reset()

    def reset(self) -> None:
        """Restart after progress."""
        self._left = self._seconds
        self._next = 0.5

    def wait(self, error: EngineUnavailable) -> None:
        """Wait before the next try; raise the error when the time is used up or waiting cannot help."""
        if self._left <= 0 or error.facts.get("blocked") or error.facts.get("forgotten"):
            raise error
        # Jitter, so that several writers do not retry at once.
        seconds = min(self._next, self._left) * random.uniform(1.0, 1.5)
        get_logger(__name__).warning("engine_waiting", seconds=round(seconds, 1), reason=str(error))
        self._left -= seconds
        self._next = min(2 * self._next, MAX_PAUSE_S)
        self._pause(seconds)


# -- errors --------------------------------------------------------------------------------------------------


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Translate errors of the client inside the block.

    Args:
        where: The server's URL without a password, for the message.
    """
    try:
        yield
    except UnsupportedProductError as error:
        raise EngineIncompatible(
            f"The server at {where} is neither Elasticsearch nor OpenSearch.",
            hint="A proxy must forward the header X-Elastic-Product.",
        ) from error
    except ApiError as error:
        raise explained(where, error.meta.status, error.body) from error
    except SSLError as error:
        if "WRONG_VERSION_NUMBER" in error.message:
            raise EngineUnavailable(
                f"The server at {where} does not speak TLS.",
                hint="Check INDEXER_ENGINE: http:// instead of https://, or another port?",
            ) from error
        raise EngineUnavailable(
            f"The certificate of {where} cannot be trusted: {error.message}.",
            hint="Name the certificate of the authority that signed it: INDEXER_CERTIFICATES=ca.crt",
        ) from error
    except ConnectionTimeout as error:
        raise EngineUnavailable(
            f"The server at {where} did not answer in time.",
            hint="It may be overloaded: look at its load, and try again.",
            silent=True,
        ) from error
    except ConnectionError as error:
        raise EngineUnavailable(
            f"There is no answer from the server at {where}: {error.message}.",
            hint="Check INDEXER_ENGINE (http or https? which port?), and that the server is up.",
        ) from error
    except TransportError as error:
        raise SearchError(f"The answer of {where} cannot be understood: {error.message}.") from error


def explained(where: str, status: int, body: Any) -> SearchError:
    """Return the error for an answer with this status and body."""
    kind, reason = _cause(body)
    if kind == "cluster_block_exception" or "disk usage exceeded" in reason:
        return EngineUnavailable(
            f"The server at {where} takes no writes: {reason}.",
            hint="Most often the disk is full (flood-stage watermark): free some space; the block then goes by itself.",
            status=status,
            blocked=True,
        )
    if "media_type" in kind or "compatible-with" in reason or "Accept version must be" in reason:
        return EngineIncompatible(
            f"The installed Python client and the server at {where} do not understand each other: {reason}.",
            hint="The client's major version must not be newer than the server's: pip install 'elasticsearch>=8.19,<9'",
        )
    if "maxClauseCount" in reason:
        return SearchError(
            f"The query has too many words for the server at {where}: {reason}.",
            hint="Shorten it, or have the administrator raise indices.query.bool.max_clause_count.",
            status=status,
        )
    if status == 401:
        return EngineForbidden(
            f"The server at {where} does not accept the user and password, or the API key.",
            hint="Set INDEXER_CREDENTIALS to user:password or an API key, or to @FILE with one of these in it.",
        )
    if "non-compliant" in reason:
        return EngineForbidden(
            f"The licence of the server at {where} does not allow this: {reason}.",
            hint="Nothing in this program needs more than the free Basic licence: please report this.",
        )
    if status == 403:
        return EngineForbidden(
            f"A privilege is missing at {where}: {reason}.",
            hint="docs/elasticsearch.md lists the privileges that reading and writing need.",
        )
    if "No search context found" in reason:
        return EngineUnavailable(
            f"The server at {where} has forgotten what was being read: it was restarted, or the reader too slow.",
            hint="Do it again.",
            status=status,
            forgotten=True,
        )
    if kind == "index_not_found_exception":
        return MappingMismatch(
            f"An index of the collection is missing at {where}: {reason}.",
            hint="It was removed since the collection was opened. Index again: indexer index SOURCE",
        )
    if status in RETRY_STATUS:
        return EngineUnavailable(
            f"The server at {where} is busy ({status}): {reason}.",
            hint="Try again in a moment.",
            status=status,
        )
    return SearchError(f"The server at {where} refused the request ({status}): {reason}.", status=status)


def reason_of(error: Any) -> str:
    """Describe the ``error`` of one item of an answer."""
    kind, reason = _cause({"error": error})
    return f"{kind}: {reason}" if kind and kind not in reason else reason


def _cause(body: Any) -> tuple[str, str]:
    """Return type and reason, with those of the inner causes, which name the invalid value."""
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
