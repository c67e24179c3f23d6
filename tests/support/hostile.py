"""Documents, and a file, that want to be more than text."""

from __future__ import annotations

from web_client import indexed, serving, written

from indexer.collection import Collection

SCRIPT = "<script>alert(1)</script>"
HANDLER = "\"><img src=x onerror=alert(2)> ' onmouseover='alert(3)"
WORD = "Donaudampfschifffahrt" * 400
TURNED = "safe\u202egnp.exe\u2066 txt\u0000end"
FILE = "<img src=x onerror=alert(5)> \u202elnosj.jsonl"
HOSTILE: list[dict[str, object]] = [
    {"id": f"h{i}<b>&{i}", "title": f"{SCRIPT} Robot arm {i} {HANDLER}", "subject": SCRIPT, "date": "2001-01-01",
     "text": f"{HANDLER} The robot arm {i} {SCRIPT} moves. {TURNED} javascript:alert(4) {{{{ 7 * 7 }}}} {WORD}",
     "=1+1": "@SUM(A1)", "tags": [HANDLER, "</title>"]}
    for i in range(6)
]  # fmt: skip
NAME = f"{SCRIPT} {HANDLER}"  # of a topic

PAGES = (
    "/",
    "/?q=robot&why=1",
    "/?" + "f.subject=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "/?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E%22onfocus%3D%22alert(1)",
    "/topics",
    "/topics/t-000001",
    "/document?id=h0%3Cb%3E%260",
    "/phrases?phrase=robot+arm%22%3E%3Cscript%3E",
    "/phrases?in=the+%5B%5Brobot+arm%5D%5D+%3Cscript%3E",
    "/operations",
    "/document?id=in-a-file",
    "/?where=%3Cscript%3E%3D1&from=2000",
    "/document?id=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "/topics/%3Cscript%3E",
    "/login?next=javascript:alert(1)",
)


def hostile_home(home):
    """A collection of them, with a topic that was named by somebody, and a dead letter."""
    indexed(home, HOSTILE, topics=2)
    file = written(home.parent / FILE, [{**HOSTILE[0], "id": "in-a-file"}])
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"{SCRIPT}{HANDLER}\n")
    with Collection.open(home=home) as collection:
        collection.index([file])
    with serving(home) as client:
        assert client.patch("/api/topics/1", json={"label": NAME}).status_code == 200
    return home
