"""Changes that users make to the topics: merging, splitting, moving, adding. Every later fit keeps them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from indexer.catalog.entries import LineageEntry, topic_id
from indexer.common import Floats, batches, unit
from indexer.engines.base import Filter
from indexer.errors import NotFound, QueryError
from indexer.pipeline.births import Rising, carry_over, leading_phrases, since
from indexer.pipeline.finalize import Finisher
from indexer.pipeline.topic_fit import CHUNK
from indexer.records import Vector
from indexer.topics.fits import Act, NamedFit, last_act, live_fit, save_fit, saved_fit
from indexer.topics.hierarchy import parents_of, placed, tidy
from indexer.topics.models.base import mapped_unit
from indexer.topics.models.kmeans import kmeans

PART_STARTS = 5  # of K-means, when a topic is split


class Shaper(Finisher):
    """Changes topics, and finishes the documents that it concerns."""

    def merge(self, into: str, others: Sequence[str]) -> int:
        """Make several topics one; `into` keeps its id, the others retire and lead to it.

        The centroids stay: those of the merged topics carry the same id from then on.

        Returns:
            How many documents changed.
        """
        live = self._live()
        groups = tidy({id_: topics - set(others) for id_, topics in live.groups().items()}, _fixed(live))
        parents = parents_of(groups)
        kept = {*live.ids, *parents.values()} - set(others)
        gone = {*live.parents.values()} - {*parents.values()}
        moved = dict.fromkeys(others, into)
        documents = sorted(
            {id_ for other in others for id_, _ in self.engine.scan(None, (Filter("topic", "=", other),))}
        )
        merged = replace(
            live,
            run=self.run,
            ids=tuple(into if id_ in others else id_ for id_ in live.ids),
            lineage=(
                *(LineageEntry(self.run, id_, id_, "kept", 1.0) for id_ in kept),
                *(LineageEntry(self.run, other, into, "hand", 1.0) for other in others),
                *self._dissolved(live, gone, moved),
            ),
            fitted=live.fitted or live.run,
            parents=parents,
            corrections=tuple(
                replace(one, topic=moved.get(one.topic, one.topic)) for one in live.corrections
            ),
            act=self._act(live, "merge", (into, *others)),
        )
        self._assign_again(merged, documents, {}, rename=False)
        return len(documents)

    def place(self, topics: Mapping[str, str], merged: Mapping[str, str]) -> None:
        """Put topics below other parents; every later fit keeps them there.

        Args:
            topics: Topic ► its parent, or an empty text for the top.
            merged: Parents that lead to another one from now on.
        """
        live = self._live()
        parents = parents_of(placed(live.groups(), topics, set(live.ids), _fixed(live)))
        gone = {*live.parents.values()} - {*parents.values()} - merged.keys()
        moved = replace(
            live,
            run=self.run,
            lineage=(
                *(LineageEntry(self.run, id_, id_, "kept", 1.0) for id_ in topics),
                *(LineageEntry(self.run, other, into, "hand", 1.0) for other, into in merged.items()),
                *self._dissolved(live, gone, {}),
            ),
            fitted=live.fitted or live.run,
            parents=parents,
            placed={**live.placed, **topics},
            act=self._act(live, "merge" if merged else "move", [*merged.values(), *merged] or [*topics]),
        )
        self._save(moved, 0)
        self.install(moved, self._write_topics(moved, {}, rename=False))

    def bear(self, births: Sequence[Rising]) -> int:
        """Make topics of rising subjects. Documents that came since the topics were fitted may get them.

        Returns:
            How many documents were looked at.
        """
        live = self._live()
        ids = self._new_ids(len(births))
        directions, centroids = zip(*(self._place_of(one, live) for one in births), strict=True)
        kept = {*live.ids, *live.parents.values()}
        named = replace(
            live,
            run=self.run,
            fit=replace(
                live.fit,
                mapped=np.concatenate([live.fit.mapped, np.stack(directions)]),
                centroids=np.concatenate([live.fit.centroids, np.stack(centroids)]),
            ),
            ids=(*live.ids, *ids),
            requested=live.requested and live.requested + len(ids),
            shaped=True,
            lineage=(
                *(LineageEntry(self.run, id_, id_, "kept", 1.0) for id_ in kept),
                *(LineageEntry(self.run, None, id_, "born") for id_ in ids),
            ),
            fitted=since(live),
            act=self._act(live, "birth", ids),
        )
        documents = sorted(self.catalog.ids(self.ledger, state="done", after=since(live)))
        leading = dict(zip(ids, (one.phrases for one in births), strict=True))
        self._assign_again(named, documents, leading, rename=False, born=births)
        return len(documents)

    def split(self, topic: str, number: int) -> int:
        """Part the documents of a topic; the largest part keeps the id.

        Returns:
            How many documents were looked at.

        Raises:
            QueryError: There are no such parts.
        """
        live = self._live()
        documents = sorted(id_ for id_, _ in self.engine.scan(None, (Filter("topic", "=", topic),)))
        read = [
            stored
            for some in batches(documents, CHUNK)
            for stored in self.engine.documents(some, vectors=True)
            if stored.vector is not None and stored.topics[0].topic_id == topic
        ]
        found = self._parts([stored.vector for stored in read if stored.vector is not None], number, live)
        if len(found) < number:
            raise QueryError(f"The {len(read):,} documents of this topic do not fall into {number} parts.")
        parts = [Rising(tuple(read[at].document.id for at in rows), ()) for rows in found]
        parts = [replace(one, phrases=leading_phrases(self.engine, live, one.documents)) for one in parts]
        ids = [topic, *self._new_ids(number - 1)]
        directions, centroids = zip(*(self._place_of(one, live) for one in parts), strict=True)
        others = np.array([id_ != topic for id_ in live.ids])
        above = live.parents.get(topic)
        named = replace(
            live,
            run=self.run,
            fit=replace(
                live.fit,
                mapped=np.concatenate([live.fit.mapped[others], np.stack(directions)]),
                centroids=np.concatenate([live.fit.centroids[others], np.stack(centroids)]),
            ),
            ids=(*(id_ for id_ in live.ids if id_ != topic), *ids),
            requested=live.requested and live.requested + number - 1,
            shaped=True,
            lineage=(
                *(
                    LineageEntry(self.run, id_, id_, "kept", 1.0)
                    for id_ in {*live.ids, *live.parents.values()}
                ),
                *(LineageEntry(self.run, topic, id_, "split", 1.0) for id_ in ids[1:]),
            ),
            fitted=since(live),
            parents={**live.parents, **(dict.fromkeys(ids[1:], above) if above else {})},
            act=self._act(live, "split", ids, renamed={topic}),
        )
        leading = dict(zip(ids, (one.phrases for one in parts), strict=True))
        self._assign_again(named, documents, leading, rename=True)
        return len(documents)

    def retire(self, topics: Sequence[str]) -> int:
        """Take topics away; their documents get those that are nearest to them then, or none.

        Returns:
            How many documents changed.
        """
        live = self._live()
        documents = sorted(id_ for id_, _ in self.engine.scan(None, (Filter("topic", "=", list(topics)),)))
        groups = tidy({id_: below - set(topics) for id_, below in live.groups().items()}, _fixed(live))
        stay = np.array([id_ not in topics for id_ in live.ids])
        parents = parents_of(groups)
        gone = {*live.parents.values()} - {*parents.values()}
        kept = {*live.ids, *live.parents.values()} - set(topics) - gone
        left = replace(
            live,
            run=self.run,
            fit=replace(live.fit, mapped=live.fit.mapped[stay], centroids=live.fit.centroids[stay]),
            ids=tuple(id_ for id_ in live.ids if id_ not in topics),
            requested=live.requested and live.requested - len(topics),
            shaped=True,
            lineage=(
                *(LineageEntry(self.run, id_, id_, "kept", 1.0) for id_ in sorted(kept)),
                *(LineageEntry(self.run, id_, None, "retired") for id_ in topics),
                *self._dissolved(live, gone, {}, set(topics)),
            ),
            fitted=live.fitted or live.run,
            parents=parents,
            corrections=tuple(one for one in live.corrections if one.topic not in topics),
            act=self._act(live, "retire", topics),
        )
        self._assign_again(left, documents, {}, rename=False)
        return len(documents)

    def undo(self) -> tuple[Act, tuple[str, ...]]:
        """Take back what a user did last to the topics: their fit before it is the live one again.

        Returns:
            The act, and the topics that have changed.
        """
        live = self._live()
        act = last_act(self.catalog, self.collection)
        if act is None:
            raise NotFound("There is nothing to undo.")
        earlier = saved_fit(self.catalog, self.collection, act.before)
        back = {*earlier.ids, *earlier.parents.values()}
        gone = {*live.ids, *live.parents.values()} - back
        went = {id_: self._whole(id_) for id_ in gone}
        restored = replace(
            earlier,
            run=self.run,
            fitted=earlier.fitted or earlier.run,
            lineage=(
                *(LineageEntry(self.run, id_, id_, "kept", 1.0) for id_ in sorted(back)),
                *(
                    LineageEntry(self.run, id_, whole, "hand" if whole else "retired", 1.0 if whole else 0.0)
                    for id_, whole in sorted(went.items())
                ),
            ),
        )
        changed = _changed(live, earlier)
        # Documents of a retired topic may have any other by now, or none.
        having = () if act.kind == "retire" else (Filter("topic", "=", sorted(changed)),)
        documents = sorted(id_ for id_, _ in self.engine.scan(None, having))
        self._name_as_before(act)
        self._assign_again(restored, documents, {}, rename=False)
        carry_over(self.catalog, self.collection, earlier.run, self.run)
        return act, tuple(sorted(changed & set(earlier.ids)) or act.topics)

    def _whole(self, part: str) -> str | None:
        """The topic that a part was split from; None where it was not."""
        split = (
            e.old_id
            for e in self.catalog.lineage(self.collection, part)
            if e.kind == "split" and e.new_id == part
        )
        return next(split, None)

    def _name_as_before(self, act: Act) -> None:
        known = {entry.id: entry for entry in self.catalog.topics(self.collection)}
        self.catalog.save_topics(
            self.collection,
            [
                replace(known[id_], label=label, phrases=phrases)
                for id_, (label, phrases) in act.renamed.items()
            ],
        )

    def _act(self, live: NamedFit, kind: str, topics: Sequence[str], renamed: Collection[str] = ()) -> Act:
        entries = {entry.id: entry for entry in self.catalog.topics(self.collection)}
        before = {id_: (entries[id_].label, entries[id_].phrases) for id_ in renamed}
        return Act(kind, tuple(topics), live.run, before)

    def _parts(self, vectors: Sequence[Vector], number: int, live: NamedFit) -> list[NDArray[np.intp]]:
        """The rows of each part, the largest first."""
        if len(vectors) < number:
            return []
        points = mapped_unit(np.stack(vectors), live.fit.mean, live.fit.projection)
        part = kmeans(points, number, seed=0, starts=PART_STARTS).labels_
        found = [np.flatnonzero(part == at) for at in range(number)]
        return sorted((rows for rows in found if len(rows)), key=lambda rows: (-len(rows), rows[0]))

    def _new_ids(self, number: int) -> list[str]:
        first = self.catalog.next_topic_number(self.collection, number)
        return [topic_id(first + at) for at in range(number)]

    def _assign_again(
        self,
        named: NamedFit,
        documents: Sequence[str],
        leading: Mapping[str, tuple[str, ...]],
        *,
        rename: bool,
        born: Sequence[Rising] = (),
    ) -> None:
        """Save a changed fit, give these documents their topics by it, and make it the live one."""
        self._save(named, len(documents), born)
        for some in batches(documents, CHUNK):  # killed from here on, the next run finishes these documents
            self.catalog.mark(self.ledger, some, state="mined")
        touched: set[str] = set()
        self._assign(named, documents, touched)
        self._consolidate(touched)
        self.install(named, self._write_topics(named, leading, rename=rename))
        self._mark_done(documents, named)

    def _save(self, named: NamedFit, documents: int, born: Sequence[Rising] = ()) -> None:
        save_fit(self.catalog, self.collection, named, sample="", documents=documents)
        if named.act:
            carry_over(self.catalog, self.collection, named.act.before, named.run, born)

    def _place_of(self, birth: Rising, live: NamedFit) -> tuple[Floats, Floats]:
        """The direction of a subject in the space of the fit, float32 [p], and its centroid, float32 [dims]."""
        vectors = [
            stored.vector
            for some in batches(birth.documents, CHUNK)
            for stored in self.engine.documents(some, vectors=True)
            if stored.vector is not None
        ]
        if not vectors:
            raise NotFound(
                f"The documents of '{birth.label}' are gone.",
                command="Find out what is rising now: indexer index",
            )
        mapped = mapped_unit(np.stack(vectors), live.fit.mean, live.fit.projection)
        rows = [row for some in batches(birth.documents, CHUNK) for row in self.engine.mentions(some)]
        centroid: Floats = unit(np.mean([row.vector for row in rows] or vectors, axis=0))
        return unit(mapped.mean(axis=0)), centroid

    def _live(self) -> NamedFit:
        """The fit that is changed."""
        live = live_fit(self.catalog, self.collection)
        if live is None:
            raise NotFound(f"Collection '{self.collection}' has no topics yet.", command="Run: indexer index")
        return live

    def _dissolved(
        self, live: NamedFit, gone: Collection[str], moved: Mapping[str, str], retired: Set[str] = frozenset()
    ) -> Iterator[LineageEntry]:
        """Parents that are gone lead to the topics that were below them, or to what these were merged into."""
        for parent in sorted(gone):
            for topic in sorted({moved.get(id_, id_) for id_ in live.groups()[parent]} - retired):
                yield LineageEntry(self.run, parent, topic, "merged")


def _changed(one: NamedFit, other: NamedFit) -> set[str]:
    """The topics that two fits in one space do not have at the same places."""

    def places(fit: NamedFit) -> dict[str, set[bytes]]:
        found: dict[str, set[bytes]] = {}
        for id_, direction in zip(fit.ids, fit.fit.mapped, strict=True):
            found.setdefault(id_, set()).add(direction.tobytes())
        return found

    before, after = places(one), places(other)
    return {id_ for id_ in before.keys() | after.keys() if before.get(id_) != after.get(id_)}


def _fixed(live: NamedFit) -> set[str]:
    """The topics of terms: as parents they stay with a single topic below them."""
    return {term.topic for term in live.terms}
