"""Reading documents from files, folders and standard input, one at a time.

A record that cannot be used becomes an `InputError` in the stream, so that one bad line never ends a run.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from indexer.errors import InputError
from indexer.readers import counting, folder, registry, single
from indexer.readers.fields import content_id
from indexer.readers.formats import plain_text
from indexer.readers.options import ReadOptions
from indexer.readers.parser_process import ParserProcess
from indexer.readers.source import STDIN, File, plural, shown
from indexer.records import Document

__all__ = ["ReadOptions", "count", "read", "read_one"]


def read(
    sources: Sequence[str | Path],
    options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
) -> Iterator[Document | InputError]:
    """Read documents from files and folders; `-` is JSON Lines from standard input.

    Args:
        sources: Files, folders or `-`. Folders are read with all that is below them.
        options: Names of fields, and limits.

    Returns:
        Documents in the order of the sources, and an InputError for everything that could not be read.

    Raises:
        InputError: A source does not exist. Raised at once, before anything is read.
    """
    paths = [Path(source) for source in sources]
    _check_sources(paths)
    return _read(paths, options)


def read_one(path: Path, options: ReadOptions = ReadOptions()) -> Document:  # noqa: B008 (frozen)
    """Read a file that holds one document; `-` is plain text from standard input.

    A file of an unknown type is read as plain text.

    Raises:
        InputError: The file cannot be read, or holds no document or several.
    """
    path = Path(path)
    _check_sources([path])
    file = File.given(path)
    if path.is_dir():
        raise file.problem("expected a file, found a folder.")
    if file.is_stdin or not registry.is_known(file):
        return single.document(file, plain_text.parse, options)
    with ParserProcess() as apart:
        documents = registry.read_file(file, options, apart)
        first = next(documents, None)
        if first is None:
            raise file.problem("the file holds no document.")
        if isinstance(first, InputError):
            raise first
        if next(documents, None) is not None:
            raise file.problem(
                "expected one document, found several.", hint=f"Index them: indexer index {file.name}"
            )
        return first


def count(sources: Sequence[str | Path], options: ReadOptions = ReadOptions()) -> int | None:  # noqa: B008 (frozen)
    """About how many documents the sources hold, without reading them; None if that is unknown."""
    paths = [Path(source) for source in sources]
    _check_sources(paths)
    total = 0
    for file in _files(paths, _LeftOut()):
        if isinstance(file, InputError):
            continue
        if file.is_pipe:
            return None
        total += counting.estimate(file)
    return total


def _check_sources(paths: Sequence[Path]) -> None:
    for path in paths:
        if str(path) != STDIN and not os.path.exists(path):
            raise InputError(f"{shown(path)}: there is no such file or folder.", source=shown(path))


def _read(paths: Sequence[Path], options: ReadOptions) -> Iterator[Document | InputError]:
    seen: set[int] = set()
    left_out = _LeftOut()
    with ParserProcess() as apart:
        for file in _files(paths, left_out):
            if isinstance(file, InputError):
                yield file
                continue
            for item in _guarded(file, options, apart):
                if isinstance(item, Document) and _is_repeated(item, seen):
                    yield _repeated(item, file)
                else:
                    yield item
    yield from left_out.report()


def _guarded(file: File, options: ReadOptions, apart: ParserProcess) -> Iterator[Document | InputError]:
    """The documents of a file; what ends it early comes last, as a value."""
    try:
        yield from registry.read_file(file, options, apart)
    except InputError as error:
        yield error


def _files(paths: Sequence[Path], left_out: _LeftOut) -> Iterator[File | InputError]:
    """The files of all sources, each once."""
    read_before: set[int] = set()
    for path in paths:
        found = folder.walk(path) if path.is_dir() else iter([File.given(path)])
        for file in found:
            if isinstance(file, File):
                if _is_in(os.path.abspath(file.path), read_before):
                    continue
                if not registry.is_known(file):
                    left_out.add(file)
                    continue
            yield file


class _LeftOut:
    """Files of unknown types, reported once for the run with a count."""

    def __init__(self) -> None:
        self._by_suffix: Counter[str] = Counter()
        self._first = ""

    def add(self, file: File) -> None:
        self._first = self._first or file.name
        self._by_suffix[f".{file.suffix}" if file.suffix else "no extension"] += 1

    def report(self) -> Iterator[InputError]:
        if not self._by_suffix:
            return
        total = self._by_suffix.total()
        kinds = ", ".join(f"{suffix} ({number:,})" for suffix, number in self._by_suffix.most_common(8))
        known = ", ".join(f".{suffix}" for suffix in registry.FORMATS)
        yield InputError(
            f"{self._first}: {plural(total, 'file')} of unknown type left out: {kinds}.",
            hint=f"These types are read: {known}; all of them also with .gz.",
            source=self._first,
            left_out=total,
        )


def _is_repeated(document: Document, seen: set[int]) -> bool:
    return _is_in(document.id, seen)


def _is_in(key: str, seen: set[int]) -> bool:
    """Whether `key` was here before; remembers eight bytes of its hash, since ids may be many and long."""
    number = int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    if number in seen:
        return True
    seen.add(number)
    return False


def _repeated(document: Document, file: File) -> InputError:
    if document.id == content_id(document):
        what = "the same title, text and fields were read before in this run."
        hint = "If both are to stay, give the records an id."
    elif document.id == file.id:
        path = f"{file.folder}/{document.meta['file']}"
        what = f"another file with the path {path} was read before in this run."
        hint = "Ids come from the path, the given folder's name included: give the folder that holds both."
    else:
        what = f"the id {document.id!r} was read before in this run."
        hint = "Ids must differ; the first one counts."
    line = document.source.removeprefix(f"{file.name}:")
    return file.problem(
        what, line=int(line) if line.isdecimal() else None, hint=hint, document_id=document.id
    )
