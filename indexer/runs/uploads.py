"""What requests have posted, on its way into a collection.

    coming/RUN/…                   is being received
    waiting/RUN/uploads/NAME       has come, and is not stored yet
    waiting/RUN/documents/RUN.jsonl
    waiting/RUN/begun              a byte for each time that storing it was begun and not ended
    uploads/NAME                   the newest copy of what was uploaded under this name
    documents/RUN.jsonl            documents that came without a file

A request writes what it brings aside, and one renaming makes it wait. The run that stores it copies it to its place,
again by one renaming, and takes it off the waiting ones when it has stored it. So no process reads half of a file, or
of two, and what a killed server had accepted is done by the next one, in the order in which it came.

An upload has the same place as the one before it under this name. So its documents have the same source: for the ledger
it is a file that has changed. Copies stay as long as something in them could not be read, to be tried again.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from indexer.catalog.runs import new_run_id
from indexer.errors import NotFound
from indexer.readers.source import place_of, shown

UPLOADS, DOCUMENTS = "uploads", "documents"
KINDS = (UPLOADS, DOCUMENTS)
BEGUN = "begun"
ABANDONED = 24 * 3600.0  # seconds after which a file is not being received any more


@dataclass(frozen=True)
class Upload:
    """Something that was posted and is not stored yet.

    Attributes:
        folder: Named by when it came; is removed when it is stored.
        place: Where it lies while it is stored, and as long as something in it could not be.
    """

    folder: Path
    path: Path
    place: Path

    @property
    def is_upload(self) -> bool:
        return self.path.parent.name == UPLOADS

    @property
    def is_there(self) -> bool:
        return self.path.exists()


class Uploads:
    """What was posted to one collection."""

    def __init__(self, home: Path, collection: str) -> None:
        self._root = home.resolve() / "posted" / collection  # one, whatever way the home is named
        self._named = (
            home.absolute() / "posted" / collection
        )  # what ledgers had as long as it was not resolved

    def receive(self, write: Callable[[Path], None], *, name: str = "") -> Upload:
        """Let something be written, and make it wait: all of it, or nothing.

        Args:
            name: Of an upload; empty for documents that come without a file.
        """
        run = new_run_id()
        kind, name = (UPLOADS, name) if name else (DOCUMENTS, f"{run}.jsonl")
        aside, folder = self._root / "coming" / run, self._root / "waiting" / run
        (aside / kind).mkdir(parents=True)
        try:
            write(aside / kind / name)
            folder.parent.mkdir(exist_ok=True)
            aside.rename(folder)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        return self._waiting(folder / kind / name)

    def waiting(self) -> list[Upload]:
        """What is not stored yet, in the order in which it came."""
        found = [path for kind in KINDS for path in self._root.glob(f"waiting/*/{kind}/*")]
        return sorted(map(self._waiting, found), key=lambda one: one.folder.name)

    def _waiting(self, path: Path) -> Upload:
        return Upload(path.parent.parent, path, self._root / path.parent.name / path.name)

    @contextmanager
    def placed(self, waiting: Upload) -> Iterator[None]:
        """Have something at its place while it is stored; when the block ends well, it waits no longer.

        The caller holds the lock of the collection: otherwise a run could read two copies as one.

        Raises:
            NotFound: Another server has stored it.
        """
        if not waiting.is_there:
            raise NotFound(f"{waiting.path.name} was stored by another server.")
        begun = waiting.folder / BEGUN
        with begun.open("ab") as stream:
            stream.write(b".")
        try:
            self.put(waiting)
            yield
        except (
            Exception,
            KeyboardInterrupt,
        ):  # neither an error nor a signal to stop counts as a crash; both are raised again
            begun.unlink(missing_ok=True)
            raise
        self.drop(waiting)

    def put(self, waiting: Upload) -> None:
        """Copy something to its place."""
        waiting.place.parent.mkdir(exist_ok=True)
        beside = self._root / "coming" / waiting.folder.name
        beside.parent.mkdir(exist_ok=True)
        shutil.copyfile(waiting.path, beside)
        beside.replace(waiting.place)

    def deaths(self, waiting: Upload) -> int:
        """How many processes have begun to store it and were never heard of again."""
        begun = waiting.folder / BEGUN
        return begun.stat().st_size if begun.exists() else 0

    def drop(self, waiting: Upload) -> None:
        """It waits no longer."""
        shutil.rmtree(waiting.folder, ignore_errors=True)

    def tidy(self, sources: Iterable[str]) -> None:
        """Remove the copies that nothing has to be read from again. The caller holds the lock of the collection.

        Args:
            sources: Of the dead letters of what could not be read or stored.
        """
        needed = {self._resolved(place_of(source)[0]) for source in sources}
        for copy in (path for kind in KINDS for path in self._root.glob(f"{kind}/*")):
            if shown(copy) not in needed:
                copy.unlink(missing_ok=True)
        for left in self._root.glob("coming/*"):
            if time.time() - left.stat().st_mtime > ABANDONED:
                shutil.rmtree(left, ignore_errors=True)

    def holds(self, file: str) -> bool:
        """Whether this is a copy of ours, which no user corrects: another one replaces it."""
        return self._kind(file) is not None

    def are_one_file(self, source: str, other: str) -> bool:
        """Whether two sources lie in the same file; documents that came without one all lie together."""
        file, before = (self._resolved(place_of(one)[0]) for one in (source, other))
        return file == before or self._kind(file) == self._kind(before) == DOCUMENTS

    def called(self, source: str) -> str:
        """What people call a source: an upload by its name. Others are what they are."""
        file, line = place_of(source)
        kind = self._kind(file)
        if kind == UPLOADS:
            name = os.path.basename(file)
            return name if line is None else f"{name}, line {line:,}"
        if kind == DOCUMENTS:
            return "a posted document" if line is None else f"posted document {line:,}"
        return source

    def in_words(self, problem: str) -> str:
        """A problem of a run, which begins with its source, with that as people call it."""
        source, colon, what = problem.partition(": ")
        file, line = place_of(source)
        path = str(Path(file).absolute())  # they are shown as one would type them here
        return (
            f"{self.called(path if line is None else f'{path}:{line}')}{colon}{what}"
            if self.holds(path)
            else problem
        )

    def names(self, waiting: Upload) -> list[str]:
        """The place of something, and what it may be called in a ledger that is older than this program."""
        return [str(waiting.place), str(self._named / waiting.place.relative_to(self._root))]

    def _resolved(self, file: str) -> str:
        named = f"{shown(self._named)}/"
        return f"{shown(self._root)}/{file.removeprefix(named)}" if file.startswith(named) else file

    def _kind(self, file: str) -> str | None:
        folder = os.path.dirname(self._resolved(file))
        return next((kind for kind in KINDS if folder == shown(self._root / kind)), None)
