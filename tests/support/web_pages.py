"""What a page of the server says, and its forms."""

from __future__ import annotations

from lxml import html
from web_client import ended

HTML = {"Accept": "text/html"}


def seen(web, path, status=200):
    """A page, as a tree."""
    answer = web.get(path, headers=HTML)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return html.fromstring(answer.text)


def text(found):
    return " ".join(found.text_content().split())


def cells(row):
    return [text(cell) for cell in row.xpath("./th | ./td")]


def one(tree, path):
    (found,) = tree.xpath(path)
    return found


def send(web, tree, action, **values):
    """Fill in a form of a page, and send it."""
    form = one(tree, f"//form[@action='{action}']")
    given = {field.get("name"): field.get("value", "") for field in form.xpath(".//input[@name]")}
    return web.post(action, data={**given, **values}, headers=HTML)


def send_file(web, name, content):
    """Send a file by the form of the operations, and wait until it is read."""
    token = one(seen(web, "/operations"), "//form[@action='/operations/files']/input[@name='token']").get(
        "value"
    )
    answer = web.post(
        "/operations/files", data={"token": token}, files={"file": (name, content)}, headers=HTML
    )
    assert answer.status_code == 200, answer.text
    finish(web)


def finish(web):
    """Wait for all tasks."""
    for task in web.get("/api/tasks").json():
        ended(web, task)
