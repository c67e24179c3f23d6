"""Clients of several processes are spread over them."""

from __future__ import annotations

import anyio
import pytest
from anyio.to_thread import current_default_thread_limiter
from starlette.responses import PlainTextResponse

from indexer.web.middleware import MOVED, Guard

SCOPE = {
    "type": "http",
    "method": "GET",
    "path": "/",
    "query_string": b"",
    "headers": [(b"host", b"localhost")],
}


def closing(one_of_several: bool, others: int) -> list[bool]:
    """Which of so many answers end their connection, while the process works on `others`."""

    async def ask() -> list[bool]:
        for other in range(others):
            current_default_thread_limiter().acquire_on_behalf_of_nowait(other)
        guard = Guard(
            PlainTextResponse("here"),
            sizes={},
            local=True,
            failed=lambda *_: PlainTextResponse("failed", 500),
            one_of_several=one_of_several,
        )
        answers = []

        async def send(message):
            if message["type"] == "http.response.start":
                assert message["status"] == 200
                answers.append((b"connection", b"close") in message["headers"])

        for _ in range(2 * MOVED):
            await guard(dict(SCOPE), None, send)
        return answers

    return anyio.run(ask)


def test_a_busy_process_among_others_ends_the_connection_of_every_tenth_answer():
    assert closing(one_of_several=True, others=1) == 2 * ([False] * (MOVED - 1) + [True])


@pytest.mark.parametrize(("one_of_several", "others"), [(True, 0), (False, 1)])
def test_connections_stay_where_the_process_is_alone_or_free(one_of_several, others):
    assert not any(closing(one_of_several, others))
