"""Figures of worker processes, for Prometheus: each writes its own to files, and the supervisor shows their sum."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector

from indexer.errors import SettingsError

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus_client when a process starts


@contextmanager
def shown(address: str) -> Iterator[dict[str, str]]:
    """Show the sum of all processes at an address, for the length of a with block.

    Args:
        address: PORT, or HOST:PORT; without a host, this machine only.

    Yields:
        What the environment of the processes must have.

    Raises:
        SettingsError: It cannot be listened on.
    """
    host, _, port = address.rpartition(":")
    with TemporaryDirectory(prefix="indexer-metrics-") as folder:
        registry = CollectorRegistry()
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
        try:
            server, thread = start_http_server(int(port), host.strip("[]") or "127.0.0.1", registry)
        except (OSError, ValueError, OverflowError) as error:
            raise SettingsError(
                f"Figures cannot be shown at '{address}': {error}.", hint="For example: --metrics 9100"
            ) from error
        try:
            yield {FOLDER: folder}
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
