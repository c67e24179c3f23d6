"""What requests to the API bring. `indexer.web.schemas` has what it answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from indexer.catalog.vocabulary import MAX_TERMS
from indexer.topics.vocabulary_files import MAX_DEFINITION, MAX_NAME

TopicName = Annotated[str, Field(min_length=1, max_length=200, description="Id, number or label.")]


def _one_message(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """One sentence, in place of one for each kind that a value could be of."""
    try:
        return check(value)
    except ValidationError:
        kinds = "text, a number, true, false, null or a list of texts"
        raise PydanticCustomError("kind", f"Input should be {kinds}") from None


Meta = Annotated[str | int | float | bool | list[str] | None, WrapValidator(_one_message)]


class Taken(BaseModel):
    """A body; what is unknown in it is refused."""

    model_config = ConfigDict(extra="forbid")


class Text(Taken):
    """A text that is looked at, and not kept."""

    title: Annotated[str, Field(max_length=1_000)] = ""
    text: Annotated[str, Field(min_length=1, max_length=100_000)]
    limit: Annotated[int, Field(ge=1, le=100)] = 10


class NewDocument(Taken):
    """A document to be indexed. With the id of one that is there, it replaces that."""

    id: Annotated[
        str, Field(min_length=1, max_length=512, description="Printable; without one, made of the text.")
    ] = ""
    title: Annotated[str, Field(max_length=10_000)] = ""
    text: Annotated[str, Field(min_length=1)]
    meta: dict[Annotated[str, Field(min_length=1, max_length=200)], Meta] = {}


def _not_blank(name: str) -> str:
    if not name.strip():
        raise PydanticCustomError("blank", "A name should not be empty")
    return name


class TopicChange(Taken):
    """A new label, a mark, or both."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    label: Annotated[str, Field(max_length=200), AfterValidator(_not_blank)] | None = None
    mark: Literal["", "pinned", "hidden"] | None = Field(None, description="An empty one removes it.")

    @model_validator(mode="after")
    def _of_something(self) -> TopicChange:
        if self.label is None and self.mark is None:
            raise PydanticCustomError("nothing", "Give a label, a mark, or both")
        return self


class Merge(Taken):
    into: Annotated[
        str, Field(min_length=1, max_length=200, description="Id, number or label; it keeps id and name.")
    ]


class Split(Taken):
    parts: Annotated[int, Field(ge=2, le=10)] = 2


class Move(Taken):
    parent: TopicName | None = Field(None, description="null: to the top.")


class AddRising(Taken):
    numbers: list[Annotated[int, Field(ge=1, le=1_000)]] = Field(
        [], max_length=100, description="Of the list of rising topics, from 1; empty: all."
    )


class NewTerm(Taken):
    """A term of the user's own vocabulary."""

    label: Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
    synonyms: list[Annotated[str, Field(max_length=MAX_NAME)]] = Field([], max_length=100)
    broader: Annotated[str, Field(max_length=1_000, description="Label or key of the term above it.")] = ""
    definition: Annotated[str, Field(max_length=MAX_DEFINITION)] = ""
    key: Annotated[str, Field(max_length=1_000, description="One with a known key is replaced.")] = ""


class NewTerms(Taken):
    terms: Annotated[list[NewTerm], Field(min_length=1, max_length=MAX_TERMS)]
    strict: bool = Field(False, description="Have no mined topics beside the terms.")


class Correct(Taken):
    ids: list[Annotated[str, Field(max_length=512)]] = Field(min_length=1, max_length=1_000)
    belongs: bool | None = Field(True, description="null forgets what was said.")


class Retrain(Taken):
    if_drifted: bool = Field(
        False, description="Only if new documents are unlike the old ones, or very many."
    )
    method: Literal["pairs", "ccl", "both"] = "both"
    budget: Annotated[float, Field(ge=0, le=86_400)] = Field(
        0.0, description="Seconds; 0 is without a limit."
    )
    dry_run: bool = Field(False, description="Train and judge; build and change nothing.")
