"""The browser of the system, without a window."""

from __future__ import annotations

import shutil

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def find_browser() -> str | None:
    """The program of a browser that Playwright can drive."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)
