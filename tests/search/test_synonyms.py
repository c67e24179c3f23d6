"""The user's own file of synonyms, in the format of Solr."""

import os

import pytest

from indexer.errors import SettingsError
from indexer.search.synonyms import Synonyms, synonyms_of

LINES = """
# vehicles
car, automobile, motor vehicle
tv => television
e-mail, email
laptop, notebook\\, portable
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "synonyms.txt"
    path.write_text(LINES, "utf-8")
    return path


@pytest.mark.parametrize(
    ("query", "searched", "used"),
    [
        ("car tax", 'car|automobile|"motor vehicle" tax', ["car"]),
        ("Motor Vehicle tax", '"motor vehicle"|car|automobile tax', ["Motor Vehicle"]),
        ("tax on +car", 'tax on +car|automobile|"motor vehicle"', ["car"]),
        ("a TV set", "a television set", ["TV"]),
        ("E-mail", '"e-mail"|email', ["E-mail"]),
        ("laptop", 'laptop|"notebook, portable"', ["laptop"]),
        ("cars, motor and vehicle", "cars, motor and vehicle", []),
        ('"car" -car car* car|bus bus|car', '"car" -car car* car|bus bus|car', []),
        ("tax, car?", 'tax, car|automobile|"motor vehicle"?', ["car"]),
        ("", "", []),
    ],
)
def test_words_are_searched_with_their_synonyms(file, query, searched, used):
    found = synonyms_of(str(file)).applied(query)
    assert (found[0], list(found[1])) == (searched, used)


def test_without_a_file_there_are_none():
    assert synonyms_of("").applied("car") == ("car", {}) == Synonyms().applied("car")


def test_rules_of_one_term_add_up_and_a_changed_file_is_read_again(file):
    file.write_text("car, automobile\ncar, coach\n", "utf-8")
    assert synonyms_of(str(file)).applied("car")[0] == "car|automobile|coach"
    file.write_text("car, bus\n", "utf-8")
    os.utime(file, ns=(1, 1))
    assert synonyms_of(str(file)).applied("car")[0] == "car|bus"


@pytest.mark.parametrize("later", [b"lonely\n", b"\xff\xfe\xfd", None])
def test_a_file_that_can_no_longer_be_read_leaves_the_synonyms_as_they_were(file, later):
    before = synonyms_of(str(file))
    if later is None:
        file.unlink()
    else:
        file.write_bytes(later)
        os.utime(file, ns=(1, 1))
    assert synonyms_of(str(file)) == before


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("car, automobile\nlonely\n", "line 2: 'lonely' has no synonym"),
        ("a => b => c\n", "line 1: a line has one arrow"),
        ("car, , bus\n", "line 1: '' has no letter or digit"),
        ("one two three four five six, few\n", "line 1: .* more than 5 words"),
        (", ".join(f"w{number}" for number in range(60)), "'w0' has 60 synonyms; at most 50"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path, lines, said):
    path = tmp_path / "wrong.txt"
    path.write_text(lines, "utf-8")
    with pytest.raises(SettingsError, match=said):
        synonyms_of(str(path))


def test_a_missing_or_large_file_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"gone\.txt cannot be read: .*No such file"):
        synonyms_of(str(tmp_path / "gone.txt"))
    large = tmp_path / "large.txt"
    large.write_bytes(bytes(10_000_001))
    with pytest.raises(SettingsError, match="10,000,001 bytes"):
        synonyms_of(str(large))
