"""Whether tests that need real servers were asked for, and what becomes of them when a server cannot be had."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

REQUIRED = "REQUIRE_SERVICES"


def needs(server: str) -> list[pytest.MarkDecorator]:
    """Marks of a test that needs this server. Of several processes one does all of its tests, and starts it once."""
    return [pytest.mark.live, pytest.mark.xdist_group(server)]


def asked_for(config: pytest.Config) -> bool:
    """With ``-m live`` (or an expression with `live` in it), or where every service must be there."""
    return "live" in config.option.markexpr or required()


def required() -> bool:
    return os.environ.get(REQUIRED, "") not in ("", "0")


def missing(reason: str) -> NoReturn:
    """Skip the test with what to do about it; where services are required, that is a failure."""
    if required():
        pytest.fail(f"{REQUIRED} is set, and a service is missing. {reason}", pytrace=False)
    pytest.skip(reason)
