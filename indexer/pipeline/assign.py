"""Topics and final keyphrases of a document, by a fit of topics.

They depend on the document's rows and the fit alone. So a document that is mined while there is a fit is written with
them, and need not be read and written again at the end of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from indexer.engines.base import Engine
from indexer.keyphrases.absent import AbsentFinder
from indexer.keyphrases.scoring import choose, choose_ranked
from indexer.records import Document, MentionRow, MinedDocument, Refinement, TopicWeight, Vector
from indexer.topics.corrections import given_topics
from indexer.topics.fits import NamedFit
from indexer.topics.models.base import vote


@dataclass(frozen=True)
class Assigner:
    """Assigns documents and their phrases to the topics of a fit.

    Attributes:
        run: The run that does it.
        keyphrases: Kept for each document.
        ranked: The scores of phrases are those of a keyphrase ranker.
        absent: Finds absent keyphrases, if any are kept.
        absent_keyphrases: Kept of them for each document.
    """

    named: NamedFit
    run: str
    keyphrases: int
    ranked: bool = False
    absent: AbsentFinder | None = None
    absent_keyphrases: int = 0

    def refinement(self, document: Document, vector: Vector | None, rows: Sequence[MentionRow]) -> Refinement:
        """Return topics and keyphrases of a document.

        Args:
            vector: Of the document, as its engine returns it; None: it gets no topic.
            rows: Its mentions as the engine returns them.
        """
        topics = self._topics(vector, rows)
        shares = self._shares(self.named.said_of(document), vector, rows, topics)
        if self.ranked:
            keyphrases = choose_ranked(rows, self.keyphrases)
        else:
            keyphrases = choose(rows, self.named.frequencies, self.keyphrases)
        if self.absent and vector is not None:
            keyphrases += self.absent.find(document, vector, rows, self.absent_keyphrases)
        return Refinement(
            id=document.id,
            keyphrases=keyphrases,
            topics=tuple(TopicWeight(topic, round(share, 4)) for topic, share in shares),
            mention_topics={row.phrase_id: topic for row, topic in zip(rows, topics, strict=True)},
            run=self.run,
        )

    def _shares(
        self,
        said: Mapping[str, bool],
        vector: Vector | None,
        rows: Sequence[MentionRow],
        topics: Sequence[str | None],
    ) -> list[tuple[str, float]]:
        """Return the topics of a document with their shares: those that were given to it, or else the vote.

        Args:
            said: Topic ► whether the document has it.
            topics: Of each row.
        """
        if given := given_topics(said):
            return given
        ids = self.named.ids
        voting = [
            (topic, row.score) for topic, row in zip(topics, rows, strict=True) if said.get(topic or "", True)
        ]
        numbers = [ids.index(topic) if topic else -1 for topic, _ in voting]
        shares = vote(numbers, [score for _, score in voting], self._own_topic(vector, said))
        return [(ids[at], share) for at, share in shares]

    def _own_topic(self, vector: Vector | None, said: Mapping[str, bool]) -> int | None:
        """Return the number of the topic that the document itself votes for; see `vote`.

        Args:
            said: Topic ► whether the document has it: without one, it votes for the next.
        """
        own = (
            None
            if vector is None
            else self.named.fit.own_topic(vector, [said.get(t, True) for t in self.named.ids])
        )
        if own is None or own.topic < 0:
            return None if own is None else own.topic
        return self.named.ids.index(self.named.ids[own.topic])  # several directions may be of one topic

    def _topics(self, vector: Vector | None, rows: Sequence[MentionRow]) -> list[str | None]:
        """Return the topic id of each row; None where no topic is similar enough."""
        if not rows or vector is None:
            return [None] * len(rows)
        assigned = self.named.fit.assign(np.stack([row.vector for row in rows]), vector)
        return [self.named.ids[t] if t >= 0 else None for t in assigned.topic]

    def final(self, mined: MinedDocument, document: Document, engine: Engine) -> MinedDocument:
        """Return what was mined with its topics and keyphrases, as if it had been written and read before."""
        vectors = np.stack([mined.vector, *(row.vector for row in mined.mentions)])
        if not (np.isfinite(vectors).all() and vectors.any(axis=1).all()):
            return mined  # the engine refuses it
        vector, *others = engine.as_stored(vectors)
        rows = [replace(row, vector=v) for row, v in zip(mined.mentions, others, strict=True)]
        rows.sort(key=lambda row: (-row.score, row.phrase_id))
        found = self.refinement(document, vector, rows)
        mentions = tuple(replace(row, topic=found.mention_topics[row.phrase_id]) for row in mined.mentions)
        return replace(mined, keyphrases=found.keyphrases, topics=found.topics, mentions=mentions)
