"""Metrics of worker processes for Prometheus: each writes its own to files, and the supervisor serves their sum."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector

from indexer.errors import SettingsError

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus_client when a process starts


@contextmanager
def serve_metrics(address: str) -> Iterator[dict[str, str]]:
    """Serve the sum over all processes at an address, within a with block.

    Args:
        address: PORT or HOST:PORT; without a host, only this machine can read them.

    Yields:
        Variables for the environment of the processes.

    Raises:
        SettingsError: The address cannot be listened on.
    """
    host, _, port = address.rpartition(":")
    with TemporaryDirectory(prefix="indexer-metrics-") as folder:
        registry = CollectorRegistry()
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
        try:
            server, thread = start_http_server(int(port), host.strip("[]") or "127.0.0.1", registry)
        except (OSError, ValueError, OverflowError) as error:
            raise SettingsError(
                f"Metrics cannot be served at '{address}': {error}.", hint="For example: --metrics 9100"
            ) from error
        try:
            yield {FOLDER: folder}
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
