"""What requests have done that takes long, as tasks: documents and files to index, dead letters, retrains.

What was posted lies in ``posted`` of the home until it is stored; what could not be read stays there, so that it can be
tried again like any other file. See `indexer.runs.uploads`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path, PurePath
from typing import IO, Any

from indexer.errors import IndexerError, InputError
from indexer.export.formatting import count
from indexer.pipeline.run import MAX_PROBLEMS, RunReport
from indexer.protocols import Progress
from indexer.readers import ReadOptions, read
from indexer.readers.registry import FORMATS, MAGIC
from indexer.readers.source import File, hash_id, shown
from indexer.runs.uploads import Upload
from indexer.web.errors import Refusal
from indexer.web.shared import Served
from indexer.web.tasks import Result, Task

MAX_FILE_SIZE = 50_000_000  # bytes
COPIED = 1 << 20
MAX_NAME_LENGTH = 120
MAX_REPORTED = 1_000  # ids of documents that a task names
SUMMED = ("read", "new", "changed", "unchanged", "deleted", "mined", "taken_over", "failed", "seconds")
UNSAFE = re.compile(r"[^\w .()+-]+")


def add_documents(served: Served, documents: Sequence[Mapping[str, Any]]) -> Task:
    """Index posted documents.

    Raises:
        InputError: One of them cannot be one: nothing is indexed then.
    """
    ids: list[str] = []

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            lines = (json.dumps(_record(document, number)) for number, document in enumerate(documents, 1))
            stream.writelines(f"{line}\n" for line in dict.fromkeys(lines))  # the same twice is one
        limit = ReadOptions(max_bytes=served.collection.settings.max_document_bytes)
        for item in read([path], limit):
            if isinstance(item, InputError):
                raise InputError(str(item).removeprefix(f"{item.facts.get('source')}:"), hint=item.hint)
            ids.append(item.id)

    waiting = served.collection.posted.receive(write)
    return _index(served, waiting, f"{count(len(ids), 'document')} posted", ids)


def _record(document: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A posted document as a line of a file."""
    taken = {"id", "title", "text"} & document["meta"].keys()
    if taken:
        raise InputError(f"{number}: a field of its own cannot be called {', '.join(sorted(taken))}.")
    own = {name: document[name] for name in ("id", "title") if document[name]}
    return {**own, "text": document["text"], **document["meta"]}


def add_file(served: Served, name: str, stream: IO[bytes]) -> Task:
    """Index an uploaded file.

    Raises:
        Refusal: Its kind is not one that is read.
    """
    name = safe_name(name)
    suffix = PurePath(name).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise Refusal(
            415, f"Files of the kind '{suffix or 'without an ending'}' are not read.", hint=f"Read: {known}."
        )
    begin = stream.read(max(map(len, MAGIC.values())))
    if suffix in MAGIC and not begin.startswith(MAGIC[suffix]):
        raise Refusal(415, f"The file is not a {suffix} file, despite its name.")

    def write(path: Path) -> None:
        with path.open("wb") as copy:
            copy.write(begin)
            shutil.copyfileobj(stream, copy, COPIED)

    return _index(served, served.collection.posted.receive(write, name=name), name)


def safe_name(name: str) -> str:
    """The last part of a file's name, without what could lead elsewhere or be taken for something else.

    Where that changes it, it gets a mark of its own: another file must not be taken for the same one.
    """
    given = name.replace("\\", "/").rpartition("/")[2]
    last = UNSAFE.sub("_", given).strip(" .")
    stem, dot, suffix = last.rpartition(".")
    short = f"{stem[: MAX_NAME_LENGTH - len(suffix)]}{dot}{suffix}" if dot else last[:MAX_NAME_LENGTH]
    if short == given or not dot:
        return short
    return f"{short.removesuffix(dot + suffix)}-{hash_id(given)[:6]}{dot}{suffix}"


def go_on(served: Served) -> None:
    """Index what an earlier server, or a process of this one, had accepted and was stopped before it had stored it."""
    posted = served.collection.posted
    left = [one for one in posted.waiting() if served.tasks.claim(one.folder.name)]
    if left:
        uploads = dict.fromkeys(posted.called(shown(one.place)) for one in left if one.is_upload)
        others = sum(not one.is_upload for one in left)
        about = [*uploads, *([count(others, "post of documents", "posts of documents")] if others else [])]
        _index(served, left[-1], ", ".join(about), left_by_another=left[:-1])


def _index(
    served: Served,
    waiting: Upload,
    about: str,
    ids: Sequence[str] = (),
    *,
    left_by_another: Sequence[Upload] = (),
) -> Task:
    """A task that stores something, and all that waits before it.

    Args:
        ids: Of its documents, where they are known.
        left_by_another: What an earlier server left: the task is about that, too.
    """
    posted = served.collection.posted

    def index(progress: Progress) -> Result:
        # A task that failed for a while may have left some: older ones first.
        older = [one for one in posted.waiting() if one.folder.name < waiting.folder.name]
        posts = len(older) + 1
        before = [
            _store_older(served, one, _numbered(progress, at, posts)) for at, one in enumerate(older, 1)
        ]
        report = _store(served, waiting, _numbered(progress, posts, posts))
        if not left_by_another:
            return {**asdict(report), "documents": ids or _come_from(served, [waiting.place])}
        places = [one.place for one in (*left_by_another, waiting)]
        return {**asdict(_summed([*before, report])), "documents": _come_from(served, places)}

    served.tasks.claim(waiting.folder.name)
    try:
        return served.tasks.add("index", index, about=about, documents=ids)
    except Refusal:
        posted.drop(waiting)
        raise


def _numbered(progress: Progress, at: int, posts: int) -> Progress:
    """Progress of one post, with how many there are."""
    if posts == 1:
        return progress

    def report(stage: str, done: int, total: int | None) -> None:
        progress(stage if stage.startswith("note: ") else f"post {at:,} of {posts:,}: {stage}", done, total)

    return report


def _summed(reports: Sequence[RunReport | None]) -> RunReport:
    """The last of several runs, with what all of them did."""
    done = [report for report in reports if report]
    sums: dict[str, Any] = {name: sum(getattr(report, name) for report in done) for name in SUMMED}
    problems = [problem for report in done for problem in report.problems]
    notes = [note for report in done for note in report.notes]
    return replace(done[-1], **sums, problems=problems[:MAX_PROBLEMS], notes=notes)


def _store(served: Served, waiting: Upload, progress: Progress) -> RunReport:
    """Index one thing that waits. It waits on where that fails for a reason that passes."""
    try:
        return served.collection.index_posted(waiting, wait=False, progress=progress)
    except Exception as error:  # whatever it is, it is raised again: only what waits is decided here
        passing = isinstance(error, IndexerError) and (error.retryable or "holder" in error.facts)
        if not passing:
            served.collection.posted.drop(waiting)
        raise


def _store_older(served: Served, waiting: Upload, progress: Progress) -> RunReport | None:
    """What cannot be stored at all was the matter of its own task."""
    try:
        return _store(served, waiting, progress)
    except Exception:  # the error was reported there, and must not end another task
        if waiting.is_there:
            raise
        return None


def _come_from(served: Served, places: Sequence[Path]) -> list[str]:
    """Ids of the documents that were posted last from these places; the first ones."""
    catalog, name = served.collection.catalog, served.collection.name

    def ids() -> Iterator[str]:
        for place in dict.fromkeys(places):
            lines = list(islice(catalog.ids(name, source_prefix=f"{shown(place)}:"), MAX_REPORTED))
            yield from lines or catalog.ledger(name, [File.given(place).id])

    return list(islice(ids(), MAX_REPORTED))


def delete(served: Served, id_: str) -> Task:
    """Take a document out.

    Raises:
        NotFound: There is none.
    """
    served.collection.document(id_)

    def take_out(progress: Progress) -> Result:
        return asdict(served.collection.delete([id_], progress=progress))

    return served.tasks.add("delete", take_out, about=id_, documents=[id_])


def retry(served: Served) -> Task:
    """Do the dead letters again."""
    return served.tasks.add("retry", lambda progress: asdict(served.collection.retry(progress=progress)))


def retrain(served: Served, **wanted: Any) -> Task:
    """Adapt the encoder: here, or by workers where there is a broker."""

    def adapt(progress: Progress) -> Result:
        from trainer.retrain.report import RetrainOptions

        options = RetrainOptions(**wanted)
        if served.collection.settings.broker:
            from workers.retrain_tasks import enqueue

            report = enqueue(served.collection.settings, options)
            return {**report.counts(), "left_to_workers": int(report.verdict == "paused")}
        return served.collection.retrain(options, progress=progress).counts()

    return served.tasks.add("retrain", adapt)
