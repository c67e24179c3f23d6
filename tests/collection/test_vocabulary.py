"""A vocabulary in a collection: terms are topics, and stay that."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_reports import SUBJECTS, made, opened, write

from indexer.catalog.vocabulary import Term
from indexer.engines.base import Filter
from indexer.errors import NotFound, QueryError

SPACE = Term("space", "Outer space", ("solar wind", "solar corona", "magnetic field"))
LAW = Term("law", "Taxes", ("tax law", "income tax", "tax court", "tax bill"))


@pytest.fixture
def reports(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(60))], topics=3)
        yield collection


def kinds(collection, topic):
    """The subjects of the documents that have a topic."""
    hits = collection.search("", filters=[Filter("topic", "=", topic)], limit=100).hits
    return {hit.stored.document.meta["kind"] for hit in hits}


def test_terms_cover_mined_topics_which_lead_to_them(reports):
    before = {topic.id: topic for topic in reports.topics()}
    mined = {kinds(reports, id_).pop(): id_ for id_ in before}
    reports.add_terms([SPACE, LAW])
    terms = {topic.term: topic for topic in reports.topics() if topic.term}
    assert {term: topic.label for term, topic in terms.items()} == {"space": "Outer space", "law": "Taxes"}
    assert kinds(reports, "Outer space") == {"space"}
    assert kinds(reports, "taxes") == {"law"}
    assert reports.topic_id(mined["space"]) == terms["space"].id
    assert reports.topic_id(mined["law"]) == terms["law"].id
    assert reports.topic_id(mined["sea"]) == mined["sea"]  # which no term covers
    assert {topic.id for topic in reports.topics()} == {mined["sea"], *(t.id for t in terms.values())}


def test_terms_stay_in_later_runs_refits_and_under_their_names(reports, tmp_path):
    reports.add_terms([SPACE, LAW])
    terms = {topic.id: topic.label for topic in reports.topics() if topic.term}
    reports.index([write(tmp_path / "b.jsonl", [{"id": "x", "text": SUBJECTS["law"], "kind": "law"}])])
    assert "x" in {
        h.stored.document.id
        for h in reports.search("", filters=[Filter("topic", "=", "Taxes")], limit=99).hits
    }
    reports.index([], refit=True)
    assert {topic.id: topic.label for topic in reports.topics() if topic.term} == terms
    reports.add_terms([Term("law", "Tax law", LAW.synonyms)])  # the same key: another name, the same topic
    (law,) = [topic for topic in reports.topics() if topic.term == "law"]
    assert (terms[law.id], law.label) == ("Taxes", "Tax law")
    with pytest.raises(QueryError, match="is a term of your vocabulary"):
        reports.rename_topic(law.id, "Other")
    other = next(topic for topic in reports.topics() if not topic.term)
    with pytest.raises(QueryError, match="only others can be merged into it"):
        reports.merge_topics(other.id, [law.id])


def test_what_is_no_longer_a_term_continues_as_a_mined_topic(reports):
    reports.add_terms([SPACE, LAW])
    ids = {topic.term: topic.id for topic in reports.topics()}
    reports.remove_terms(["outer space"])
    assert [term.key for term in reports.vocabulary()] == ["law"]
    assert kinds(reports, ids["space"]) == {"space"}
    topic = reports.topic_tree().by_id[ids["space"]]
    assert (topic.term, topic.label_locked, topic.label) != ("space", True, "Outer space")
    reports.remove_terms()
    assert {topic.term for topic in reports.topics()} == {""}
    with pytest.raises(NotFound, match="no term 'birds'"):
        reports.remove_terms(["birds"])


def test_a_broader_term_is_the_parent_of_its_narrower_ones(reports):
    reports.add_terms(
        [Term("world", "The world"), *(Term(t.key, t.label, t.synonyms, "world") for t in (SPACE, LAW))]
    )
    tree = reports.topic_tree()
    world = next(topic for topic in tree.topics if topic.label == "The world")
    assert {topic.term for topic in tree.subtopics(world.id)} == {"space", "law"}
    assert kinds(reports, world.id) == {"space", "law"}
    assert world.label_locked
    reports.index([], refit=True)
    assert reports.topic_tree().by_id[world.id].label == "The world"


def test_a_tree_of_terms_is_added_again_and_leaves_no_names_behind(reports):
    terms = [Term("earth", "On earth"), replace(LAW, broader="earth"),
             Term("sea", "Sea", ("deep sea fish", "ocean floor", "marine bacteria"), "earth")]  # fmt: skip
    reports.add_terms(terms, strict=True)
    reports.add_terms([*terms, SPACE], strict=True)  # which changes the tree
    (earth,) = reports.topic_tree().parents
    assert (earth.label, earth.term) == ("On earth", "earth")
    assert reports.why_name(earth.id).origin == "vocabulary"
    with pytest.raises(QueryError, match="is a term of your vocabulary"):
        reports.rename_topic(earth.id, "World")
    reports.remove_terms()
    assert not any(topic.label_locked for topic in reports.topic_tree().topics)
    reports.add_terms([LAW])  # under the name that it had
    assert "Taxes" in [topic.label for topic in reports.topics()]


def test_a_vocabulary_is_used_by_the_first_fit(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.add_terms([LAW])
        collection.index([write(tmp_path / "a.jsonl", made(30))], topics=3)
        assert kinds(collection, "Taxes") == {"law"}


def test_a_term_with_a_name_that_a_user_gave_to_a_topic_is_refused(reports):
    topic = reports.topics()[0]
    reports.rename_topic(topic.id, "taxes")
    with pytest.raises(QueryError, match="You have named a topic 'taxes' already") as caught:
        reports.add_terms([LAW])
    assert f"indexer topics rename {topic.id} --mined" in caught.value.command
    assert reports.vocabulary() == []


def test_a_run_that_was_killed_after_the_terms_were_saved_is_made_up_for(reports):
    reports.catalog.save_terms(reports.name, [LAW])
    assert reports.index([]).new_fit
    assert kinds(reports, "Taxes") == {"law"}
    assert not reports.index([]).new_fit


def test_a_strict_vocabulary_leaves_no_mined_topics(reports):
    reports.add_terms([SPACE, LAW], strict=True)
    assert {topic.term for topic in reports.topics()} == {"space", "law"}
    reports.index([], refit=True)
    assert {topic.term for topic in reports.topics()} == {"space", "law"}
    reports.add_terms([SPACE, LAW])
    assert {topic.term for topic in reports.topics()} == {"space", "law", ""}


def test_values_of_a_field_are_terms_that_documents_without_it_get_too(tmp_path):
    records = made(60)
    for record in records[40:]:
        del record["kind"]
    records[1]["kind"] = "sea"  # it is about law: its own field counts, not what it says
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", records)])
        collection.add_terms(collection.terms_of_field("kind"), strict=True)
        topics = {topic.id: topic.term for topic in collection.topics()}
        assert sorted(topics.values()) == sorted(SUBJECTS)
        terms = {s.document.id: [topics[w.topic_id] for w in s.topics] for s in collection.documents()}
        assert terms["d01"] == ["sea"]
        assert all(terms[r["id"]] == [r["kind"]] for r in records[:40])
        rest = {(tuple(terms[r["id"]]), list(SUBJECTS)[int(r["id"][1:]) % 3]) for r in records[40:]}
        assert {(term[0], kind) for term, kind in rest if term} == {(kind, kind) for kind in SUBJECTS}
        collection.index(
            [write(tmp_path / "b.jsonl", [{"id": "x", "text": SUBJECTS["law"], "kind": "SPACE"}])]
        )
        assert [topics[w.topic_id] for w in collection.document("x").topics] == ["space"]
        with pytest.raises(QueryError, match="colour"):
            collection.terms_of_field("colour")
        with pytest.raises(QueryError, match="is mined"):
            collection.terms_of_field("topic")


def test_a_broader_term_stays_with_a_single_narrower_one(reports):
    reports.add_terms([Term("sky", "Sky"), replace(SPACE, broader="sky"), LAW], strict=True)
    sky = next(topic for topic in reports.topic_tree().topics if topic.term == "sky")
    assert [topic.label for topic in reports.topic_tree().subtopics(sky.id)] == ["Outer space"]
    reports.index([], refit=True)
    assert reports.topic_tree().by_id[sky.id].size == 20
