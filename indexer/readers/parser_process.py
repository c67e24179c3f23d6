"""Parse files in a process of its own, which can be ended: other people's parsers know no limit of time or memory."""

from __future__ import annotations

import os
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from types import TracebackType

from indexer.processes import end_with_parent, limit_memory, main_left_alone
from indexer.readers.options import ReadOptions
from indexer.readers.single import Page, Parser
from indexer.readers.source import File

MEMORY = 4_000_000_000  # bytes


class ParserProcess:
    """A process that parses one file after the other; it is started with the first one, and again after it was ended."""

    def __init__(self) -> None:
        self._connection: Connection | None = None

    def __enter__(self) -> ParserProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def parse(self, parser: Parser, file: File, options: ReadOptions) -> Page:
        """Parse a file that is one document.

        Args:
            parser: Called there; a function that cannot be imported there is called here.

        Raises:
            InputError: The file cannot be read, or takes more than `options.seconds` or `MEMORY`.
        """
        try:
            job = ForkingPickler.dumps((parser, file, options))
        except (PicklingError, AttributeError, TypeError):  # a function without a module
            return parser(file, options)
        connection = self._connection or self._started()
        try:
            connection.send_bytes(job)
            if not connection.poll(options.seconds):
                self._end()
                raise file.problem(
                    f"reading it takes more than {options.seconds:g} seconds.",
                    hint="Split or repair it, or raise the limit (read_timeout).",
                )
            found = connection.recv()
        except (EOFError, OSError) as error:
            self._end()
            raise file.problem("the process that read it has died of it.") from error
        if found is None:
            return parser(file, options)
        if isinstance(found, Page):
            return found
        raise found

    def _started(self) -> Connection:
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, os.getpid()), daemon=True)
        with main_left_alone():
            self._process.start()
        theirs.close()
        return self._connection

    def _end(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._process.kill()
            self._process.join()
            self._process.close()


def _serve(connection: Connection, parent: int) -> None:
    """Parse until the other end is closed."""
    end_with_parent(parent)
    limit_memory(MEMORY)
    with suppress(EOFError):
        while True:
            try:
                parser, file, options = connection.recv()
            except (ImportError, AttributeError):
                connection.send(None)
                continue
            try:
                connection.send(parser(file, options))
            except MemoryError:
                connection.send(file.problem(f"reading it takes more than {MEMORY:,} bytes of memory."))
            except Exception as error:  # an InputError, or a bug that the caller shows
                connection.send(error)
