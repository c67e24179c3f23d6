"""What is taken from a document of somebody else's, without a server."""

from __future__ import annotations

import pytest

from indexer.engines.elastic.user_documents import UserDocuments
from indexer.engines.elastic.user_index import EnrichOptions, UserIndex
from indexer.errors import EngineUnavailable, InputError
from indexer.records import Document

INDEX = UserIndex(None, "news", 1, "indexer")  # type: ignore[arg-type]  # nothing is asked


def taken(source, text="body", **options):
    documents = UserDocuments(INDEX, EnrichOptions(text, **options), 100)
    return documents._row({"_id": "a", "_seq_no": 7, "_primary_term": 1, "_source": source})


@pytest.mark.parametrize(
    ("source", "field", "text"),
    [
        ({"body": "one"}, "body", "one"),
        ({"body": ["one", None, " ", "two"]}, "body", "one\n\ntwo"),
        ({"a": {"body": "one"}}, "a.body", "one"),
        ({"a.body": "one"}, "a.body", "one"),
        ({"a": {"b.body": "one"}}, "a.b.body", "one"),
        ({"a": [{"body": "one"}, {"body": "two"}, {"other": 1}]}, "a.body", "one\n\ntwo"),
        ({"lead": "one", "body": "two"}, "lead, body", "one\n\ntwo"),
    ],
)
def test_the_text_is_found_however_a_document_writes_it(source, field, text):
    assert taken(source, field).document == Document("a", text, source="elasticsearch:news/a")


def test_title_and_fields_come_along():
    row = taken(
        {"body": "one", "head": "A title", "year": 2020, "tags": ["x", "y"], "indexer": {"hash": "h"}},
        title_field="head",
        fields=("year", "tags", "none"),
    )
    assert (row.document.title, row.document.meta) == ("A title", {"year": 2020, "tags": ["x", "y"]})
    assert (row.ours, row.guard, row.up_to_date) == ({"hash": "h"}, (7, 1), False)


@pytest.mark.parametrize("source", [{}, {"body": None}, {"body": ""}, {"body": []}])
def test_a_document_without_text_is_none(source):
    row = taken(source)
    assert row.document is None
    assert row.up_to_date


@pytest.mark.parametrize(
    ("source", "reason"), [({"body": 7}, "found a number"), ({"body": "ä" * 51}, "102 bytes")]
)
def test_what_is_no_text_or_too_long_is_named(source, reason):
    problem = taken(source).document
    assert isinstance(problem, InputError)
    assert str(problem).startswith("elasticsearch:news/a: ")
    assert reason in str(problem)
    assert problem.facts["document_id"] == "a"


class Server:
    """Has seven documents, gives three at once, each time under another name, and is restarted before some answers."""

    def __init__(self, *restarts: int) -> None:
        self.client = self
        self.restarts = restarts
        self.retries = True
        self.opened = 0
        self.asked: list[str] = []
        self.wanted: list[object] = []  # fields

    def ask(self, call, **parts):
        return call(**parts)

    def options(self, **parts):
        return self

    def open_point_in_time(self, **parts):
        self.opened += 1
        return {"id": f"{self.opened}"}

    def close_point_in_time(self, *, id):
        self.asked.append(f"close {id}")

    def mget(self, *, index, docs):
        self.wanted += [row["_source"] for row in docs]
        known = {"_seq_no": 1, "_primary_term": 1}  # where its routing is given
        return {"docs": [{"_id": row["_id"], "found": row.get("routing") == "r1", **known} for row in docs]}

    def search(self, *, pit, search_after, size, source, **parts):
        self.wanted.append(source)
        self.asked.append(pit["id"])
        if len(self.asked) in self.restarts:
            raise EngineUnavailable("It was restarted.", forgotten=True)
        first = search_after[0] + 1 if search_after else 0
        hits = [
            {"_id": f"d{n}", "_seq_no": n, "_primary_term": 1, "sort": [n]}
            for n in range(first, min(first + size, 7))
        ]
        return {"pit_id": f"{pit['id']}'", "hits": {"hits": hits}}


def read_from(server):
    documents = UserDocuments(UserIndex(server, "news", 1, "indexer"), EnrichOptions("body"), 100)
    return [row.id for rows in documents.scan(3) for row in rows]


def test_the_fields_that_are_used_are_read_and_no_vector():
    server = Server()
    options = EnrichOptions("body", "head", ("year",))
    documents = UserDocuments(UserIndex(server, "news", 1, "indexer"), options, 100)
    assert [row.id for row in documents.read({"here": "r1", "gone": None})] == ["here"]
    assert len(list(documents.ids())) == len(next(documents.scan())) == 7
    asked = {"includes": ["body", "head", "year", "indexer"], "excludes": ["indexer.vector"]}
    assert server.wanted == [asked, asked, False, asked]


def test_pages_are_read_on_under_the_name_that_the_server_gave_last():
    server = Server()
    assert read_from(server) == [f"d{n}" for n in range(7)]
    assert server.asked == ["1", "1'", "1''", "close 1'''"]


def test_what_a_restarted_server_has_forgotten_is_read_from_the_beginning():
    server = Server(2)
    ids = read_from(server)
    assert (sorted(set(ids)), ids[-7:]) == ([f"d{n}" for n in range(7)], [f"d{n}" for n in range(7)])
    assert server.opened == 2
    impatient = Server(2)
    impatient.retries = False
    with pytest.raises(EngineUnavailable):
        read_from(impatient)
