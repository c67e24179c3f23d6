"""Writes run in order beside the caller, and none is lost without an error."""

import threading

import pytest

from indexer.pipeline.write_behind import WriteBehind


def test_writes_run_in_order_while_the_caller_goes_on():
    written, may_go_on = [], threading.Event()

    def first():
        assert may_go_on.wait(10)
        written.append("first")

    with WriteBehind() as later:
        later(first)
        written.append("caller")
        may_go_on.set()
        later(lambda: written.append("second"))
    assert written == ["caller", "first", "second"]


def failing():
    raise OSError("disk full")


def test_an_error_is_raised_by_the_next_call_which_does_not_run():
    written = []

    def two_writes():
        with WriteBehind() as later:
            later(failing)
            later(lambda: written.append("second"))

    with pytest.raises(OSError, match="disk full"):
        two_writes()
    assert written == []


def test_an_error_of_the_last_write_is_raised_at_the_end():
    with pytest.raises(OSError, match="disk full"), WriteBehind() as later:
        later(failing)


def test_an_error_of_the_caller_is_not_replaced_and_the_write_ends_first():
    ended = []

    def fails_beside_a_write():
        with WriteBehind() as later:
            later(lambda: ended.append(True))
            raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        fails_beside_a_write()
    assert ended == [True]
