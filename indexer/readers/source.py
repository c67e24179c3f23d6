"""One file to read: its names, its bytes, and how its problems are worded."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Any, cast

from indexer.errors import InputError

STDIN = "-"
SCHEME = "elasticsearch:"  # what the source of a document begins with that was read from a user's index
BUFFER = 1 << 16  # bytes; also how many can be looked at before reading
_GZIP = b"\x1f\x8b"
_WITH_LINE = re.compile(r"(.*):(\d+)", re.DOTALL)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class File:
    """A file as the user sees it and as the program opens it."""

    path: Path
    name: str  # as the user gave it, POSIX style: what messages begin with
    folder: str = ""  # from the given folder on, that folder included, POSIX style: "notes/2024"

    @classmethod
    def given(cls, path: Path) -> File:
        """A file named by the user: its folder is the one it lies in."""
        folder = os.path.basename(os.path.dirname(os.path.abspath(path)))
        return cls(path, shown(path), clean(folder))

    @property
    def is_stdin(self) -> bool:
        return str(self.path) == STDIN

    @property
    def is_pipe(self) -> bool:
        """Standard input, or what a shell makes of `<(zcat …)`: can be read once, has no suffix."""
        return self.is_stdin or self.path.is_fifo() or self.path.is_char_device()

    @property
    def suffix(self) -> str:
        """Lower case, without the dot, and without a final .gz: "jsonl" for "a.JSONL.gz"."""
        name = self.path.name.lower().removesuffix(".gz")
        return PurePath(name).suffix.removeprefix(".")

    @property
    def id(self) -> str:
        """Id of a document that is a whole file: stays when the content changes, so a re-run replaces it."""
        return hash_id(f"file:{self.folder}/{clean(self.path.name)}")

    def problem(
        self, what: str, *, line: int | None = None, hint: str = "", document_id: str | None = None
    ) -> InputError:
        """An error about this file, or about one of its lines (from 1)."""
        facts = {"line": line, "document_id": document_id}
        known: dict[str, Any] = {name: fact for name, fact in facts.items() if fact is not None}
        return InputError(f"{self.at(line)}: {what}", hint=hint, source=self.name, **known)

    def at(self, line: int | None = None) -> str:
        """FILE, or FILE:LINE."""
        return self.name if line is None else f"{self.name}:{line}"

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The file's bytes, unpacked when they are gzip.

        Raises:
            InputError: The file cannot be opened or, inside the block, read to its end.
        """
        try:
            if self.is_stdin:
                yield _unpacked(_peekable(sys.stdin.buffer))
                return
            with io.BufferedReader(io.FileIO(self.path), BUFFER) as stream:
                unpacked = _unpacked(stream)
                if unpacked is stream and self.path.suffix.lower() == ".gz" and stream.peek(1):
                    raise self.problem("not gzip data, though the name ends in .gz.")
                yield unpacked
        except EOFError as error:
            raise self.problem("the gzip data ends too early: the file is cut off.") from error
        except (zlib.error, gzip.BadGzipFile) as error:
            raise self.problem(f"the gzip data is damaged ({error}).") from error
        except OSError as error:
            raise self.problem(f"cannot be read: {error.strerror or error}.") from error


def _unpacked(stream: IO[bytes]) -> IO[bytes]:
    is_gzip = stream.peek(2)[:2] == _GZIP  # type: ignore[attr-defined]
    return cast(IO[bytes], gzip.open(stream)) if is_gzip else stream


def _peekable(stream: IO[bytes]) -> IO[bytes]:
    """Standard input as it is, or what a test or a program has put in its place."""
    return stream if hasattr(stream, "peek") else io.BufferedReader(_Passed(stream))


class _Passed(io.RawIOBase):
    """Reads from another stream, and leaves it open."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def shown(path: PurePath) -> str:
    """A path as messages and `Document.source` show it."""
    return "stdin" if str(path) == STDIN else clean(path.as_posix())


def place_of(source: str) -> tuple[str, int | None]:
    """The file of a source, and the line in it where it has one: FILE:LINE is what `Document.source` holds."""
    found = _WITH_LINE.fullmatch(source)
    return (found[1], int(found[2])) if found else (source, None)


def clean(text: str) -> str:
    """Put U+FFFD for each NUL and each lone surrogate, which SQLite and UTF-8 cannot hold; offsets stay."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def hash_id(key: str) -> str:
    """24 hexadecimal digits."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
