"""The Elasticsearch engine without Elasticsearch: a stub at the other end of the line."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from engines.elastic.stub import Stub, serve
from services.asking import asked_for
from services.distribution import VERSIONS
from services.elastic import EVERY_VERSION

from indexer.engines.elastic.cluster import Cluster, connect


@pytest.fixture
def stub() -> Stub:
    return Stub()


@pytest.fixture
def address(stub: Stub) -> Iterator[str]:
    server = serve(stub)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def pauses() -> list[float]:
    """Seconds that were waited; no test waits for them."""
    return []


@pytest.fixture
def cluster(address: str, pauses: list[float]) -> Iterator[Cluster]:
    cluster = Cluster(connect(address).client, address, retry_s=60, pause=pauses.append)
    yield cluster
    cluster.close()


@pytest.fixture(scope="module", params=EVERY_VERSION)
def version(request: pytest.FixtureRequest) -> str:
    if not asked_for(request.config):
        pytest.skip("Needs a server: run with -m live.")
    return str(request.param)


@pytest.fixture
def only_elasticsearch(version: str) -> None:
    if VERSIONS[version].product != "elasticsearch":
        pytest.skip("OpenSearch has no equivalent, and no collection of version 0.1.0.")
