"""What our user may do, asked before it is needed. The roles are in docs/elasticsearch.md."""

from __future__ import annotations

from collections.abc import Sequence

from indexer.engines.elastic.cluster import Cluster
from indexer.errors import EngineForbidden, EngineUnavailable, SearchError

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
