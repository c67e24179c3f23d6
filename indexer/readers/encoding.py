"""Bytes to text: what a byte order mark says, else UTF-8, else a guess among encodings in real use."""

from __future__ import annotations

import codecs
import io
from typing import IO

from indexer.readers.source import File

_SAMPLE = 1 << 16  # bytes looked at to guess an encoding
_MARKS = {  # UTF-32 first: its little-endian mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
# EBCDIC and the rarer code pages are left out: among them a guess finds a "match" for any noise.
_CANDIDATES = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "iso8859_2"),
    *("koi8_r", "mac_roman", "cp874", "cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "cp949"),
]
_HARMLESS = "\t\n\r\f\v\b\x1b"


def decode(data: bytes, file: File) -> str:
    """The text of a whole file, without a byte order mark; line ends stay as they are.

    Raises:
        InputError: The bytes are no text, or in no encoding that fits; the message names the first bad byte.
    """
    encoding = encoding_of(data, file)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise file.problem(f"{not_text(error, encoding)}.", hint="Save the file as UTF-8.") from error


def encoding_of(data: bytes, file: File) -> str:
    """The encoding of bytes that may be only the beginning of a file.

    A few bad bytes among good UTF-8 are damage, not another encoding: then the answer is UTF-8, and decoding
    will say where.

    Raises:
        InputError: The bytes are no text.
    """
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return encoding
    nul = data.find(b"\x00")
    if nul >= 0:
        raise file.problem(
            f"not a text file: NUL byte at byte {nul:,}.",
            hint="If it is UTF-16 without a mark, save it as UTF-8.",
        )
    good, bad = _judge_lines(data)
    encoding = "utf-8" if not bad or good > bad else _guess(data) or "utf-8"
    sample = data[:_SAMPLE].decode(encoding, "replace")
    strange = sum(not char.isprintable() and char < "\xa0" and char not in _HARMLESS for char in sample)
    if strange > len(sample) / 10:
        raise file.problem("not a text file: more than a tenth of it is control characters.")
    return encoding


def _judge_lines(data: bytes) -> tuple[int, int]:
    """How many lines have good UTF-8 beyond ASCII, and how many are not UTF-8."""
    good = bad = 0
    if data.isascii():
        return good, bad
    *lines, last = data.split(b"\n")
    for line in lines:
        if not line.isascii():
            try:
                line.decode()
            except UnicodeDecodeError:
                bad += 1
            else:
                good += 1
    try:  # a sample may end inside a character
        codecs.getincrementaldecoder("utf-8")().decode(last)
    except UnicodeDecodeError:
        bad += 1
    return good, bad


def _guess(data: bytes) -> str | None:
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_SAMPLE], cp_isolation=_CANDIDATES, enable_fallback=False).best()
    return best.encoding if best else None


def not_text(error: UnicodeDecodeError, encoding: str) -> str:
    """The end of a message: what byte is wrong, and where."""
    name = "UTF-8" if encoding.startswith("utf-8") else encoding.upper().replace("_", "-")
    return f"not {name} at byte {error.start:,} (0x{error.object[error.start]:02x})"


def as_utf8(stream: IO[bytes], file: File) -> tuple[IO[bytes], str]:
    """Prepare a stream for reading by lines that end in one byte, a newline.

    Returns:
        A stream, and the encoding of its lines. UTF-16 and UTF-32 are turned into UTF-8 on the way, since
        their newlines are longer; everything else is passed on as it is, without a byte order mark.
    """
    buffered = stream if hasattr(stream, "peek") else io.BufferedReader(stream)  # type: ignore[type-var]
    sample = bytes(buffered.peek(_SAMPLE)[:_SAMPLE])
    encoding = encoding_of(sample, file)
    if encoding == "utf-8-sig":
        buffered.read(len(codecs.BOM_UTF8))
        return buffered, "utf-8"
    if encoding in {"utf-16", "utf-32"}:
        return io.BufferedReader(_Recoded(buffered, encoding)), "utf-8"
    return buffered, encoding


class _Recoded(io.RawIOBase):
    """A stream in another encoding, read as UTF-8. A half character or damage becomes U+FFFD."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            data = self._stream.read(_SAMPLE)
            self._ready = self._decoder.decode(data, final=not data).encode("utf-8", "replace")
            if not data:
                break
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


class Lines:
    """The lines of a stream as text, never holding more than `longest` bytes of one.

    An iterator that goes on after an error: a line that is too long or not in the encoding raises
    `InputError`, and the next call gives the line after it. `number` is that of the last line, from 1.
    """

    def __init__(self, stream: IO[bytes], file: File, longest: int) -> None:
        self._stream, self._encoding = as_utf8(stream, file)
        self._file = file
        self._longest = longest
        self.number = 0

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(self._longest + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) > self._longest and not line.endswith(b"\n"):
            size = len(line) + self._skip_rest()
            raise self._file.problem(
                f"the line has {size:,} bytes; at most {self._longest:,} are read.",
                line=self.number,
                hint="Split the document into parts, or raise the limit (max_document_bytes).",
            )
        try:
            return line.decode(self._encoding)
        except UnicodeDecodeError as error:
            raise self._file.problem(
                f"{not_text(error, self._encoding)} of the line.",
                line=self.number,
                hint="Save the file as UTF-8.",
            ) from error

    def _skip_rest(self) -> int:
        """Read to the end of the line; return the bytes that were passed over."""
        size = 0
        while rest := self._stream.readline(_SAMPLE):
            size += len(rest)
            if rest.endswith(b"\n"):
                break
        return size
