"""Several processes that serve one collection from one port, under the supervisor of uvicorn.

Each process opens the collection for itself: files of vectors and of the encoder are memory maps, so their pages are in
memory once.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import uvicorn
from fastapi import FastAPI
from threadpoolctl import threadpool_limits
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from indexer.errors import IndexerError, SettingsError
from indexer.log import configure
from indexer.settings import Settings
from indexer.web import metrics
from indexer.web.api_keys import Keys
from indexer.web.app import make_app
from indexer.web.server_state import ServerState
from indexer.web.shared import ServedCollection
from models.calibrate import chosen_backend
from models.hardware import physical_cores
from models.load import is_user_class
from models.registry import Registry

SIGNS_OF_LIFE_S = 60  # a process that does not answer its supervisor for so long is replaced


@dataclass(frozen=True)
class WorkerApp:
    """Makes the application in a process of its own, to which it is pickled.

    Args:
        keyed: Whether requests need a key.
        rate: Requests a second for each key.
        verbose: How often `-v` was given.
    """

    settings: Settings
    keyed: bool
    rate: float
    verbose: int

    def __call__(self) -> FastAPI:
        settings = self.settings
        # The threads of each process's BLAS would wait busily for each other, all on the same cores.
        threadpool_limits(settings.threads)
        configure(settings.log_level, format=settings.log_format, verbose=self.verbose)
        threading.Thread(target=_end_with_supervisor, name="supervisor", daemon=True).start()
        try:
            collection = ServedCollection.open(settings, create=False)
        except IndexerError as error:
            click.echo(f"{error} {error.hint}".strip(), err=True)
            sys.exit(STARTUP_FAILURE)  # the supervisor ends the others, too
        state = ServerState(Path(os.environ[metrics.SHARED_FOLDER]) / "state.sqlite")
        keys = Keys(settings.home) if self.keyed else None
        return make_app(collection, keys=keys, rate=self.rate, state=state)


def _end_with_supervisor() -> None:
    """End this process when the supervisor was killed: it would keep the port. Remove what the supervisor left."""
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        supervisor.join()
        shutil.rmtree(os.environ[metrics.SHARED_FOLDER], ignore_errors=True)
        os.kill(os.getpid(), signal.SIGTERM)


def listen(host: str, port: int) -> list[socket.socket]:
    """Bind a port on every address of a host.

    Raises:
        SettingsError: The host is unknown, or the port is in use.
    """
    with ExitStack() as opened:
        sockets: list[socket.socket] = []
        try:
            for family, kind, protocol, _, address in _addresses(host, port):
                bound = opened.enter_context(socket.socket(family, kind, protocol))
                if os.name != "nt":  # there it would share the port with another program
                    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                bound.bind((address[0], port, *address[2:]))
                port = bound.getsockname()[1]  # of port 0, the first address decides
                bound.listen()
                sockets.append(bound)
        except OSError as error:
            raise SettingsError(
                f"The server cannot listen on port {port} of {host}: {error.strerror}.",
                hint="If another program uses the port, choose another one with --port; 0 takes a free one.",
            ) from error
        opened.pop_all()
    return sockets


def _addresses(host: str, port: int) -> list[tuple[int, int, int, str, tuple[str, ...]]]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys(found))  # type: ignore[arg-type]


def share(settings: Settings, workers: int) -> Settings:
    """Return the settings of one of several processes: its share of the cores, and a backend that is measured already.

    Otherwise every process would measure the backends when it starts, all at once.
    """
    threads = settings.threads or max(1, physical_cores() // workers)
    settings = settings.model_copy(update={"threads": threads})
    if settings.backend == "auto" and not is_user_class(settings.bundle, settings.home):
        chosen_backend(Registry(settings.home).get(settings.bundle), settings.home, threads)
    return settings


def serve(app: WorkerApp, workers: int, sockets: Sequence[socket.socket], options: Mapping[str, Any]) -> None:
    """Serve with several processes until a signal ends them.

    The signal is raised again afterwards, so that this program ends as it does with one process.

    Args:
        options: Of `uvicorn.Config`.

    Raises:
        SystemExit: A process could not start.
    """
    config = uvicorn.Config(
        app, factory=True, workers=workers, timeout_worker_healthcheck=SIGNS_OF_LIFE_S, **options
    )
    supervisor = _Supervisor(config, list(sockets))
    # For all that the processes share: sessions, limits, tasks, counts of requests. It must be gone before the signal.
    with TemporaryDirectory(prefix="indexer-serve-") as folder:
        os.environ[metrics.SHARED_FOLDER] = folder
        supervisor.run()
    for number in supervisor.ended_by[:1]:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        signal.raise_signal(number)
    sys.exit(1)


class _Supervisor(Multiprocess):
    """Remembers the signal that ended it, and notices at once when a process is killed."""

    ended_by: tuple[int, ...] = ()

    def keep_subprocess_alive(self) -> None:
        for process in self.processes:
            # While this side of it is open, the answer of a process that is killed when it was asked is awaited in vain.
            process.child_conn.close()
        super().keep_subprocess_alive()

    def handle_signals(self) -> None:
        self.ended_by += tuple(n for n in self.signal_queue if n in (signal.SIGINT, signal.SIGTERM))
        super().handle_signals()
