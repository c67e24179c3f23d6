"""Bytes to text: what a byte order mark says, else UTF-8, else a guess among encodings in real use."""

from __future__ import annotations

import codecs
import io
import re
from typing import IO, Any

from indexer.errors import InputError
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
_SAVE_AS_UTF8 = "Save the file as UTF-8."
_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd]")
_BAD_BYTE = re.compile("[\udc80-\udcff]")  # as "surrogateescape" shows it
_GOOD_CHAR = re.compile("[^\x00-\x7f\udc80-\udcff]")


def decode(data: bytes, file: File, *, declared: str = "") -> str:
    """The text of a whole file, without a byte order mark; line ends stay as they are.

    Args:
        data: All of it.
        file: For messages.
        declared: The encoding that the file says it has, used when it is not UTF-8.

    Raises:
        InputError: The bytes are no text, or in no encoding that fits; the message names the first bad byte.
    """
    encoding = _marked(data)
    if encoding is None:
        nul = data.find(b"\x00")
        if nul >= 0:
            raise file.problem(
                f"not a text file: NUL byte at byte {nul:,}.",
                hint="If it is UTF-16 without a byte order mark, save it as UTF-8.",
            )
        encoding = "utf-8"
        if not _is_utf8(data, is_whole=True):
            encoding = declared if _fits(data, declared) else _guess(data) or "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise file.problem(f"{_bad_byte(error, encoding)}.", hint=_SAVE_AS_UTF8) from error
    _refuse_binary(text[:_SAMPLE], file)
    return text


def _marked(data: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)


def _is_utf8(data: bytes, *, is_whole: bool) -> bool:
    """Whether this is UTF-8, if need be damaged. Other encodings hardly ever look like it."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text = decoder.decode(data, final=is_whole)  # a sample may end inside a character
    bad = sum(1 for _ in _BAD_BYTE.finditer(text))
    return not bad or bad <= 2 * sum(1 for _ in _GOOD_CHAR.finditer(text))


def _fits(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (LookupError, ValueError):  # unknown, or wrong
        return False
    return bool(encoding)


def _guess(data: bytes) -> str | None:
    """An encoding for bytes that are not UTF-8, judged by the lines that are not ASCII."""
    from charset_normalizer import from_bytes

    telling = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:_SAMPLE]
    matches = from_bytes(telling, cp_isolation=_CANDIDATES, enable_fallback=False)
    best = matches.best()
    if best is None:
        return None
    equals = [match for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
    # Short texts fit many code pages equally well, and the first by name would win.
    if any("cp1252" in (match.encoding, *match.could_be_from_charset) for match in equals):
        return "cp1252"
    return best.encoding


def _refuse_binary(sample: str, file: File) -> None:
    strange = sum(1 for _ in _NO_TEXT.finditer(sample))
    if strange > len(sample) / 10:
        raise file.problem("not a text file: more than a tenth of it is control characters or no characters.")


def _bad_byte(error: UnicodeDecodeError, encoding: str) -> str:
    name = "UTF-8" if encoding.startswith("utf-8") else encoding.upper().replace("_", "-")
    return f"not {name} at byte {error.start:,} (0x{error.object[error.start]:02x})"


class DecodedLines:
    """The lines of a stream as text, never holding more than `longest` bytes of one.

    An iterator that continues after an error: a line that is too long or not in the encoding raises
    `InputError`, and the next call gives the line after it. `number` is that of the last line, from 1.

    Raises:
        InputError: On creation, if the file is not text.
    """

    def __init__(self, stream: IO[bytes], file: File, longest: int) -> None:
        self._stream, self._encoding = _by_lines(stream, file)
        self._file = file
        self._longest = longest
        self.number = 0

    def __iter__(self) -> DecodedLines:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(self._longest + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) > self._longest and not line.endswith(b"\n"):
            size = len(line) + self._skip_rest()
            raise self._problem(
                f"the line has {size:,} bytes; at most {self._longest:,} are read.",
                "Split the document into parts, or raise the limit (max_document_bytes).",
            )
        nul = line.find(b"\x00")
        if nul >= 0:
            raise self._problem(
                f"NUL byte at byte {nul:,} of the line.", "Remove it; it has no meaning in text."
            )
        try:
            return line.decode(self._encoding)
        except UnicodeDecodeError as error:
            raise self._problem(f"{_bad_byte(error, self._encoding)} of the line.", _SAVE_AS_UTF8) from error

    def _problem(self, what: str, hint: str) -> InputError:
        return self._file.problem(what, line=self.number, hint=hint)

    def _skip_rest(self) -> int:
        """Read to the end of the line; return the bytes that were passed over."""
        size = 0
        while rest := self._stream.readline(_SAMPLE):
            size += len(rest)
            if rest.endswith(b"\n"):
                break
        return size


def _by_lines(stream: IO[bytes], file: File) -> tuple[IO[bytes], str]:
    """A stream whose lines end in one byte, a newline, and the encoding of these lines.

    UTF-16 and UTF-32 are turned into UTF-8 on the way, since their newlines are longer; everything else is
    passed on as it is, without a byte order mark.
    """
    sample: bytes = stream.peek(_SAMPLE)[:_SAMPLE]  # type: ignore[attr-defined]
    marked = _marked(sample)
    if marked in {"utf-16", "utf-32"}:
        return io.BufferedReader(_Recoded(stream, marked)), "utf-8"
    if marked:
        stream.read(len(codecs.BOM_UTF8))
    encoding = "utf-8" if _is_utf8(sample, is_whole=False) else _guess(sample) or "utf-8"
    _refuse_binary(sample.decode(encoding, "replace"), file)
    return stream, encoding


class _Recoded(io.RawIOBase):
    """A stream in another encoding, read as UTF-8. Damage and a half character at the end become U+FFFD."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._stream.read(_SAMPLE)
            self._ready = self._decoder.decode(data, final=not data).encode("utf-8", "replace")
            if not data:
                break
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size
