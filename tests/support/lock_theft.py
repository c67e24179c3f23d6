"""What happens to a lock while its holder's machine sleeps."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import create_engine, text

from indexer.catalog.locks import TTL


def steal_locks(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sleep for longer than a lock lasts, while another process takes all of them over."""
    woken = time.time() + 2 * TTL
    monkeypatch.setattr(time, "time", lambda: woken)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE locks SET token = 'another', owner = 'somebody else'"))
    engine.dispose()
