"""Encoder, tagger and topic model given as objects or by dotted path, in place of those of the settings."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing

import pytest
from hash_encoder import HashEncoder, OtherEncoder
from small_parts import PlainPreparer
from small_reports import made, write

import indexer
from indexer.collection import Collection
from indexer.engines.registry import live_bundle, open_generations
from indexer.errors import BundleIncompatible, SettingsError
from indexer.readers.registry import FORMATS
from indexer.readers.single import Page
from indexer.topics.fits import live_fit
from indexer.topics.models.clusters import fit
from indexer.topics.models.registry import TOPIC_MODELS, TopicRequest, topic_model

PATH = "hash_encoder.HashEncoder"


def one_topic(sample, number):
    """A topic model of the user's own."""
    return fit(sample, 1)


@pytest.fixture
def source(tmp_path):
    return write(tmp_path / "docs.jsonl", made(6))


def test_the_package_exports_its_public_names():
    from indexer import Document, Filter

    assert indexer.Collection is Collection
    assert Document("d", "text").content == Filter("topic", "=", "text").value
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = indexer.Nothing


def test_importing_the_package_loads_no_heavy_library():
    heavy = ("numpy", "torch", "spacy", "celery", "pydantic", "sqlalchemy")
    code = f"import sys, indexer; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_objects_are_used_in_place_of_those_of_the_settings(tmp_path, source):
    encoder, tagger = HashEncoder(), PlainPreparer()
    parts = {"encoder": encoder, "tagger": tagger, "topic_model": one_topic}
    with Collection.open(home=tmp_path / "home", **parts) as collection:
        report = collection.index([source])
        assert (report.mined, report.topics, report.bundle) == (6, 1, HashEncoder.bundle)
        assert collection.encoder is encoder
        assert encoder.windows
        assert live_fit(collection.catalog, "main").model == "tests.collection.test_parts.one_topic"
        assert collection.index([source]).nothing_changed
        assert collection.index([source], topics="clusters:2").topics == 2
        assert live_bundle(collection.settings) == PATH


def test_a_collection_opens_later_with_the_recorded_class(tmp_path, source):
    with Collection.open(home=tmp_path / "home", encoder=HashEncoder(), tagger=PlainPreparer()) as collection:
        collection.index([source])
    with Collection.open(home=tmp_path / "home", encoder="my_package.Unused") as collection:
        assert collection.settings.bundle == PATH
        assert isinstance(collection.encoder, HashEncoder)
        assert collection.search("solar wind", mode="meaning").hits


def test_an_encoder_named_by_path_makes_a_new_collection(tmp_path, source, monkeypatch):
    monkeypatch.setenv("INDEXER_ENCODER", PATH)
    with Collection.open(home=tmp_path / "home", tagger=PlainPreparer()) as collection:
        collection.index([source])
        assert {stored.bundle for stored in collection.documents()} == {HashEncoder.bundle}
        assert live_bundle(collection.settings) == PATH


def test_another_encoder_than_that_of_the_collection_is_refused(tmp_path):
    with Collection.open(home=tmp_path / "home", encoder=HashEncoder()):
        pass
    with pytest.raises(
        BundleIncompatible, match=r"mined with the encoder 'hash_encoder.HashEncoder', not with"
    ):
        Collection.open(home=tmp_path / "home", encoder=OtherEncoder())


def test_a_given_encoder_and_its_ranker_are_of_its_own_generation_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("indexer.collection.base.POLL_INTERVAL_S", 0.0)
    encoder, theirs = HashEncoder(), object()
    encoder.ranker = object()
    monkeypatch.setattr(OtherEncoder, "ranker", theirs)
    with Collection.open(home=tmp_path / "home", encoder=encoder, tagger=PlainPreparer()) as collection:
        assert (collection.encoder, collection.ranker) == (encoder, encoder.ranker)
        with closing(open_generations(collection.settings)) as generations:
            generations.make(OtherEncoder.dims, bundle="hash_encoder.OtherEncoder").close()
            generations.switch(2)
        assert list(collection.documents()) == []  # sees that another one is live
        assert isinstance(collection.encoder, OtherEncoder)
        assert collection.ranker is theirs


def test_an_encoder_that_cannot_be_imported_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"'my_package.MyEncoder' cannot be imported"):
        Collection.open(home=tmp_path / "home", encoder="my_package.MyEncoder")
    with pytest.raises(SettingsError, match="it must be the dotted path of a class"):
        Collection.open(home=tmp_path / "home", encoder="MyEncoder")


def test_a_topic_model_can_be_named_by_path(tmp_path, source):
    with Collection.open(home=tmp_path / "home", encoder=HashEncoder(), tagger=PlainPreparer()) as collection:
        assert collection.index([source], topics="tests.collection.test_parts.one_topic").topics == 1
        assert collection.index([source]).nothing_changed
        assert live_fit(collection.catalog, "main").model == "tests.collection.test_parts.one_topic"


def test_topic_models_are_found_by_name_or_path():
    assert all(callable(topic_model(name)) for name in TOPIC_MODELS)
    assert TopicRequest.read("tests.collection.test_parts.one_topic:40") == TopicRequest(
        "tests.collection.test_parts.one_topic", 40
    )
    with pytest.raises(SettingsError, match=r"'my_package.none' cannot be imported"):
        TopicRequest.read("my_package.none:40")
    with pytest.raises(SettingsError, match=r"'tests.collection.test_parts.PATH' is not a function"):
        TopicRequest.read("tests.collection.test_parts.PATH")


class Tides:
    """A reader of the user's own."""

    SUFFIXES = ("tide",)

    @staticmethod
    def parse(file, options):
        return Page(f"The tides of {file.path.stem} move the sea ice.")


def test_a_reader_named_by_path_reads_its_files(tmp_path, monkeypatch):
    monkeypatch.delitem(FORMATS, "tide", raising=False)
    (tmp_path / "june.tide").touch()
    own = {"encoder": HashEncoder(), "tagger": PlainPreparer(), "reader": f"{__name__}.Tides"}
    with Collection.open(home=tmp_path / "home", **own) as collection:
        assert collection.index([tmp_path / "june.tide"]).mined == 1
        assert collection.search("tides of june").hits
    with pytest.raises(SettingsError, match=r"'my_readers.Rst' cannot be imported"):
        Collection.open(home=tmp_path / "home", reader="my_readers.Rst")
