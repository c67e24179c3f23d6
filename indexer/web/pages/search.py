"""The search view: what was asked for, hits, what to narrow by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from indexer.collection import Collection
from indexer.engines.base import NO_DUPLICATES, Filter, Fragment
from indexer.export.formatting import clean, corrections, ellipses, excerpts, found
from indexer.records import Document
from indexer.search.query import MAX_QUERY, parse_filter
from indexer.search.results import Facet, Hit, Mode, SearchResults
from indexer.search.search import DEEPEST, NEAREST
from indexer.search.timeline import within
from indexer.topics.hierarchy import TopicTree
from indexer.web.auth import Reader
from indexer.web.pages.charts import Bar, bars
from indexer.web.pages.form_input import parse_filters, parse_query
from indexer.web.pages.highlighting import TextSpan, highlighted
from indexer.web.pages.rendering import Address, page
from indexer.web.shared import Served, Shared

router = APIRouter(include_in_schema=False)

ON_PAGE = 10
VALUES = 8  # of a facet
MAX_VALUES = 100  # where more of them are asked for
FIELDS = 4  # of the users' own to narrow by
OWN = "f."  # before the name of such a field, in the address
FRAGMENTS = 2
BEGIN = 260  # characters of a text that has no fragment
WIDTH, HEIGHT = 600.0, 70.0  # of the dates
MODES = {"both": "Both", "words": "Words", "meaning": "Meaning"}


@dataclass(frozen=True)
class SearchForm:
    """The search form, as read from the address."""

    address: Address
    query: str
    mode: Mode
    number: int  # of the page, from 1
    why: bool
    diverse: bool
    hide_duplicates: bool
    verbatim: bool
    chosen: dict[str, list[str]]  # field ► values
    first: str  # dates
    last: str
    where: tuple[str, ...]  # conditions that were typed
    more: tuple[str, ...]  # parameters of facets that show more values

    @classmethod
    def read(cls, request: Request, served: Served) -> SearchForm:
        given = request.query_params
        chosen: dict[str, list[str]] = {}
        for name, value in given.multi_items():
            field = name.removeprefix(OWN) if name.startswith(OWN) else name
            if value and field and (name in ("topic", "keyphrase") or name.startswith(OWN)):
                chosen.setdefault(field, []).append(value)
        if "topic" in chosen:
            chosen["topic"] = [served.collection.topic_id(name) for name in chosen["topic"]]
        mode = given.get("mode", "both")
        number = given.get("page", "1")
        return cls(
            address=Address("/", given.multi_items()),
            query=given.get("q", ""),
            mode=mode if mode in get_args(Mode) else "both",  # type: ignore[arg-type]
            number=min(max(int(number), 1), DEEPEST // ON_PAGE)
            if number.isdecimal() and len(number) < 9
            else 1,
            why=bool(given.get("why")),
            diverse=bool(given.get("diverse")),
            hide_duplicates=bool(given.get("hide_duplicates")),
            verbatim=bool(given.get("verbatim")),
            chosen=chosen,
            first=given.get("from", ""),
            last=given.get("to", ""),
            where=tuple(value for value in given.getlist("where") if value.strip()),
            more=tuple(dict.fromkeys(given.getlist("more"))),
        )

    def filters(self, date: str) -> list[Filter]:
        """Conditions on documents.

        Args:
            date: The field with the date.
        """
        found = [*self.choices(), *(parse_filter(text) for text in self.where)]
        return [*found, *within(date, self.first, self.last)] if date else found

    def reaches(self, bar: Bar) -> bool:
        """Whether a stretch of time lies in the chosen dates, at least in part."""
        first, last = self.first, self.last
        return (not first or bar.last[: len(first)] >= first[: len(bar.last)]) and (
            not last or bar.first[: len(last)] <= last[: len(bar.first)]
        )

    def choices(self) -> list[Filter]:
        """Conditions that were chosen, and not typed."""
        found = [Filter(field, "=", value) for field, values in self.chosen.items() for value in values]
        return [*found, NO_DUPLICATES] if self.hide_duplicates else found

    @property
    def is_empty(self) -> bool:
        return not (
            self.query or self.chosen or self.where or self.first or self.last or self.hide_duplicates
        )


@dataclass(frozen=True)
class HitView:
    """One hit as it is read."""

    hit: Hit
    title: list[TextSpan]
    texts: list[list[TextSpan]]
    date: str


@dataclass(frozen=True)
class FilterChoice:
    """One value to narrow by."""

    value: str
    label: str
    documents: int | None  # None: chosen, and in no document that is left
    chosen: bool
    depth: int = 0  # in the tree of topics


@dataclass(frozen=True)
class FilterChoices:
    """One field to narrow by."""

    title: str
    parameter: str
    values: tuple[FilterChoice, ...]
    other: Address | None  # where it shows more values, or fewer again; None when these are all
    expanded: bool


@router.get("/")
def search(request: Request, served: Shared, reader: Reader) -> HTMLResponse:
    """Find documents."""
    collection, kinds = served.collection, served.kinds()
    asked = SearchForm.read(request, served)
    typed, problems = parse_filters(collection, asked.where, kinds.date, asked.first, asked.last)
    query, problems["query"] = parse_query(asked.query)
    filters = [*asked.choices(), *typed]
    waits = asked.mode != "words" and bool(query.strip()) and not collection.is_ready()
    mode: Mode = "words" if waits else asked.mode
    fields = ("topic", "keyphrase", *kinds.choices[:FIELDS])
    fields = tuple(dict.fromkeys([*fields, *asked.chosen]))
    tree = collection.topic_tree()
    nested = bool(tree.parents)
    counted = {name: "topic_path" if name == "topic" and nested else name for name in fields}
    results = collection.search(
        query,
        mode=mode,
        filters=filters,
        facets=[counted[name] for name in fields if name not in asked.chosen],
        # One more tells that there are more; all of a tree are needed for its top.
        facet_size=MAX_VALUES if asked.more or nested else VALUES + 1,
        limit=ON_PAGE,
        offset=(asked.number - 1) * ON_PAGE,
        diverse=asked.diverse,
        verbatim=asked.verbatim,
    )
    opened = collection.open_facets(
        query,
        mode=mode,
        filters=filters,
        fields=[counted[name] for name in asked.chosen],
        size=MAX_VALUES,
        found=results,
    )
    labels = dict(results.labels)
    facets = {facet.field: facet for facet in (*results.facets, *opened)}
    timeline = None
    if kinds.date:
        timeline = collection.timeline(query, kinds.date, mode=mode, filters=filters, found=results)
    removable = _removable(asked, labels)
    drawn = bars(timeline, width=WIDTH, height=HEIGHT) if timeline and len(timeline.periods) > 1 else []
    return page(
        request, served, reader, "search.html", code=400 if any(problems.values()) else 200,
        asked=asked,
        problems=problems,
        waits=waits,
        results=results,
        called=_called(collection, asked.query.strip()),
        hits=[_shown(hit, kinds.date) for hit in results.hits],
        said=_capital(found(results, _there(removable))),
        corrections=list(corrections(results)),
        choices=[
            _topic_choices(facets["topic_path"], asked, tree)
            if counted[name] == "topic_path"
            else _choices(facets[name], asked, labels)
            for name in fields
        ],
        bars=drawn,
        suggested=_suggested(kinds.date, drawn),
        date=kinds.date,
        removable=removable,
        reasons=collection.reasons(results) if asked.why else {},
        labels=labels,
        modes=MODES,
        longest=MAX_QUERY,
        saved=_saved(results),
    )  # fmt: skip


def _called(collection: Collection, id_: str) -> Document | None:
    """The document whose id was typed, if it is one."""
    found = collection.engine.documents([id_]) if id_ else []
    return found[0].document if found else None


def _shown(hit: Hit, date: str) -> HitView:
    document = hit.stored.document
    title = next((f for f in hit.fragments if f.field == "title" and f.text == document.name), None)
    texts = [_fragment(f, document.text) for f in excerpts(hit, FRAGMENTS)]
    begin = document.text[:BEGIN]
    if len(document.text) > BEGIN:
        begin = f"{begin.rpartition(' ')[0] or begin} …"
    return HitView(
        hit,
        highlighted(title.text, title.marks) if title else [TextSpan(document.name)],
        texts or [[TextSpan(begin)]],
        str(document.meta.get(date, "")),
    )


def _fragment(fragment: Fragment, text: str) -> list[TextSpan]:
    before, behind = ellipses(fragment.text, text)
    return [TextSpan(before), *highlighted(fragment.text, fragment.marks), TextSpan(behind)]


def _suggested(date: str, drawn: list[Bar]) -> str:
    """A condition that can be typed here, such as "date>=2019"; empty where no field is known to have an order."""
    return f"{date}>={drawn[-1].first[:4]}" if date and drawn else ""


def _saved(results: SearchResults) -> str:
    """What is in a file of these results; empty where there is nothing to save."""
    if results.listed == 0:
        return ""
    if results.by_meaning and results.total == results.listed and results.total > NEAREST:
        return f"the first {NEAREST:,}"
    if results.listed is None:
        return "all of these"
    return f"these {results.listed:,}" if results.listed > 1 else "this"


def _there(removable: list[tuple[str, Address]]) -> str:
    """What the search is narrowed to, where one thing says it."""
    names = [clean(name) for name, _ in removable]
    return f"in “{names[0]}”" if len(names) == 1 else "under the filters"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _choices(facet: Facet, asked: SearchForm, labels: dict[str, str]) -> FilterChoices:
    """The values of a facet that are shown: the most frequent, and whatever is chosen."""
    chosen = asked.chosen.get(facet.field, ())
    wanted = {value.casefold() for value in chosen}
    own = facet.field not in ("topic", "keyphrase")
    parameter = OWN + facet.field if own else facet.field
    expanded = parameter in asked.more
    values = [
        FilterChoice(value, label, number, value.casefold() in wanted)
        for value, label, number in facet.values
    ]
    listed = {choice.value.casefold() for choice in values}
    gone = [
        FilterChoice(value, labels.get(value, value), None, True)
        for value in chosen
        if value.casefold() not in listed
    ]
    shown = values if expanded else [one for at, one in enumerate(values) if at < VALUES or one.chosen]
    here = asked.address
    other = here.drop("more", parameter) if expanded else here.add("more", parameter)
    return FilterChoices(
        _capital(facet.field if own else f"{facet.field}s"),
        parameter,
        (*gone, *shown),
        other if len(values) > VALUES else None,
        expanded,
    )


def _topic_choices(facet: Facet, asked: SearchForm, tree: TopicTree) -> FilterChoices:
    """The topics at the top, and what is below those that are chosen or have something chosen below them."""
    numbers = {value.rpartition("/")[2]: number for value, _, number in facet.values}
    chosen = set(asked.chosen.get("topic", ()))
    opened = {above.id for id_ in chosen for above in tree.path(id_)}

    def below(parent: str | None, depth: int) -> Iterator[FilterChoice]:
        for topic in sorted(tree.subtopics(parent), key=lambda topic: -numbers.get(topic.id, 0)):
            number = numbers.get(topic.id)
            if number or topic.id in chosen:
                yield FilterChoice(topic.id, topic.label, number, topic.id in chosen, depth)
            if topic.id in opened:
                yield from below(topic.id, depth + 1)

    return FilterChoices("Topics", "topic", tuple(below(None, 0)), None, False)


def _removable(asked: SearchForm, labels: dict[str, str]) -> list[tuple[str, Address]]:
    """What narrows the search, each with the address without it."""
    here = asked.address.put(page=None)
    found = []
    for field, values in asked.chosen.items():
        own = field not in ("topic", "keyphrase")
        for value in values:
            name = f"{field}: {value}" if own else labels.get(value, value)
            found.append((name, here.drop(OWN + field if own else field, value)))
    if asked.first or asked.last:
        span = asked.first if asked.first == asked.last else f"{asked.first or '…'} to {asked.last or '…'}"
        found.append((span, here.put(**{"from": None, "to": None})))
    if asked.hide_duplicates:
        found.append(("Without duplicates", here.put(hide_duplicates=None)))
    found += [(text, here.drop("where", text)) for text in asked.where]
    return found
