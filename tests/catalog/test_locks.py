from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable

import pytest
from lock_theft import steal_locks
from sqlalchemy import create_engine, text

from indexer.catalog import Catalog
from indexer.errors import CatalogError

Start = Callable[[Callable[[], object]], Callable[[], int]]


def die_with_the_lock(url: str, ttl: float = 120) -> None:
    with Catalog.open(url).lock("main", "indexer index", ttl):
        os._exit(9)


def pretend_it_was_elsewhere(url: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE locks SET host = 'elsewhere'"))
    engine.dispose()


def test_the_second_writer_hears_who_the_first_is(catalog: Catalog, url: str) -> None:
    with catalog.lock("main", "indexer index"), Catalog.open(url) as other:
        with (
            pytest.raises(CatalogError, match="'main' is being written by indexer index") as caught,
            other.lock("main", "indexer retrain"),
        ):
            pass
        for fact in (f"process {os.getpid()}", socket.gethostname(), "since 20"):
            assert fact in str(caught.value)
        assert caught.value.facts["holder"].pid == os.getpid()


def test_the_lock_is_free_again_afterwards_even_after_an_error(catalog: Catalog) -> None:
    with pytest.raises(ZeroDivisionError), catalog.lock("main", "one"):
        _ = 1 / 0
    assert catalog.lock_holder("main") is None
    with catalog.lock("main", "two"):
        holder = catalog.lock_holder("main")
        assert holder is not None
        assert holder.owner == "two"


def test_other_collections_are_not_locked(catalog: Catalog) -> None:
    with catalog.lock("main", "one"), catalog.lock("other", "two"):
        pass


def test_the_lock_of_a_dead_process_is_taken_over_at_once(
    catalog: Catalog, url: str, start_process: Start
) -> None:
    assert start_process(lambda: die_with_the_lock(url))() == 9
    assert catalog.lock_holder("main") is None
    with catalog.lock("main", "indexer retrain"):
        pass


@pytest.mark.slow
def test_the_lock_of_another_host_is_respected_until_its_time_is_over(
    catalog: Catalog, url: str, start_process: Start
) -> None:
    assert start_process(lambda: die_with_the_lock(url, ttl=0.5))() == 9
    pretend_it_was_elsewhere(url)
    with pytest.raises(CatalogError, match="on elsewhere"), catalog.lock("main", "indexer retrain"):
        pass
    time.sleep(0.6)
    with catalog.lock("main", "indexer retrain"):
        pass


@pytest.mark.slow
def test_a_lock_is_renewed_while_its_holder_works(catalog: Catalog, url: str) -> None:
    with catalog.lock("main", "one", ttl=0.4) as lock:
        pretend_it_was_elsewhere(url)
        time.sleep(0.7)
        lock.check()
        with pytest.raises(CatalogError, match="is being written by one"), catalog.lock("main", "two"):
            pass


def test_who_wakes_up_asks_whether_the_lock_is_still_there(
    catalog: Catalog, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with catalog.lock("main", "one"):
        catalog.check_locks()
        steal_locks(url, monkeypatch)
        with pytest.raises(CatalogError, match="lock on collection 'main' was lost"):
            catalog.check_locks()
    catalog.check_locks()  # nothing is held


def test_a_lock_that_was_taken_over_is_reported_to_the_old_holder_and_left_to_the_new(
    catalog: Catalog, url: str
) -> None:
    with catalog.lock("main", "one", ttl=600) as lock:  # renewed in 150 s: not during this test
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text("UPDATE locks SET token = 'another', owner = 'two'"))
        engine.dispose()
        with pytest.raises(CatalogError, match="lock on collection 'main' was lost"):
            lock.renew()
        with pytest.raises(CatalogError, match="was lost"):
            lock.check()
    holder = catalog.lock_holder("main")
    assert holder is not None
    assert holder.owner == "two"
