"""A document as it is read: its text with phrases marked, why it has its topics, what is like it; and phrases."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from indexer.collection.queries import IN_CONTEXT
from indexer.errors import NotFound, QueryError
from indexer.export.serialize import marks
from indexer.topics.explain import Why
from indexer.web import task_work, topic_work
from indexer.web.auth import FormWriter, Reader, Writer
from indexer.web.errors import Refusal, hint_of
from indexer.web.pages.confirmation import confirm
from indexer.web.pages.highlighting import highlighted, in_context, phrases_of, text_spans
from indexer.web.pages.operations import to_task
from indexer.web.pages.rendering import link, page
from indexer.web.shared import Served, Shared

router = APIRouter(include_in_schema=False)

SHOWN = 60_000  # characters of a text, unless more is asked for
SIMILAR = 6
DUPLICATES = 20  # shown
VOTES = 12
PHRASES = 20


@router.get("/document")
def document(
    request: Request, served: Shared, reader: Reader, id: Annotated[str, Query()] = "", all: str = ""
) -> HTMLResponse:
    """Read a document."""
    collection = served.collection
    stored = collection.document(id)
    whole = stored.document.text
    text = whole if all else whole[:SHOWN]
    mentions = collection.mentions(id)
    in_title, in_text = (phrases_of(field, stored.keyphrases, mentions) for field in ("title", "text"))
    labels = {topic.id: topic.label for topic in collection.topics()}
    return page(
        request, served, reader, "document.html",
        stored=stored,
        document=stored.document,
        title=in_context(
            stored.document.name, text_spans(stored.document.name, in_title if stored.document.title else ())
        ),
        text=in_context(text, text_spans(text, in_text)),
        left=len(whole) - len(text),
        present=[k for k in stored.keyphrases if k.present],
        absent=[k for k in stored.keyphrases if not k.present],
        original=collection.titles([stored.duplicate_of]) if stored.duplicate_of else {},
        duplicates=collection.titles(collection.duplicates(id)[:DUPLICATES]),
        why=_why(served, id),
        votes=VOTES,
        similar=collection.similar(id, limit=SIMILAR),
        labels=labels,
        source=collection.posted.called(stored.document.source),
    )  # fmt: skip


def _why(served: Served, id: str) -> Why | None:
    try:
        return served.collection.why(id)
    except NotFound:  # it has not been mined yet
        return None


@router.get("/document/delete")
def ask_to_delete(
    request: Request, served: Shared, writer: Writer, id: Annotated[str, Query(max_length=512)] = ""
) -> Response:
    """Ask whether a document shall be taken out."""
    if not id:
        return RedirectResponse("/", 303)
    document = served.collection.document(id).document
    return confirm(
        request, served, writer, f"Delete “{document.name}”?",
        means="The document and everything mined from it are deleted. It comes back if a file that contains it is "
        "indexed again.",
        button="Delete",
        back=link("/document", id=id),
        id=id,
    )  # fmt: skip


@router.post("/document/delete")
def delete(
    request: Request, served: Shared, writer: FormWriter, id: Annotated[str, Form(max_length=512)] = ""
) -> RedirectResponse:
    """Take a document out."""
    return to_task(task_work.delete(served, id))


@router.get("/document/topic")
def corrected() -> RedirectResponse:
    """The address of the form stays in a browser after a refusal, and may be loaded again."""
    return RedirectResponse("/", 303)


@router.post("/document/topic")
def correct(
    request: Request,
    served: Shared,
    writer: FormWriter,
    id: Annotated[str, Form(max_length=512)] = "",
    topic: Annotated[str, Form(max_length=200)] = "",
    belongs: Annotated[Literal["yes", "no", "undo"], Form()] = "yes",
) -> RedirectResponse:
    """Say that the document has a topic, has it not, or forget what was said."""
    said = {"yes": True, "no": False, "undo": None}
    return to_task(topic_work.correct(served, topic, [id], said[belongs]))


@router.get("/phrases")
def phrases(
    request: Request,
    served: Shared,
    reader: Reader,
    phrase: Annotated[str, Query(max_length=500)] = "",
    sentence: Annotated[str, Query(alias="in", max_length=5_000)] = "",
) -> HTMLResponse:
    """Find phrases by meaning, alone or in a sentence."""
    collection = served.collection
    problem, near, mentions = "", [], []
    if (sentence.strip() or phrase.strip()) and not collection.is_ready():
        raise Refusal(503, "The encoder is being loaded.", hint="Come back in a moment.", Retry_After="2")
    try:
        if sentence.strip():
            mentions = collection.phrases_in(sentence, limit=PHRASES)
        elif phrase.strip():
            near = collection.phrases(phrase, limit=PHRASES)
    except QueryError as error:
        problem = f"{error} {hint_of(error)}".strip()
    titles = collection.titles([row.document_id for row, _ in mentions])
    shown = [
        (row, score, titles[row.document_id], highlighted(row.sentence, marks(row.sentence, row.surface)))
        for row, score in mentions
    ]
    return page(
        request, served, reader, "phrases.html", code=400 if problem else 200,
        phrase=phrase,
        sentence=sentence,
        marked_phrase=_marked(sentence),
        near=near,
        mentions=shown,
        labels={topic.id: topic.label for topic in collection.topics()},
        problem=problem,
    )  # fmt: skip


def _marked(sentence: str) -> str:
    """The phrase that is marked in a sentence; empty where there is not one."""
    found = IN_CONTEXT.findall(sentence)
    return found[0] if len(found) == 1 else ""
