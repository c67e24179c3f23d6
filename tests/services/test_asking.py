"""Finding what servers need on this machine, and saying so when it is not there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from services.asking import asked_for, missing
from services.distribution import Version, unpacked
from services.java import find_jdk


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """Only JDKs in the temporary folder count, and services are not required."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("REQUIRE_SERVICES", raising=False)
    monkeypatch.setattr("services.java.PLACES", (str(tmp_path / "*"),))


def jdk(folder, version, *, compiler=True):
    (folder / "bin").mkdir(parents=True)
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    if compiler:
        (folder / "bin" / "javac").touch()
    return folder


def test_the_newest_jdk_in_the_range_is_taken(tmp_path):
    for name, version in {"a": "11.0.2", "b": "17.0.9", "c": "21", "d": "25.0.1"}.items():
        jdk(tmp_path / name, version)
    jdk(tmp_path / "runtime", "24", compiler=False)
    assert find_jdk(17, 24) == tmp_path / "c"
    assert find_jdk(21, 25) == tmp_path / "d"
    assert find_jdk(26, 30) is None


def test_java_home_wins_when_it_fits(tmp_path, monkeypatch):
    newest, chosen = jdk(tmp_path / "new", "21"), jdk(tmp_path / "other" / "chosen", "17")
    monkeypatch.setenv("JAVA_HOME", str(chosen))
    assert find_jdk(17, 24) == chosen
    assert find_jdk(21, 25) == newest


def test_without_java_the_test_is_skipped_with_what_to_type():
    with pytest.raises(pytest.skip.Exception, match=r"apt-get install openjdk-21-jdk-headless.*_9=http"):
        unpacked(Version("9.2.4", 21, 25))


@pytest.mark.parametrize(
    ("expression", "value", "asked"),
    [
        ("", None, False),
        ("live", None, True),
        ("not slow and live", None, True),
        ("", "1", True),
        ("", "0", False),
    ],
)
def test_who_asks_for_servers(monkeypatch, expression, value, asked):
    if value is not None:
        monkeypatch.setenv("REQUIRE_SERVICES", value)
    config = SimpleNamespace(option=SimpleNamespace(markexpr=expression))
    assert asked_for(config) is asked


def test_where_services_are_required_a_missing_one_is_a_failure(monkeypatch):
    monkeypatch.setenv("REQUIRE_SERVICES", "1")
    with pytest.raises(pytest.fail.Exception, match=r"a service is missing\. Install it\."):
        missing("Install it.")
