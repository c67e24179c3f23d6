"""What would stop a run in Elasticsearch, found before it starts: of the server as a whole, and of a collection.

What our user may do, asked before it is needed. The roles are in docs/elasticsearch.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import Names
from indexer.errors import EngineForbidden, EngineUnavailable, SearchError

BLOCKS = ("read_only", "read_only_allow_delete", "write")


@dataclass(frozen=True)
class HealthProblem:
    """Something that a person should know. `fatal`: a run would fail."""

    found: str
    hint: str
    fatal: bool


def problems_of_server(cluster: Cluster) -> Iterator[HealthProblem]:
    """Look at the server as a whole, so also before there is a collection."""
    client = cluster.client
    state = _known(cluster, client.cluster.state, metric="blocks")
    for block in state.get("blocks", {}).get("global", {}).values():
        yield HealthProblem(f"the server takes no writes: {block['description']}", UNBLOCK, fatal=True)
    report = _known(cluster, client.health_report, feature="disk")
    disk = report.get("indicators", {}).get("disk", {})
    if disk.get("status") in ("yellow", "red"):
        yield HealthProblem(
            str(disk["symptom"]), "Free some space, or add a node.", fatal=disk["status"] == "red"
        )
    licence = _known(cluster, client.license.get).get("license", {})
    if licence.get("status", "active") != "active":
        hint = "Renew it, or go back to the free one, which is enough: POST _license/start_basic"
        yield HealthProblem(f"the {licence['type']} licence is {licence['status']}", hint, fatal=True)


def _known(cluster: Cluster, call: Callable[..., Any], **parts: Any) -> Any:
    """An answer; nothing where asking takes a privilege that no role of ours needs, or the server does not know of it."""
    try:
        return cluster.ask(call, **parts)
    except EngineUnavailable:
        raise
    except SearchError:
        return {}


def problems(cluster: Cluster, names: Names) -> Iterator[HealthProblem]:
    """Look at the indices of a collection."""
    settings = cluster.ask(cluster.client.indices.get_settings, index=names.all)
    for index, entry in sorted(settings.items()):
        for block in blocks(entry["settings"]["index"]):
            yield HealthProblem(f"{index} takes no writes: index.blocks.{block} is set", UNBLOCK, fatal=True)
    lacks = lacking(cluster, names.documents, WRITE)
    if lacks:
        hint = "docs/elasticsearch.md has the role for writers."
        yield HealthProblem(f"this user may only read: it lacks {', '.join(lacks)}", hint, fatal=False)
    with suppress(EngineForbidden):  # asking takes a privilege that no role of ours needs
        health = cluster.ask(cluster.client.cluster.health, index=names.all)
        if health["status"] == "red":
            hint = "A node is away or a disk is full: GET _cluster/allocation/explain says why."
            yield HealthProblem("parts of the collection are not there: its health is red", hint, fatal=True)
    mapping = cluster.ask(cluster.client.indices.get_mapping, index=names.documents)
    for entry in mapping.values():
        if entry["mappings"].get("_meta", {}).get("analyzer"):
            hint = (
                "The server lacks the analyzer of the language. Install it, and index into a new collection."
            )
            yield HealthProblem("words are compared by their letters only", hint, fatal=False)


UNBLOCK = "A full disk sets read_only_allow_delete: free some space. Otherwise take the block away."


def blocks(settings: dict[str, object]) -> list[str]:
    """Which blocks keep an index from being written to, from its settings."""
    held = settings.get("blocks")
    return [block for block in BLOCKS if isinstance(held, dict) and held.get(block) in ("true", True)]


READ = ("read", "view_index_metadata", "monitor")
WRITE = (*READ, "write", "maintenance")
FOUND = (*WRITE, "manage")


def lacking(cluster: Cluster, index: str, privileges: Sequence[str]) -> list[str]:
    """Those of the privileges that our user does not have on an index or pattern.

    A server without security cannot say: there nothing is lacking.

    Raises:
        EngineForbidden: The server does not know us.
        EngineUnavailable: It does not answer.
    """
    asked = [{"names": [index], "privileges": list(privileges)}]
    try:
        answer = cluster.ask(cluster.client.security.has_privileges, index=asked)
    except (EngineForbidden, EngineUnavailable):
        raise
    except SearchError:
        return []
    return sorted(name for name, has in answer["index"].get(index, {}).items() if not has)
