"""Files of vocabularies: what may be in them."""

from __future__ import annotations

import pytest

from indexer.catalog.vocabulary import Term
from indexer.errors import InputError
from indexer.topics.vocabulary_files import read_vocabulary


def written(tmp_path, text):
    path = tmp_path / "terms.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_terms_are_read_with_their_synonyms_and_broader_terms(tmp_path):
    path = written(
        tmp_path,
        "\ufeffKey,Label,Synonyms,Broader,Definition\n"
        'a1,Animals,,,"What lives, and moves"\n'
        ",Dogs, hound ; puppy;,animals,\n"
        ',"Cats, all",,a1,\n',
    )
    assert read_vocabulary(path) == [
        Term("a1", "Animals", (), "", "What lives, and moves"),
        Term("Dogs", "Dogs", ("hound", "puppy"), "a1", ""),
        Term("Cats, all", "Cats, all", (), "a1", ""),
    ]
    assert Term("k", "Dogs", ("hound",), definition="It barks.").text == "Dogs, hound. It barks."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("name\nDogs\n", ":1: the columns must be label, synonyms, broader, definition, key"),
        ("label,colour\nDogs,red\n", ":1: the columns must be"),
        ("", ":1: the columns must be"),
        ("label,broader\nDogs,Animals\n", ":2: the broader term 'Animals' is not among the terms"),
        ("label,broader\nDogs,Cats\nCats,Dogs\n", ":2: 'Dogs' is above itself"),
        ("label\nDogs\n  dogs \n", ":3: 'dogs' is in the vocabulary twice"),
        ("label,synonyms\nDogs\n", ":2: the line has more or fewer columns"),
        ("label,synonyms\nDogs,a,b\n", ":2: the line has more or fewer columns"),
        ("label,synonyms\n...,dog\n", ":2: the label is empty"),
        ("label\n" + "d" * 201 + "\n", ":2: a name has 201 characters"),
        ("label,definition\nDogs," + "d" * 2001 + "\n", ":2: the definition has more than 2,000"),
        ("label\n" + "".join(f"t{n}\n" for n in range(2001)), "2,001 terms"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path, text, found):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_vocabulary(path)
    assert str(caught.value).startswith(str(path))
    assert found in str(caught.value)


def test_a_file_that_is_no_text_or_too_large_is_refused(tmp_path):
    path = tmp_path / "terms.csv"
    path.write_bytes(b"label\n\xff\xfe\n")
    with pytest.raises(InputError, match="not a CSV file in UTF-8"):
        read_vocabulary(path)
    path.write_bytes(b"label\n" + b"x" * (5 << 20))
    with pytest.raises(InputError, match="at most 5 MB"):
        read_vocabulary(path)


TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <http://example.org/> .
:life a skos:Concept ; skos:prefLabel "Leben"@de, "Life"@en ; skos:narrower :dogs .
:dogs a skos:Concept ; skos:prefLabel "Dogs"@en-GB ; skos:altLabel "hounds"@en, "Hunde"@de, "curs"@en ;
    skos:definition "They bark; mostly." .
:cats a skos:Concept ; skos:prefLabel "Katzen"@de ; skos:broader :life, :elsewhere .
:dodos a skos:Concept ; skos:prefLabel "Dodos"@en ; owl:deprecated true .
"""


def test_concepts_of_skos_are_terms_with_english_names_where_there_are_any(tmp_path):
    path = tmp_path / "animals.ttl"
    path.write_text(TURTLE, encoding="utf-8")
    life, dogs, cats = (f"http://example.org/{name}" for name in ("life", "dogs", "cats"))
    assert sorted(read_vocabulary(path), key=lambda term: term.label) == [
        Term(dogs, "Dogs", ("curs", "hounds"), life, "They bark; mostly."),
        Term(cats, "Katzen", (), life),
        Term(life, "Life"),
    ]


def test_an_rdf_file_is_read_and_asks_for_no_other(tmp_path):
    """An entity that expands to a gigabyte and one that names another file are refused or left out."""
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    head = '<?xml version="1.0"?>\n'
    body = (
        '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://www.w3.org/2004/02/skos/core#">'
        '<Concept r:about="http://example.org/d"><prefLabel xml:lang="en">Dogs%s</prefLabel></Concept></r:RDF>'
    )
    path = tmp_path / "terms.rdf"
    path.write_text(head + body % "", encoding="utf-8")
    assert read_vocabulary(path) == [Term("http://example.org/d", "Dogs")]
    many = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    path.write_text(f'{head}<!DOCTYPE r [<!ENTITY e0 "x">{many}]>{body % "&e9;"}', encoding="utf-8")
    with pytest.raises(InputError, match="not SKOS"):
        read_vocabulary(path)
    path.write_text(
        f'{head}<!DOCTYPE r [<!ENTITY e SYSTEM "file://{tmp_path}/secret">]>{body % "&e;"}', encoding="utf-8"
    )
    assert "secret" not in str(read_vocabulary(path))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no turtle", "not SKOS: "),
        ("@prefix : <http://example.org/> .", "there is no concept in it"),
        (
            TURTLE + ':more a skos:Concept ; skos:prefLabel "dogs" .',
            "more: 'dogs' is in the vocabulary twice",
        ),
        (TURTLE + ":more a skos:Concept .", "http://example.org/more: the label is empty"),
        (TURTLE + ":life skos:broader :dogs .", "is above itself"),
    ],
)
def test_wrong_skos_is_refused_with_its_concept(tmp_path, text, found):
    path = tmp_path / "terms.ttl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_vocabulary(path)
    assert str(caught.value).startswith(str(path))
    assert found in str(caught.value)
