"""JDKs on this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

PLACES = (
    "/usr/lib/jvm/*",
    "/opt/java/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
)


def find_jdk(oldest: int, newest: int) -> Path | None:
    """Home of the newest JDK (with a compiler) in a range of major versions; JAVA_HOME wins when it fits."""
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    found = [home for pattern in PLACES for home in _matching(pattern)]
    homes += sorted(found, key=lambda home: (-_major(home), str(home)))
    return next((home for home in homes if oldest <= _major(home) <= newest), None)


def _matching(pattern: str) -> list[Path]:
    path = Path(pattern).expanduser()
    return list(Path(path.anchor).glob(str(path.relative_to(path.anchor))))


def _major(home: Path) -> int:
    """Major version; 0 when it is no JDK."""
    release = home / "release"
    if not (release.is_file() and (home / "bin" / "javac").is_file()):
        return 0
    found = re.search(r'^JAVA_VERSION="(\d+)', release.read_text(encoding="utf-8"), re.MULTILINE)
    return int(found[1]) if found else 0
