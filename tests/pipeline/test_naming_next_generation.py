"""Names by a language model through a retrain and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from fake_model import FakeModel, fake_model, saying
from hash_encoder import HashEncoder, OtherEncoder
from small_reports import made, write

from indexer.collection import Collection
from indexer.engines.local.generations import LocalGenerations
from indexer.pipeline.next_generation import MiningOptions, NextGeneration
from indexer.text import Preparer
from indexer.topics.language_model import LanguageModel
from indexer.topics.models.registry import TopicRequest

NAMES = {
    "small": {
        "solar": "Weather of the solar wind",
        "tax": "Law of income tax",
        "sea": "Life in the deep sea",
    },
    "large": {"solar": "Wind of the corona", "tax": "Court of tax law", "sea": "Fish of the deep sea"},
}


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with fake_model() as found:
        found.says = lambda shown: name_by("small", shown["phrases"])
        yield found


def name_by(model: str, phrases) -> str:
    return saying(next(name for word, name in NAMES[model].items() if word in " ".join(phrases)))


def opened(tmp_path, fake: FakeModel, **parts) -> Collection:
    flags = {"naming_url": fake.url, "naming_model": "small"}
    return Collection.open(home=tmp_path / "home", tagger=Preparer(), **parts, **flags)


def retrain(collection: Collection, model: str = "small") -> None:
    options = MiningOptions(
        "hash_encoder.OtherEncoder",
        OtherEncoder.dims,
        OtherEncoder,
        taggers=0,
        language_model=LanguageModel(collection.settings.naming_url, model),
    )
    run = collection.catalog.start_run("main", "retrain", {})
    generations = LocalGenerations(collection.settings.collection_folder)
    with closing(NextGeneration(generations, collection.catalog, "main", run, options)) as following:
        following.take_over(following.build(TopicRequest(number=3)))
    collection.catalog.finish_run(run, "finished", {"verdict": "swapped"})


def labels(collection: Collection) -> dict[str, str]:
    return {topic.id: topic.label for topic in collection.topics()}


def test_a_retrain_asks_nothing_where_the_same_names_are_mined(tmp_path, fake):
    with opened(tmp_path, fake, encoder=HashEncoder()) as collection:
        collection.index([write(tmp_path / "a.jsonl", made(30))], topics=3)
        retrain(collection)
        assert len(fake.requests) == len({(n.topic, n.mined) for n in collection.catalog.namings("main")})


def origins(collection: Collection) -> set[str]:
    return {collection.why_name(topic.id).origin for topic in collection.topics()}


def test_names_are_those_of_the_live_generation_after_a_retrain_and_a_rollback(tmp_path, fake):
    with opened(tmp_path, fake, encoder=HashEncoder()) as collection:
        collection.index([write(tmp_path / "a.jsonl", made(30))], topics=3)
        before = labels(collection)
        assert origins(collection) == {"model"}
        fake.says = lambda shown: name_by("large", shown["phrases"])
        retrain(collection, model="large")
    with opened(tmp_path, fake) as changed:
        assert changed.settings.bundle == "hash_encoder.OtherEncoder"
        assert set(labels(changed).values()) == set(NAMES["large"].values())
        assert {changed.why_name(id_).naming.model for id_ in before} == {"large"}
        assert {topic.id: topic.label for topic in changed.catalog.topics("main")} == labels(changed)
        assert origins(changed) == {"model"}
        sea = changed.topic_id(NAMES["large"]["sea"])
        changed.rollback()
    with opened(tmp_path, fake, encoder=HashEncoder()) as back:
        assert labels(back) == before
        assert {topic.id: topic.label for topic in back.catalog.topics("main")} == before
        assert {back.why_name(id_).naming.model for id_ in before} == {"small"}
        back.unname_topic(sea)
        back.rollback(2)
        back.rollback(1)
        assert back.topic_tree().by_id[sea].label == back.why_name(sea).mined
        assert labels(back) == before | {sea: back.why_name(sea).mined}
