"""Documents of a subject that no other test document has."""

from __future__ import annotations

from typing import Any


def others(number: int) -> list[dict[str, Any]]:
    text = "The string quartet plays a slow movement, and the violin sings above a quiet cello."
    return [{"id": f"m{i:02}", "title": f"Concert {i}", "text": text} for i in range(number)]
