"""What requests have done that takes long, as tasks: documents and files to index, dead letters, retrains.

What was posted lies in ``posted`` of the home until it is stored; what could not be read stays there, so that it can be
tried again like any other file.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import IO, Any

from indexer.catalog.runs import new_run_id
from indexer.errors import InputError, QueryError
from indexer.progress import Progress
from indexer.readers import ReadOptions, read
from indexer.readers.registry import MANY, ONE
from indexer.web.problems import Refusal
from indexer.web.served import Served
from indexer.web.tasks import Result, Task

LARGEST_FILE = 50_000_000  # bytes
COPIED = 1 << 20
LONGEST_NAME = 120
UNSAFE = re.compile(r"[^\w .()+-]+")
MAGIC = {"pdf": b"%PDF-", "docx": b"PK\x03\x04"}  # what such files begin with; all others are text


def add_documents(served: Served, documents: Sequence[Mapping[str, Any]]) -> Task:
    """Index posted documents.

    Raises:
        InputError: One of them cannot be one: nothing is indexed then.
    """
    folder = _folder(served)
    path = folder / "documents.jsonl"
    try:
        with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            lines = (json.dumps(_record(document, number)) for number, document in enumerate(documents, 1))
            stream.writelines(f"{line}\n" for line in dict.fromkeys(lines))  # the same twice is one
        limit = ReadOptions(max_bytes=served.collection.settings.max_document_bytes)
        for item in read([path], limit):
            if isinstance(item, InputError):
                raise InputError(str(item).removeprefix(f"{item.facts.get('source')}:"), hint=item.hint)
    except BaseException:
        _clear(folder)
        raise
    return _index(served, folder, path)


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
    if suffix not in MANY and suffix not in ONE:
        known = ", ".join((*MANY, *ONE))
        raise Refusal(
            415, f"Files of the kind '{suffix or 'without an ending'}' are not read.", hint=f"Read: {known}."
        )
    begin = stream.read(len(b"PK\x03\x04") + 1)
    if suffix in MAGIC and not begin.startswith(MAGIC[suffix]):
        raise Refusal(415, f"This is no {suffix} file, though it is called one.")
    folder = _folder(served)
    path = folder / "uploads" / name  # ids come from the folder's name too: it stays the same
    try:
        path.parent.mkdir()
        with path.open("wb") as copy:
            copy.write(begin)
            shutil.copyfileobj(stream, copy, COPIED)
    except BaseException:
        _clear(folder)
        raise
    return _index(served, folder, path)


def safe_name(name: str) -> str:
    """The last part of a file's name, without what could lead elsewhere or be taken for something else."""
    last = UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2]).strip(" .")
    stem, dot, suffix = last.rpartition(".")
    return f"{stem[: LONGEST_NAME - len(suffix)]}{dot}{suffix}" if dot else last[:LONGEST_NAME]


def _index(served: Served, folder: Path, path: Path) -> Task:
    def index(progress: Progress) -> Result:
        report = served.collection.index([path], wait=False, progress=progress)
        if not report.failed:
            _clear(folder)
        return asdict(report)

    return served.tasks.add("index", index)


def _folder(served: Served) -> Path:
    folder = served.collection.settings.home / "posted" / new_run_id()
    folder.mkdir(parents=True)
    return folder


def _clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def retry(served: Served) -> Task:
    """Do the dead letters again."""
    return served.tasks.add("retry", lambda progress: asdict(served.collection.retry(progress=progress)))


def merge(served: Served, name: str, into: str) -> Task:
    """Make a topic a part of another one, which keeps its id and name.

    Raises:
        NotFound: One of them is not there.
        QueryError: They are the same.
    """
    collection = served.collection
    part, whole = collection.topic_id(name), collection.topic_id(into)
    if part == whole:
        raise QueryError("A topic cannot be merged into itself.", hint="Choose another one.")

    def join(progress: Progress) -> Result:
        topic, changed = collection.merge_topics(whole, [part], progress=progress)
        return {"topic": topic.id, "changed": changed}

    return served.tasks.add("merge", join)


def retrain(served: Served, **wanted: Any) -> Task:
    """Adapt the encoder: here, or by workers where there is a broker."""

    def adapt(progress: Progress) -> Result:
        from trainer.retrain.report import RetrainOptions

        options = RetrainOptions(**wanted)
        if served.collection.settings.broker:
            from workers.training import hand_over

            report = hand_over(served.collection, options)
            return {**report.counts(), "left_to_workers": int(report.verdict == "paused")}
        return served.collection.retrain(options, progress=progress).counts()

    return served.tasks.add("retrain", adapt)
