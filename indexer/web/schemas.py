"""What the API gives: the same names as ``--json`` on the command line. `indexer.web.bodies` has what it takes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field


class Place(BaseModel):
    """A character range of a field of the document."""

    field: Literal["title", "text"]
    start: int
    end: int


class Keyphrase(BaseModel):
    text: str
    score: float
    present: bool = Field(description="Whether it occurs in the text.")
    places: list[Place]


class TopicShare(BaseModel):
    id: str
    label: str
    weight: float


class TopicName(BaseModel):
    id: str
    label: str


class Topic(BaseModel):
    id: str
    label: str
    documents: int
    phrases: list[str]
    label_locked: bool
    parent: str | None = Field(description="Id of the topic above it; null at the top.")
    term: str | None = Field(
        description="Key of the term of your vocabulary that it is; null if it was mined."
    )
    mark: str | None = Field(description="By a user: pinned or hidden.")


class TopicNode(Topic):
    """A topic with those below it."""

    subtopics: list[TopicNode]


class GrowingTopic(Topic):
    """A topic, and its share of the newest documents beside its share of those before; null without dates."""

    since: str | None = Field(
        description="What counts as new: the last fifth of the dated documents, in whole years, months or days."
    )
    share_lately: float | None = Field(description="Of the newest documents, those with the topic.")
    share_before: float | None = Field(description="Of all others.")
    growth: float | None = Field(
        description="share_lately / share_before - 1; null where there are too few documents, or none before."
    )
    clear: bool | None = Field(description="The shares differ by more than chance would make of equal ones.")


class Fragment(BaseModel):
    field: str
    text: str
    marks: list[list[int]] = Field(description="Ranges of `text` that were found: start and end.")


class Near(BaseModel):
    phrase: str
    similarity: float | None = Field(description="Cosine; null when the search was by words alone.")


ORIGINAL = "Id of the original, if it is a near duplicate."


class DocumentHead(BaseModel):
    id: str
    title: str
    source: str
    meta: dict[str, Any]


class Document(DocumentHead):
    text: str
    topics: list[TopicShare]
    keyphrases: list[Keyphrase]
    duplicate_of: str | None = Field(description=ORIGINAL)
    duplicates: list[str] = Field(description="Ids of its near duplicates.")
    bundle: str = Field(description="The encoder that it was mined with; empty before that.")
    run: str


class SimilarDocument(DocumentHead):
    similarity: float


class Hit(DocumentHead):
    rank: int
    score: float
    topics: list[TopicShare]
    keyphrases: list[Keyphrase]
    duplicate_of: str | None = Field(None, description=ORIGINAL)
    fragments: list[Fragment]
    passage: str = Field(description="The sentence nearest to the query; empty when searched by words alone.")
    found_by: dict[str, int] = Field(description="Rank by words, by meaning, or both.")
    near: list[Near] | None = Field(None, description="Why it was found; with why=true.")


class FacetValue(BaseModel):
    value: str
    label: str
    documents: int


class Completion(BaseModel):
    kind: Literal["topic", "keyphrase", "title"]
    text: str
    id: str = Field(description="Of the topic or the document; empty for a keyphrase.")
    documents: int


Facets = dict[str, list[FacetValue]]


class SearchPage(BaseModel):
    """A page of documents."""

    query: str
    mode: str
    total: int = Field(description="Documents that match by words; without words, all under the filters.")
    listed: int | None = Field(
        description="Documents that all pages together list: those with the words, and up to 200 nearest. "
        "Null where there are too many to count."
    )
    has_more: bool = Field(description="Whether there is another page: ask for it with a larger `offset`.")
    relaxed: bool = Field(description="No document has all the words, so any of them was enough.")
    diverse: bool = Field(
        description="Documents that say something else come before those that say the same again."
    )
    close: bool = Field(
        description="False: only the nearest in meaning are listed, and none of them is close to the query."
    )
    corrections: dict[str, str] = Field(
        description="Words as typed that no document has, each with the word that was searched instead."
    )
    synonyms: dict[str, list[str]] = Field(
        description="Words as typed that have synonyms (setting `synonyms`), each with what was searched for it."
    )
    offset: int
    limit: int
    hits: list[Hit]
    facets: Facets
    facets_over: str


class FacetCounts(BaseModel):
    query: str
    facets: Facets


class Phrase(BaseModel):
    id: str
    phrase: str
    score: float
    documents: int
    surfaces: list[str]
    topics: list[TopicName]


class MentionedIn(BaseModel):
    id: str
    title: str


class Mention(BaseModel):
    phrase: str
    score: float
    sentence: str
    marks: list[tuple[int, int]] = Field(description="Spans of the phrase in the sentence.")
    document: MentionedIn
    topic: TopicName | None
    places: list[Place]


class NearPhrases(BaseModel):
    """Phrases alone, or mentions in their sentences where a text with a marked phrase was given."""

    phrases: list[Phrase]
    mentions: list[Mention]


class TopicEvent(BaseModel):
    at: datetime | None
    run: str
    kind: str
    old_id: str | None
    new_id: str | None
    score: float
    label: str
    by: str


class SignificantKeyphrase(BaseModel):
    keyphrase: str
    documents: int
    everywhere: int
    score: float


class WeightedHead(DocumentHead):
    weight: float


class NearTopic(TopicName):
    similarity: float


class TopicDetails(GrowingTopic):
    path: list[str] = Field(description="Ids of the topics above it, from the top down.")
    subtopics: list[Topic] = Field(description="Right below it; empty for a topic of documents.")
    became_too: list[str] = Field(
        description="Ids that a retired topic became besides, when it was asked for."
    )
    top_documents: list[WeightedHead]
    significant_keyphrases: list[SignificantKeyphrase] = Field(
        description="Keyphrases that are more frequent here than elsewhere."
    )
    history: list[TopicEvent]
    neighbours: list[NearTopic]


class Naming(BaseModel):
    model: str
    at: datetime
    shown: dict[str, Any] = Field(description="The data of the request: phrases, documents, other topics.")
    said: str
    name: str
    refused: str = Field(description="Why the topic does not have this name; empty when it was accepted.")


class WhyName(BaseModel):
    id: str
    label: str
    origin: Literal["user", "vocabulary", "model", "mined"]
    mined: str = Field(description="The name without a user and a language model.")
    phrases: list[str]
    naming: Naming | None = Field(
        description="Of the last request to a language model; null where none was asked."
    )


class TopicHistory(BaseModel):
    id: str
    label: str
    state: str
    successors: list[str]
    history: list[TopicEvent]


class Spot(BaseModel):
    id: str
    label: str
    documents: int
    x: float
    y: float
    radius: float
    group: int


class TopicMap(BaseModel):
    width: float
    height: float
    topics: list[Spot]


class Vote(BaseModel):
    phrase: str
    weight: float
    topic: str | None
    label: str | None
    similarity: float
    runner_up: str | None
    margin: float


class WeightedTopic(Topic):
    weight: float


class Term(BaseModel):
    key: str
    label: str
    synonyms: list[str]
    broader: str = Field(description="Key of the term above it, or empty.")
    definition: str
    topic: str
    field: str = Field(description="Of documents, whose values are terms; or empty.")
    documents: int


class Rising(BaseModel):
    label: str
    documents: list[str] = Field(description="Ids.")
    phrases: list[str] = Field(description="Best first.")


class Said(BaseModel):
    """What a user, or a field of the document, says of it and a topic."""

    id: str
    label: str
    belongs: bool


class Why(BaseModel):
    id: str
    title: str
    topics: list[WeightedTopic]
    runner_up: WeightedTopic | None
    votes: list[Vote]
    reach: float
    bundle: str
    fit: str
    whole: bool = Field(
        description="The document was placed as a whole: its phrases have no vote of their own."
    )
    said: list[Said]


class Period(BaseModel):
    name: str
    start: str
    end: str
    documents: int


class Timeline(BaseModel):
    field: str
    unit: str
    periods: list[Period]


class Task(BaseModel):
    """Work that was asked for."""

    id: str
    kind: str
    about: str = Field(
        description="The file, document or topics that it is done with; empty where the kind says all."
    )
    documents: list[str] = Field(
        description="Ids of the documents, at most 1,000; of an upload when it is done. Not in the list of tasks."
    )
    state: Literal["waiting", "running", "with workers", "done", "failed", "stopped"]
    stage: str
    done: int
    total: int | None
    result: dict[str, Any]
    error: str
    asked: datetime
    ended: datetime | None


class Run(BaseModel):
    id: str
    kind: str
    state: str
    started_at: datetime
    finished_at: datetime | None
    counts: dict[str, Any]
    error: str
    started_by: str


class DeadLetter(BaseModel):
    id: int = Field(description="By which it can be dismissed.")
    source: str
    where: str = Field(description="The source in words: an upload by its name.")
    stage: str
    reason: str
    document_id: str
    attempts: int
    first_at: datetime
    last_at: datetime


class Dismissed(BaseModel):
    dismissed: int = Field(description="How many dead letters there were.")


class Generation(BaseModel):
    number: int
    state: str
    bundle: str
    dims: int
    documents: int
    bytes: int
    created: datetime


class Status(BaseModel):
    collection: str
    engine: str
    documents: dict[str, int] = Field(description="By state: stored, mined, done.")
    without_topic: int
    phrases: int
    mentions: int
    topics: int
    bytes: int
    dead: dict[str, int] = Field(description="Dead letters by stage.")
    bundle: str
    drift: str
    worth_a_retrain: bool
    drifted: list[str] = Field(description="What is beyond its limit, so that a retrain is worth it.")
    writing: str = Field(description="The process that is writing now; empty if none is.")
    left_to_workers: int
    queues: dict[str, int | None]
    last_runs: list[Run]


class Health(BaseModel):
    status: Literal["ok"]
