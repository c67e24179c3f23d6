"""A proxy in front of a server that resets some of the connections: half of them before the server has the request, half
after it has carried it out and before the client has the answer."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

AT_ONCE = 1 << 16
AT_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: a reset instead of a farewell


@dataclass
class Resets:
    """A running proxy, and what it has done."""

    port: int
    share: float
    requests: int = 0
    resets: int = 0


@contextmanager
def resetting(target: int, share: float) -> Iterator[Resets]:
    """Pass on to a port of this machine, on another one, until the end of the block.

    Args:
        share: Of the requests whose connection is reset, 0 to 1.
    """
    found = Resets(0, share)
    chance = random.Random(0)
    started: Future[Callable[[], None]] = Future()  # what ends it

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there, answer = await asyncio.open_connection("127.0.0.1", target)
            await _both_ways(reader, writer, there, answer, found, chance)

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        found.port = server.sockets[0].getsockname()[1]
        ended = asyncio.Event()
        started.set_result(partial(asyncio.get_running_loop().call_soon_threadsafe, ended.set))
        await ended.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    end = started.result()
    try:
        yield found
    finally:
        end()
        thread.join()


async def _both_ways(
    from_client: asyncio.StreamReader,
    to_client: asyncio.StreamWriter,
    from_server: asyncio.StreamReader,
    to_server: asyncio.StreamWriter,
    found: Resets,
    chance: random.Random,
) -> None:
    asked = fails_late = False  # a request has begun and its answer has not; the answer will be lost

    async def there() -> None:
        nonlocal asked, fails_late
        while data := await from_client.read(AT_ONCE):
            if not asked:
                asked = True
                found.requests += 1
                fails = chance.random() < found.share
                fails_late = fails and chance.random() < 0.5
                if fails and not fails_late:
                    return
            to_server.write(data)
            await to_server.drain()

    async def back() -> None:
        nonlocal asked
        while data := await from_server.read(AT_ONCE):
            asked = False
            if fails_late:
                return
            to_client.write(data)
            await to_client.drain()

    tasks = [asyncio.create_task(there()), asyncio.create_task(back())]
    try:
        with suppress(OSError):
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if asked or fails_late:
            found.resets += 1
            with suppress(OSError):
                to_client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_CLOSE)
    finally:
        for task in tasks:
            task.cancel()
        for writer in (to_client, to_server):
            writer.close()
