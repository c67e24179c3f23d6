"""The engine is chosen by the scheme of its URL."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from indexer.engines import registry
from indexer.engines.local import LocalEngine
from indexer.errors import NotFound, SettingsError
from indexer.settings import Settings


@pytest.fixture
def settings(tmp_path):
    return lambda engine="local": Settings(home=tmp_path, engine=engine)


def test_every_engine_defines_a_factory():
    for module in registry.ENGINES.values():
        package = import_module(module)
        assert all(callable(getattr(package, name)) for name in ("open_engine", "open_generations", "exists"))


def test_the_embedded_engine_is_opened_and_seen(settings):
    local = settings()
    assert not registry.exists(local)
    with pytest.raises(NotFound, match="There is no collection 'main'"):
        registry.open_engine(local, 8, create=False)
    engine = registry.open_engine(local, 8)
    assert isinstance(engine, LocalEngine)
    engine.close()
    assert registry.exists(local)
    assert registry.live_bundle(local) == local.bundle


def test_the_scheme_decides(settings):
    assert registry.is_elasticsearch(settings("http://host:9200"))
    assert registry.is_elasticsearch(settings("https://host:9200"))
    assert not registry.is_elasticsearch(settings())
    assert registry.exists(settings("http://host:9200"))  # sends nothing


def test_an_unknown_scheme_names_the_known_ones_and_no_password(settings):
    with pytest.raises(SettingsError, match=r"no engine 'ftp'; the schemes are local, http, https") as caught:
        registry.open_engine(settings("ftp://me:secret@host"), 8)
    assert "secret" not in str(caught.value)


def test_another_engine_needs_one_line(settings, monkeypatch):
    class Package:
        exists = staticmethod(lambda settings: settings.engine == "memory://shared")

    monkeypatch.setitem(sys.modules, "memory_engine", Package)
    monkeypatch.setitem(registry.ENGINES, "memory", "memory_engine")
    assert registry.exists(settings("memory://shared"))
