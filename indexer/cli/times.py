"""Times for people: of this machine's zone, without what nobody reads."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(at: datetime | None) -> str:
    """``2026-03-01 09:35``, in local time."""
    if at is None:
        return ""
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return f"{aware.astimezone():%Y-%m-%d %H:%M}"
