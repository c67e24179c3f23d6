"""Saved searches: after each run, those of its documents that a search finds go to a file, an address or a command.

Delivered at least once: how far a search has come is recorded after its hits were delivered. A process that dies in
between delivers them again.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Collection as Ids
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.error import URLError
from urllib.request import Request, urlopen

from indexer.catalog import Catalog, SavedSearch
from indexer.catalog.saved_searches import no_saved_search
from indexer.engines.base import Filter, Operator
from indexer.errors import IndexerError, QueryError
from indexer.export import serialize
from indexer.records import Topic
from indexer.search.results import Hit, Mode, SearchResults

FIRST = 200  # hits among which a new document counts, where it need not have all words
NEAR = 20  # the same by meaning alone, and close
DELIVERY_S = 60.0  # that an address or a command may take
MAX_NAME = 100  # characters
MAX_SAID = 300  # characters of what a command says when it fails
WEB = ("http://", "https://")


@dataclass(frozen=True)
class Wanted:
    """What is searched, and where new hits go: to one place, so that none gets them twice because another one fails.

    Attributes:
        filters: Conditions, as field, operator and value.
        file: Absolute path, to which a line of JSON is added for each hit.
        webhook: Address that gets a JSON object for all hits of a run, by POST.
        command: Command line that gets the same lines as the file on its standard input.
    """

    query: str
    mode: Mode = "both"
    filters: tuple[tuple[str, Operator, Any], ...] = ()
    file: str = ""
    webhook: str = ""
    command: str = ""

    @classmethod
    def of(cls, search: Mapping[str, Any]) -> Wanted:
        return cls(**{**search, "filters": tuple(tuple(one) for one in search["filters"])})

    @property
    def conditions(self) -> list[Filter]:
        return [Filter(*one) for one in self.filters]


@dataclass
class Checked:
    """What a check found: name of the search ► new hits, or why they could not be delivered."""

    found: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


class Searched(Protocol):
    """The collection, as far as it is needed here."""

    name: str
    catalog: Catalog

    def topics(self) -> list[Topic]: ...

    def search(
        self, query: str, *, mode: Mode, filters: Sequence[Filter], facets: Sequence[str], limit: int
    ) -> SearchResults: ...
    def scan(self, query: str, *, filters: Sequence[Filter]) -> Iterator[Hit]: ...
    def check_filters(self, filters: Sequence[Filter]) -> None: ...


def add(collection: Searched, name: str, wanted: Wanted) -> SearchResults:
    """Save a search, and return what it finds now: the first hit, and how many there are.

    Raises:
        QueryError: The name is empty, too long or taken, the search cannot be read, or hits cannot go there.
    """
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise QueryError(
            f"The name of a saved search has 1 to {MAX_NAME} printable characters, not {name!r}."
        )
    if wanted.webhook and not wanted.webhook.startswith(WEB):
        raise QueryError(f"The webhook {wanted.webhook!r} does not begin with http:// or https://.")
    if sum(map(bool, (wanted.file, wanted.webhook, wanted.command))) != 1:
        raise QueryError(
            "New hits go to one file, one webhook or one command.", hint="Save the search once for each."
        )
    if wanted.file:
        _check_writable(wanted.file)
    found = _searched(collection, wanted, 1)
    collection.catalog.add_saved_search(collection.name, name, asdict(wanted))
    return found


def check(collection: Searched, names: Ids[str] | None = None) -> Checked:
    """Search for what later runs have read, and deliver it. One search that fails does not keep others from theirs.

    Args:
        names: Of the searches; all by default.

    Raises:
        NotFound: There is no search of a name.
    """
    checked = Checked()
    there = collection.catalog.saved_searches(collection.name)
    if unknown := set(names or ()) - {saved.name for saved in there}:
        raise no_saved_search(min(unknown))
    for saved in there:
        if names is None or saved.name in names:
            try:
                checked.found[saved.name] = _check(collection, saved)
            except (IndexerError, OSError, subprocess.SubprocessError) as error:
                reason = str(error) or type(error).__name__
                checked.failed[saved.name] = reason
                collection.catalog.not_delivered(collection.name, saved.name, reason)
    return checked


def _check(collection: Searched, saved: SavedSearch) -> int:
    runs = collection.catalog.read_after(collection.name, saved.after_run)
    if not runs:
        collection.catalog.checked(collection.name, saved.name, after_run=saved.after_run, new=0)
        return 0
    wanted = Wanted.of(saved.search)
    hits = list(_new(collection, wanted, runs))
    if hits:
        labels = serialize.labels_of(collection.topics())
        about = {"search": saved.name, "collection": collection.name}
        _deliver(wanted, about, [serialize.hit(hit, labels) for hit in hits])
    collection.catalog.checked(collection.name, saved.name, after_run=max(runs.values()), new=len(hits))
    return len(hits)


def _new(collection: Searched, wanted: Wanted, ids: Ids[str]) -> Iterator[Hit]:
    """Hits among these documents: with the words, or, searched by meaning, among the nearest and close."""
    found = _searched(collection, wanted, FIRST)
    given: set[str] = set()
    for hit in found.hits:
        by_words = "meaning" not in hit.found_by or "words" in hit.found_by
        near = found.close and hit.found_by.get("meaning", NEAR + 1) <= NEAR
        if hit.stored.document.id in ids and (by_words or near):
            given.add(hit.stored.document.id)
            yield hit
    if wanted.mode != "meaning" and not found.any_word and found.total > FIRST:
        for hit in collection.scan(wanted.query, filters=wanted.conditions):
            if hit.stored.document.id in ids and hit.stored.document.id not in given:
                yield hit


def _searched(collection: Searched, wanted: Wanted, limit: int) -> SearchResults:
    collection.check_filters(wanted.conditions)
    return collection.search(
        wanted.query, mode=wanted.mode, filters=wanted.conditions, facets=(), limit=limit
    )


# -- delivery ------------------------------------------------------------------------------------------------


def _check_writable(file: str) -> None:
    try:
        Path(file).open("a").close()
    except OSError as error:
        raise QueryError(f"{file} cannot be written: {error.strerror}.") from error


def _deliver(wanted: Wanted, about: Mapping[str, str], hits: Sequence[Mapping[str, Any]]) -> None:
    lines = "".join(json.dumps({**about, **hit}, ensure_ascii=False) + "\n" for hit in hits)
    if wanted.file:
        with Path(wanted.file).open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(lines)
    if wanted.webhook:
        _post(wanted.webhook, {**about, "query": wanted.query, "hits": hits})
    if wanted.command:
        _run(wanted.command, lines.encode("utf-8", "surrogateescape"))


def _run(command: str, data: bytes) -> None:
    done = subprocess.run(
        shlex.split(command), input=data, timeout=DELIVERY_S, check=False, capture_output=True
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[-MAX_SAID:]
        raise QueryError(f"{command} ended with {done.returncode}{f': {said}' if said else ''}.")


def _post(address: str, value: object) -> None:
    data = json.dumps(value).encode()
    request = Request(address, data, {"Content-Type": "application/json", "User-Agent": "indexer"})
    try:
        with urlopen(request, timeout=DELIVERY_S):
            pass
    except URLError as error:
        raise QueryError(f"{address} did not take the hits: {error}.") from error
