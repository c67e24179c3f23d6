"""Asking before what cannot be undone, or what concerns everything: the same for every such form, without scripts."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import HTMLResponse

from indexer.web.auth import Visitor
from indexer.web.pages.rendering import page
from indexer.web.shared import Served


def confirm(
    request: Request,
    served: Served,
    writer: Visitor,
    question: str,
    *,
    means: str,
    button: str,
    back: str,
    **values: str,
) -> HTMLResponse:
    """A question whose answer is a form: what was asked for by this address is done when it is posted there.

    Args:
        question: What would be done, with the names of what it is done to.
        means: What that leads to.
        button: What is done, in a word or two.
        back: Where nothing is done.
        values: What the form sends.
    """
    return page(
        request, served, writer, "question.html",
        question=question, means=means, button=button, back=back, values=values,
    )  # fmt: skip
