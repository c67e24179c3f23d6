"""The connection: how it is made, and the one door through which every request goes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from elasticsearch import Elasticsearch

from indexer.engines.elastic.errors import explained, translated
from indexer.errors import EngineUnavailable, SearchError, SettingsError
from indexer.log import get_logger

TIMEOUT = 60.0  # seconds for one request
PATIENCE = (
    180.0  # seconds that a write or a run waits for a server that is away or busy; a restart takes less
)
MAX_PAUSE_S = 15.0  # seconds between two tries
PORTS = {"http": 80, "https": 443}

P = ParamSpec("P")
T = TypeVar("T")


def connect(url: str, *, credentials: str = "", certificates: str = "") -> Cluster:
    """Make a client; nothing is sent yet.

    Args:
        url: ``http://`` or ``https://``; may hold ``user:password@`` and a path.
        credentials: ``user:password``, an API key, or ``@FILE`` with one of these in it; wins over the URL.
        certificates: PEM file with the authority that signed the server's certificate; empty trusts what the
            system trusts. Certificates are always verified.

    Raises:
        SettingsError: A file cannot be read, the URL is none, or certificates are given for one without TLS.
    """
    parts, address = _read(url)
    options: dict[str, Any] = {}
    secret = _secret(credentials)
    if not secret and parts.username is not None:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    if ":" in secret:
        user, _, password = secret.partition(":")
        options["basic_auth"] = (user, password)
    elif secret:
        options["api_key"] = secret
    if certificates:
        if parts.scheme != "https":
            raise SettingsError(
                f"There are certificates for {address}, whose address begins with http://: nothing would be encrypted.",
                hint="Is INDEXER_ENGINE to begin with https://? Or is INDEXER_CERTIFICATES not for this server?",
            )
        if not Path(certificates).expanduser().is_file():
            raise SettingsError(
                f"The certificates are to be read from '{certificates}'; there is no such file."
            )
        options["ca_certs"] = str(Path(certificates).expanduser())
    return Cluster(Elasticsearch(address, request_timeout=TIMEOUT, max_retries=0, **options), address)


def _read(url: str) -> tuple[SplitResult, str]:
    """The parts of a URL, and the address in it, without user and password."""
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
        ) from None  # what it says may be a part of the password
    if not parts.hostname:
        raise SettingsError(
            "The engine's URL has no host.", hint="For example: INDEXER_ENGINE=http://localhost:9200"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return parts, f"{parts.scheme}://{host}:{port or PORTS[parts.scheme]}{parts.path.rstrip('/')}"


def _secret(credentials: str) -> str:
    if not credentials.startswith("@"):
        return credentials
    path = Path(credentials[1:]).expanduser()
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The credentials cannot be read from '{path}': {error}.") from error


class Cluster:
    """A client and its address. Errors of the client come out as `SearchError` and its children.

    Args:
        pause: Called with seconds to wait between two tries; for tests.
    """

    def __init__(
        self,
        client: Elasticsearch,
        where: str,
        *,
        patience: float = PATIENCE,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.client = client
        self.where = where
        self._patience = patience
        self._pause = pause
        self.is_patient = False

    @contextmanager
    def patient(self) -> Iterator[None]:
        """Inside, every request waits for a server that is away or busy: for runs, where nobody sits and waits."""
        before, self.is_patient = self.is_patient, True
        try:
            yield
        finally:
            self.is_patient = before

    def once(self, call: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The body of the answer to one request, which is made once."""
        with translated(self.where):
            return call(*args, **kwargs).body

    def ask(self, call: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The body of the answer to one request."""
        return self.tried(lambda: self.once(call, *args, **kwargs))

    def tried(self, work: Callable[[], T]) -> T:
        """Do work that asks; again when the server is away or busy, if we are patient."""
        return self._retry(work) if self.is_patient else work()

    def _retry(self, work: Callable[[], T]) -> T:
        patience = self.patience()
        while True:
            try:
                return work()
            except EngineUnavailable as error:
                patience.spend(error)

    def patience(self) -> RetryPolicy:
        """Patience for one piece of work."""
        return RetryPolicy(self._patience, self._pause)

    def search(self, **parts: Any) -> Any:
        """The answer to one search; never one from a part of the shards only."""
        return self.ask(self.client.search, allow_partial_search_results=False, **parts)

    def search_many(self, searches: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Several searches (index, body) in one request; the answers in their order."""
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
        """Of the server; empty when we may not know. Not every user may ask nodes, not every server answers ``GET /``."""
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
    """How long to go on trying, with growing pauses; progress starts it anew."""

    def __init__(self, seconds: float, pause: Callable[[float], None]) -> None:
        self._seconds = seconds
        self._pause = pause
        self.progress()

    def progress(self) -> None:
        """Something was done: all patience is back."""
        self._left = self._seconds
        self._next = 0.5

    def spend(self, error: EngineUnavailable) -> None:
        """Wait a while, or raise the error when the patience is at its end or waiting will not help."""
        if self._left <= 0 or error.facts.get("blocked") or error.facts.get("forgotten"):
            raise error
        # Up to half as long again, so that several writers do not come back all at once.
        seconds = min(self._next, self._left) * random.uniform(1.0, 1.5)
        get_logger(__name__).warning("engine_waiting", seconds=round(seconds, 1), reason=str(error))
        self._left -= seconds
        self._next = min(2 * self._next, MAX_PAUSE_S)
        self._pause(seconds)
