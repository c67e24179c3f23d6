"""About how many documents a file holds, for progress bars and plans."""

from __future__ import annotations

from indexer.errors import InputError
from indexer.readers import registry
from indexer.readers.source import File

_ENOUGH = 8_000_000  # bytes


def estimate(file: File) -> int:
    """How many documents a file holds, by its line ends; blank lines and bad records count too.

    A file of more than eight million bytes is judged by its beginning. An unreadable one counts as nothing.
    """
    if registry.is_one_document(file):
        return 1
    try:
        with file.opened() as stream:
            data = stream.read(_ENOUGH)
            if not data:
                return 0
            is_whole = not stream.read(1)
            size = file.path.stat().st_size
            packed = getattr(stream, "fileobj", stream)  # what gzip reads from
            share = 1.0 if is_whole else packed.tell() / max(size, packed.tell())
    except (InputError, OSError):
        return 0
    # Line ends inside quotes are text: every second part stands between two quotes.
    parts = data.split(b'"')[::2] if file.suffix == "csv" else [data]
    lines = sum(part.count(b"\n") for part in parts) + (is_whole and not data.endswith(b"\n"))
    return max(0, round(lines / share) - registry.header_lines(file))
