"""Problems that would stop a run in Elasticsearch: of the server as a whole, and of a collection.

Also the privileges of our user, checked before they are needed. The roles are in docs/elasticsearch.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from elasticsearch import Elasticsearch

from indexer.engines.base import HealthProblem
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import Names
from indexer.errors import EngineForbidden, EngineUnavailable, SearchError

STATUS_TIMEOUT_S = 2.0  # of a request of `urgent_problems`: `indexer status` waits for it
BLOCKS = ("read_only", "read_only_allow_delete", "write")


def problems_of_server(cluster: Cluster) -> Iterator[HealthProblem]:
    """Look at the server as a whole; needs no collection."""
    client = cluster.client
    state = _permitted(cluster, client.cluster.state, metric="blocks")
    for block in state.get("blocks", {}).get("global", {}).values():
        yield HealthProblem(f"the server takes no writes: {block['description']}", UNBLOCK, fatal=True)
    yield from _disk(cluster, client)
    licence = _permitted(cluster, client.license.get).get("license", {})
    if licence.get("status", "active") != "active":
        hint = "Renew it, or go back to the free one, which is enough: POST _license/start_basic"
        yield HealthProblem(f"the {licence['type']} licence is {licence['status']}", hint, fatal=True)


def problems(cluster: Cluster, names: Names) -> Iterator[HealthProblem]:
    """Look at the indices of a collection."""
    yield from _write_blocks(cluster, cluster.client, names)
    lacks = lacking(cluster, names.documents, WRITE)
    if lacks:
        hint = "docs/elasticsearch.md has the role for writers."
        yield HealthProblem(f"this user may only read: it lacks {', '.join(lacks)}", hint, fatal=False)
    yield from _red(cluster, cluster.client, names)
    mapping = cluster.ask(cluster.client.indices.get_mapping, index=names.documents)
    for entry in mapping.values():
        if entry["mappings"].get("_meta", {}).get("analyzer"):
            hint = (
                "The server lacks the analyzer of the language. Install it, and index into a new collection."
            )
            yield HealthProblem("words are compared by their letters only", hint, fatal=False)


def urgent_problems(cluster: Cluster, names: Names) -> list[HealthProblem]:
    """Look for write blocks, a red index and a full disk: one short request each, never retried."""
    client = cluster.client.options(request_timeout=STATUS_TIMEOUT_S)
    found: list[HealthProblem] = []
    for look in (_write_blocks, _red, lambda cluster, client, names: _disk(cluster, client)):
        try:
            found += look(cluster, client, names)
        except EngineUnavailable as error:
            return [*found, HealthProblem(str(error).rstrip("."), error.hint, fatal=True)]
        except SearchError as error:
            found.append(HealthProblem(str(error).rstrip("."), error.hint, fatal=False))
    return found


def _write_blocks(cluster: Cluster, client: Elasticsearch, names: Names) -> Iterator[HealthProblem]:
    settings = cluster.once(client.indices.get_settings, index=names.all)
    for index, entry in sorted(settings.items()):
        for block in blocks(entry["settings"]["index"]):
            yield HealthProblem(f"{index} takes no writes: index.blocks.{block} is set", UNBLOCK, fatal=True)


def _red(cluster: Cluster, client: Elasticsearch, names: Names) -> Iterator[HealthProblem]:
    health = _permitted(cluster, client.cluster.health, index=names.all)
    if health.get("status") == "red":
        hint = "A node is away or a disk is full: GET _cluster/allocation/explain says why."
        yield HealthProblem("parts of the collection are not there: its health is red", hint, fatal=True)


def _disk(cluster: Cluster, client: Elasticsearch) -> Iterator[HealthProblem]:
    report = _permitted(cluster, client.health_report, feature="disk")
    disk = report.get("indicators", {}).get("disk", {})
    if disk.get("status") in ("yellow", "red"):
        fatal = disk["status"] == "red"
        yield HealthProblem(str(disk["symptom"]), "Free some space, or add a node.", fatal=fatal)


def _permitted(cluster: Cluster, call: Callable[..., Any], **parts: Any) -> Any:
    """Return an answer; nothing when it takes a privilege that none of our roles has, or the server does not know it."""
    try:
        return cluster.once(call, **parts)
    except EngineUnavailable:
        raise
    except SearchError:
        return {}


UNBLOCK = "A full disk sets read_only_allow_delete: free some space. Otherwise take the block away."


def blocks(settings: dict[str, object]) -> list[str]:
    """Return the blocks that keep an index from being written to, from its settings."""
    held = settings.get("blocks")
    return [block for block in BLOCKS if isinstance(held, dict) and held.get(block) in ("true", True)]


READ = ("read", "view_index_metadata", "monitor")
WRITE = (*READ, "write", "maintenance")
FOUND = (*WRITE, "manage")


def lacking(cluster: Cluster, index: str, privileges: Sequence[str]) -> list[str]:
    """Return the privileges that our user lacks on an index or pattern.

    A server without security has none to check: nothing is lacking there.

    Raises:
        EngineForbidden: The server rejects our credentials.
        EngineUnavailable: The server does not answer.
    """
    requested = [{"names": [index], "privileges": list(privileges)}]
    try:
        answer = cluster.ask(cluster.client.security.has_privileges, index=requested)
    except (EngineForbidden, EngineUnavailable):
        raise
    except SearchError:
        return []
    return sorted(name for name, has in answer["index"].get(index, {}).items() if not has)
