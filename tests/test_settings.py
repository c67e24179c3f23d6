from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from indexer.errors import SettingsError
from indexer.settings import Settings, load_settings

PAGE = Path(__file__).parent.parent / "docs" / "settings.md"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder and an environment without our names."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("INDEXER_"):
            monkeypatch.delenv(name)
    return tmp_path


def test_without_anything_the_defaults_hold(folder: Path) -> None:
    settings = load_settings()
    assert (settings.engine, settings.collection, settings.home) == ("local", "main", Path(".indexer"))
    assert settings.database == f"sqlite:///{folder}/.indexer/catalog.sqlite"


def test_the_nearer_source_wins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "indexer.toml").write_text('collection = "file"\nbundle = "file"\nthreads = 1\n')
    monkeypatch.setenv("INDEXER_COLLECTION", "environment")
    monkeypatch.setenv("INDEXER_BUNDLE", "environment")
    settings = load_settings(collection="flag", bundle=None)
    assert (settings.collection, settings.bundle, settings.threads) == ("flag", "environment", 1)
    assert settings.keyphrases == 10


def test_an_empty_value_in_the_environment_counts_as_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDEXER_THREADS", "")
    assert load_settings().threads == 0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "engine",
            "localhost:9200",
            "INDEXER_ENGINE is 'localhost:9200'; it must be 'local' or the URL of a server, such as http://localhost:9200.",
        ),
        ("threads", "-1", "INDEXER_THREADS is '-1'; it must be a whole number from 0."),
        ("threads", "many", "INDEXER_THREADS is 'many'; it must be a whole number from 0."),
        ("backend", "cuda", "INDEXER_BACKEND is 'cuda'; it must be one of auto, torch-fp32,"),
        ("collection", "a b", "INDEXER_COLLECTION is 'a b'; it must have 1 to 64 letters,"),
        ("collection", "-x", "INDEXER_COLLECTION is '-x'; it must have 1 to 64 letters,"),
        ("database", "catalog.sqlite", "INDEXER_DATABASE is 'catalog.sqlite'; it must begin with sqlite:///"),
        ("broker", "localhost", "INDEXER_BROKER is 'localhost'; it must be empty or a URL such as redis://"),
        ("retrain_at", "2pm", "INDEXER_RETRAIN_AT is '2pm'; it must be empty or a time such as 02:15."),
        ("retrain_budget", "soon", "INDEXER_RETRAIN_BUDGET is 'soon'; it must be a time such as 90s,"),
        ("log_level", "loud", "INDEXER_LOG_LEVEL is 'loud'; it must be one of debug,"),
    ],
)
def test_a_bad_value_in_the_environment_is_explained(
    name: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"INDEXER_{name.upper()}", value)
    with pytest.raises(SettingsError, match=re.escape(message)):
        load_settings()


def test_a_bad_value_names_the_place_it_came_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "indexer.toml").write_text("threads = -4")
    with pytest.raises(SettingsError, match=r"^indexer\.toml: 'threads' is -4; it must be a whole number"):
        load_settings()
    with pytest.raises(SettingsError, match=r"^The option 'threads' is 2\.5; it must be a whole number"):
        load_settings(threads=2.5)
    monkeypatch.setenv("INDEXER_KEYPHRASES", "x")
    with pytest.raises(SettingsError, match=r"threads.*INDEXER_KEYPHRASES is 'x'"):
        load_settings()


def test_an_unknown_key_in_the_file_names_the_nearest(folder: Path) -> None:
    (folder / "indexer.toml").write_text('colection = "x"')
    with pytest.raises(SettingsError, match=r"indexer\.toml: 'colection' .* Did you mean 'collection'\?"):
        load_settings()


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"'qqq' is not a setting\.$") as caught:
        load_settings(qqq=1)
    assert "Known settings: home, engine" in caught.value.hint


def test_an_unknown_name_in_the_environment_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not an error: Kubernetes sets such names for a service called "indexer"."""
    monkeypatch.setenv("INDEXER_ENGIN", "http://x:9200")
    monkeypatch.setenv("INDEXER_TEST_POSTGRES", "x")
    assert load_settings().engine == "local"
    (line,) = capsys.readouterr().err.splitlines()
    assert "environment_name_unknown name=INDEXER_ENGIN did_you_mean=INDEXER_ENGINE" in line


def test_a_file_that_is_not_toml_is_explained(folder: Path) -> None:
    (folder / "indexer.toml").write_text("engine = local")
    with pytest.raises(SettingsError, match=r"indexer\.toml is not valid TOML: .*line 1"):
        load_settings()


def test_the_file_can_be_elsewhere_and_its_home_counts_from_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "indexer.toml").write_text('collection = "here"')
    (folder / "etc").mkdir()
    (folder / "etc" / "other.toml").write_text('home = "data"')
    monkeypatch.setenv("INDEXER_CONFIG", str(folder / "etc" / "other.toml"))
    settings = load_settings()
    assert (settings.home, settings.collection) == (folder / "etc" / "data", "main")
    assert settings.database == f"sqlite:///{folder}/etc/data/catalog.sqlite"


def test_a_named_file_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDEXER_CONFIG", "missing.toml")
    with pytest.raises(SettingsError, match=r"INDEXER_CONFIG is 'missing\.toml'; there is no such file\."):
        load_settings()


def test_a_home_may_begin_with_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert load_settings(home="~/indexer").home == Path("/home/me/indexer")


@pytest.mark.parametrize("given", ["./mine", "~/mine", "{folder}/mine"])
def test_the_folder_of_a_bundle_counts_from_the_root(
    given: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    assert load_settings(bundle=given.format(folder=folder)).bundle == f"{folder}/mine"
    assert load_settings(bundle="mine").bundle == "mine"


def test_limits_are_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "indexer.toml").write_text("gate_churn = 0.6\ndrift_growth = 0.5\n")
    monkeypatch.setenv("INDEXER_GATE_GAIN", "0.02")
    settings = load_settings()
    assert (settings.gate.churn, settings.gate.gain, settings.gate.speed) == (0.6, 0.02, 0.8)
    assert (settings.drift.growth, settings.drift.fewest) == (0.5, 0.02)
    monkeypatch.setenv("INDEXER_GATE_GAIN", "-1")
    with pytest.raises(SettingsError, match="INDEXER_GATE_GAIN is '-1'; it must be a number from 0"):
        load_settings()


def test_old_names_of_settings_still_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "indexer.toml").write_text("gate_gold = 0.5\n")
    monkeypatch.setenv("INDEXER_GATE_LIKENESS", "0.4")
    settings = load_settings()
    assert (settings.gate_ground_truth, settings.gate.similarity) == (0.5, 0.4)
    assert load_settings(gate_gold=0.1).gate.ground_truth == 0.1
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("INDEXER_GATE_LIKENESS", "much")
    with pytest.raises(SettingsError, match="INDEXER_GATE_LIKENESS is 'much'; it must be a number from 0"):
        load_settings()


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().engine = "local"


def test_passwords_show_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(
        engine="https://elastic:secret@host:9200",
        database="postgresql+psycopg://me:secret@host/db",
        broker="redis://:secret@host/0",
    )
    assert "secret" in settings.engine
    for text in (repr(settings), str(settings), str(settings.shown()), f"{settings}"):
        assert "secret" not in text
        assert "https://elastic:***@host:9200" in text
    monkeypatch.setenv("INDEXER_ENGINE", "FTP://me:secret@host")
    with pytest.raises(SettingsError, match=r"FTP://me:\*\*\*@host") as caught:
        load_settings()
    assert "secret" not in str(caught.value)


def test_the_page_lists_every_setting_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `INDEXER_(\w+)` \| (.*?) \| (.*?) \|$", PAGE.read_text("utf-8"), re.M)
    documented = {name: (variable, default, about) for name, variable, default, about in rows}
    assert list(documented) == list(Settings.model_fields)
    for name, field in Settings.model_fields.items():
        default = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
        shown = f"`{default}`" if default else "empty"
        assert documented[name] == (name.upper(), shown, field.description)
