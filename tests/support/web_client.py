"""A server over a collection of small documents, and what its tests ask of it."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager

from fastapi.testclient import TestClient

from indexer.collection import Collection
from indexer.web.api_keys import Keys
from indexer.web.app import make_app
from indexer.web.shared import ServedCollection

HERE = "http://localhost"
SUBJECTS = {
    "robots": ["robot arm", "motion planning", "grasping", "path", "controller", "mobile robot"],
    "oceans": ["ocean waves", "surface gravity waves", "sea ice", "tides", "salinity", "currents"],
    "markets": ["stock market", "option prices", "volatility", "traders", "portfolio", "returns"],
}


def made(number=21):
    """Short documents on three subjects, a year each from 2000 on."""
    documents = []
    for i in range(number):
        subject = list(SUBJECTS)[i % 3]
        a, b, c = (SUBJECTS[subject][(i + k) % 6] for k in range(3))
        text = f"We study the {a} of a system. The {b} depends on the {c}. Results on {a} are given."
        about = {"subject": subject, "tags": [subject, "all"], "date": f"{2000 + i}-03-0{1 + i % 9}"}
        documents.append({"id": f"d{i:02d}", "title": f"On {a} and {b}", "text": text, **about})
    return documents


def written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def indexed(home, records, topics=3):
    """Make a collection of these records."""
    with Collection.open(home=home) as collection:
        collection.index([written(home.parent / f"{home.name}.jsonl", records)], topics=topics)
    return home


@contextmanager
def serving(home, *, keys=False, title=None, **given):
    """A client of a server over this home."""
    app = make_app(
        ServedCollection.open(home=home, create=False, title=title),
        keys=Keys(home) if keys else None,
        **given,
    )
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as client:
        yield client


def ended(client, task, **given):
    """Wait for a task; returns it."""
    for _ in range(200):
        found = client.get(f"/api/tasks/{task['id']}", **given).json()
        if found["state"] not in ("waiting", "running"):
            return found
        time.sleep(0.02)
    raise AssertionError(f"{task} does not end")
