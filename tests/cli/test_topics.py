"""indexer topics."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil

import pytest
from fake_model import fake_model, saying

from indexer.collection import Collection

NO_MODEL = """Error: INDEXER_NAMING_URL is set, but INDEXER_NAMING_MODEL is empty.
Name the model that is to name topics, or unset INDEXER_NAMING_URL.
"""


@pytest.fixture
def own(indexed, home):
    """A copy of the indexed home, to change."""
    shutil.copytree(indexed, home)
    return home


def as_json(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_topics_alone_lists_them(read):
    assert read("topics").stdout == read("topics", "list").stdout
    assert read("topics", "--json").stdout == read("topics", "list", "--json").stdout
    head, *rows = read("topics").stdout.splitlines()
    assert re.fullmatch(r"id +documents +growth since \d+ +label +other phrases", head)
    assert [row[:7] for row in rows] == ["t-00000"] * 3  # a line each
    whole = read("topics", "--phrases", "--limit", "2").stdout.splitlines()
    assert sum(row.startswith("t-00000") for row in whole) == 2
    assert whole[0].endswith("leading phrases")
    assert as_json(read("topics", "--limit", "2", "--json")) == as_json(read("topics", "--json"))[:2]


def test_topics_as_json_are_largest_first(read):
    topics = as_json(read("topics", "--json"))
    growth = {"since", "share_lately", "share_before", "growth", "clear"}
    assert [set(topic) for topic in topics] == [
        {"id", "label", "documents", "phrases", "label_locked", "parent", "term", "mark", *growth}
    ] * 3
    sizes = [topic["documents"] for topic in topics]
    assert sizes == sorted(sizes, reverse=True)


def test_a_collection_without_topics(run, home, tmp_path):
    (tmp_path / "a.txt").write_text("...")
    run("index", "a.txt", home=home)
    assert run("topics", home=home).stdout == "no topics yet\n"


@pytest.mark.parametrize("by", ["id", "number", "label"])
def test_show_by_id_number_or_label(read, by):
    topic = as_json(read("topics", "--json"))[0]
    name = {"id": topic["id"], "number": str(int(topic["id"][2:])), "label": topic["label"].upper()}[by]
    details = as_json(read("topics", "show", name, "--documents", "2", "--json"))
    assert details["id"] == topic["id"]
    assert len(details["top_documents"]) == 2
    assert details["history"][0]["kind"] == "born"
    shown = read("topics", "show", name).stdout
    assert "found for the first time" in shown
    special = details["significant_keyphrases"][0]
    assert set(special) == {"keyphrase", "documents", "everywhere", "score"}
    assert f"{special['documents']} of {special['everywhere']}" in shown.split("significant keyphrases")[1]
    assert details["top_documents"][0]["title"] in " ".join(shown.split())


def test_why_lists_the_votes(read):
    found = as_json(read("topics", "why", "d00", "--json"))
    assert found["topics"][0]["weight"] > 0
    assert sum(vote["weight"] for vote in found["votes"]) == pytest.approx(1, abs=0.01)
    shown = read("topics", "why", "d00").stdout
    assert shown.startswith("document   On robot arm and motion planning\ntopics ")
    assert f"topics of run {found['fit']}" in shown
    assert "votes for" in shown


def test_where_documents_were_clustered_nothing_votes(run, own):
    assert run("topics", "refit", "--topics", "documents:3", home=own).exit_code == 0
    assert as_json(run("topics", "why", "d00", "--json", home=own))["whole"]
    shown = run("topics", "why", "d00", home=own).stdout
    assert "decided by" in shown
    assert "the text as a whole" in shown
    assert "vote" not in shown


def test_rename_keeps_the_id(run, own):
    topic = as_json(run("topics", "--json", home=own))[0]
    result = run("topics", "rename", topic["id"], "Better  name", home=own)
    assert result.stdout == f"{topic['id']} is now 'Better name' (was '{topic['label']}')\n"
    assert run("topics", "rename", topic["id"], "Better name", home=own).stdout == "nothing changed\n"
    renamed = as_json(run("topics", "show", "better name", "--json", home=own))
    assert (renamed["id"], renamed["label_locked"]) == (topic["id"], True)


def test_a_name_is_taken_back(run, own):
    topic = as_json(run("topics", "--json", home=own))[0]
    run("topics", "rename", topic["id"], "By hand", home=own)
    result = run("topics", "rename", topic["id"], "--mined", home=own)
    assert result.stdout == f"{topic['id']} is now '{topic['label']}' (was 'By hand')\n"
    assert "Give either a LABEL" in run("topics", "rename", topic["id"], home=own).stderr


def test_why_name_of_a_mined_name_and_of_one_that_a_user_gave(run, own):
    topic = as_json(run("topics", "--json", home=own))[0]
    found = as_json(run("topics", "why-name", topic["id"], "--json", home=own))
    assert (found["origin"], found["label"], found["mined"]) == ("mined", topic["label"], topic["label"])
    assert (found["naming"], found["phrases"]) == (None, topic["phrases"])
    run("topics", "rename", topic["id"], "By hand", home=own)
    printed = run("topics", "why-name", "by hand", home=own).stdout
    assert re.search(r"named by +a user\nmined name +" + re.escape(topic["label"]), printed)
    assert "model" not in printed


def test_why_name_of_a_name_by_a_language_model(run, own, monkeypatch):
    names = iter(["Robot <b>arms</b>", "Ocean\u202ewaves"])
    with fake_model() as fake:
        fake.says = lambda shown: saying(next(names, shown["phrases"][1].upper()))
        monkeypatch.setenv("INDEXER_NAMING_URL", fake.url)
        refused = run("topics", "refit", home=own)
        assert (refused.exit_code, refused.stderr) == (2, NO_MODEL)
        monkeypatch.setenv("INDEXER_NAMING_MODEL", "small")
        monkeypatch.setenv("INDEXER_NAMING_KEY", "sk-very-secret")
        assert run("topics", "refit", "--topics", "clusters:3", home=own).exit_code == 0
        for command in (("status",), ("doctor",), ("status", "--json")):
            result = run(*command, home=own)
            assert "sk-very-secret" not in result.stdout + result.stderr
    found = [as_json(run("topics", "why-name", topic["id"], "--json", home=own))
             for topic in as_json(run("topics", "--json", home=own))]  # fmt: skip
    assert len(found) == len(fake.requests) == 3
    refusals = sorted(one["naming"]["refused"] for one in found)
    assert refusals[-2:] == ["it has characters that no name needs"] * 2
    named = next(one for one in found if one["origin"] == "model")
    assert named["label"] == named["naming"]["name"] == named["phrases"][1].upper()
    printed = run("topics", "why-name", named["id"], home=own).stdout
    assert re.search(r"named by +a language model", printed)
    assert re.search(r"verdict +accepted\n", printed)
    hostile = next(one for one in found if "202e" in ascii(one["naming"]["said"]))
    printed = run("topics", "why-name", hostile["id"], home=own).stdout
    assert re.search(r"verdict +refused: it has characters that no name needs\n", printed)
    assert "\u202e" not in printed
    result = run("topics", "rename", named["id"], "--mined", home=own)
    assert result.stdout == f"{named['id']} is now '{named['mined']}' (was '{named['label']}')\n"
    assert "a user has restored the mined name" in run("topics", "why-name", named["id"], home=own).stdout


def test_a_tree_is_printed_and_its_parents_are_named_and_moved_to(run, own, tmp_path):
    assert run("topics", "refit", "--levels", "2,3", home=own).exit_code == 0
    rows = as_json(run("topics", "--json", home=own))
    (parent,) = [row for row in rows if row["id"] in {other["parent"] for other in rows}]
    below = [row for row in rows if row["parent"] == parent["id"]]
    printed = run("topics", home=own).stdout
    assert all(f"  {row['label']}" in printed for row in below)
    assert len(as_json(run("topics", "list", "--limit", "9", "--json", home=own))) == 3
    shown = run("topics", "show", parent["id"], home=own).stdout
    assert f"{below[0]['id']} '{below[0]['label']}'" in shown
    assert f"({parent['id']})" in run("topics", "show", below[0]["id"], home=own).stdout
    result = run("topics", "rename", parent["id"], "Both", home=own)
    assert result.stdout == f"{parent['id']} is now 'Both' (was '{parent['label']}')\n"
    single = next(row for row in rows if row["parent"] is None and row["id"] != parent["id"])
    assert f"is below {parent['id']} 'Both'" in run("topics", "move", single["id"], "both", home=own).stdout
    assert "is at the top" in run("topics", "move", single["id"], home=own).stdout
    refused = run("topics", "move", parent["id"], single["id"], home=own)
    assert (refused.exit_code, "has no subtopics" in refused.stderr) == (2, True)


def test_a_vocabulary_is_added_listed_and_removed(run, own, tmp_path):
    file = tmp_path / "terms.csv"
    file.write_text("label,synonyms\nRobotics,robot arm; mobile robot; motion planning\n", encoding="utf-8")
    assert "found" in run("topics", "vocabulary", "add", str(file), home=own).stdout
    (term,) = as_json(run("topics", "vocabulary", "list", "--json", home=own))
    assert (term["label"], term["synonyms"][0], term["key"]) == ("Robotics", "robot arm", "Robotics")
    assert term["documents"] > 0
    assert [row["term"] for row in as_json(run("topics", "--json", home=own)) if row["term"]] == ["Robotics"]
    listed, new = run("topics", "vocabulary", home=own).stdout.split("new: not in your vocabulary")
    assert "Robotics" in listed
    mined = [topic["label"] for topic in as_json(run("topics", "--json", home=own)) if not topic["term"]]
    assert mined
    assert all(label in new for label in mined)
    file.write_text("name\nRobotics\n", encoding="utf-8")
    refused = run("topics", "vocabulary", "add", str(file), home=own)
    assert f"{file}:1: the columns must be" in refused.stderr
    assert run("topics", "vocabulary", "remove", home=own).exit_code == 2
    assert run("topics", "vocabulary", "remove", "robotics", home=own).exit_code == 0
    assert run("topics", "vocabulary", home=own).stdout == "no terms\n"


def test_documents_are_given_to_topics_and_taken_away(run, own):
    first, second, _ = as_json(run("topics", "--json", home=own))
    shown = as_json(run("topics", "show", first["id"], "--json", home=own))
    document = shown["top_documents"][0]["id"]
    assert run("topics", "correct", second["label"], document, home=own).exit_code == 0
    why = as_json(run("topics", "why", document, "--json", home=own))
    assert [topic["id"] for topic in why["topics"]] == [second["id"]]
    assert f"given  {second['label']}" in " ".join(
        run("topics", "why", document, home=own).stdout.split(" " * 5)
    )
    assert run("topics", "correct", first["id"], document, "--not", home=own).exit_code == 0
    rows = as_json(run("topics", "corrections", "--json", home=own))
    assert {(row["topic"], row["belongs"]) for row in rows} == {(first["id"], False), (second["id"], True)}
    label = as_json(run("topics", "show", first["id"], "--json", home=own))[
        "label"
    ]  # fitted again, and named by it
    assert f"is not  {label}" in run("topics", "corrections", home=own).stdout
    for topic in (first, second):
        assert run("topics", "correct", topic["id"], document, "--undo", home=own).exit_code == 0
    assert run("topics", "corrections", home=own).stdout == "no corrections\n"
    assert first["id"] in [
        t["id"] for t in as_json(run("topics", "why", document, "--json", home=own))["topics"]
    ]
    assert run("topics", "correct", "1", document, "--not", "--undo", home=own).exit_code == 2


def test_what_is_rising_is_listed_and_made_a_topic(run, own, tmp_path):
    assert run("topics", "rising", home=own).stdout == "nothing is rising\n"
    missing = run("topics", "rising", "--add", "1", home=own)
    assert (missing.exit_code, "There is no rising topic 1; 0 are known." in missing.stderr) == (1, True)
    text = "In bakery {} a sourdough starter needs rye flour, and the oven spring depends on the dough hydration."
    file = tmp_path / "bread.jsonl"
    file.write_text("".join(json.dumps({"id": f"b{i}", "text": text.format(i)}) + "\n" for i in range(18)))
    assert "Rising: " in run("index", str(file), home=own).stderr
    (row,) = as_json(run("topics", "rising", "--json", home=own))
    assert sorted(row["documents"]) == sorted(f"b{i}" for i in range(18))
    assert row["label"] in run("topics", "rising", home=own).stdout
    assert f"{row['label']}: 18 documents" in run("topics", "rising", "--add", "1", home=own).stdout
    assert row["label"] in [topic["label"] for topic in as_json(run("topics", "--json", home=own))]


def test_a_topic_is_split(run, own):
    first, *others = as_json(run("topics", "--json", home=own))
    parts = as_json(run("topics", "split", first["id"], "--json", home=own))
    assert [len(parts), parts[0]["id"]] == [2, first["id"]]
    rows = as_json(run("topics", "--json", home=own))
    assert {row["id"] for row in rows} == {
        *(part["id"] for part in parts),
        *(other["id"] for other in others),
    }
    assert run("topics", "split", "no such topic", home=own).exit_code == 1


def test_a_field_names_the_terms(run, own):
    assert run("topics", "vocabulary", "add", home=own).exit_code == 2
    refused = run("topics", "vocabulary", "add", "--from-field", "colour", home=own)
    assert (refused.exit_code, "colour" in refused.stderr) == (2, True)


def test_two_topics_cannot_have_one_name(run, own):
    first, second, _ = as_json(run("topics", "--json", home=own))
    result = run("topics", "rename", first["id"], second["label"], home=own)
    assert result.exit_code == 2
    assert f"Merge them: indexer --home {own} topics merge" in result.stderr


def test_merge_leaves_one_and_the_old_id_leads_to_it(run, own):
    into, other, _ = as_json(run("topics", "--json", home=own))
    merged = as_json(run("topics", "merge", into["id"], other["id"], "--json", home=own))
    assert merged["id"] == into["id"]
    assert merged["changed"] == other["documents"]
    assert len(as_json(run("topics", "--json", home=own))) == 2
    assert as_json(run("topics", "show", other["id"], "--json", home=own))["id"] == into["id"]
    assert "merged into it by a user" in run("topics", "show", into["id"], home=own).stdout
    undone = as_json(run("topics", "undo", "--json", home=own))
    assert (undone["act"], undone["of"]) == ("merge", [into["id"], other["id"]])
    assert {topic["id"]: topic["documents"] for topic in undone["topics"]} == {
        topic["id"]: topic["documents"] for topic in (into, other)
    }
    nothing = run("topics", "undo", home=own)
    assert (nothing.exit_code, nothing.stderr.partition("\n")[0]) == (1, "Error: There is nothing to undo.")


def test_a_refit_is_told_in_the_runs(run, own):
    run("topics", "refit", "--topics", "2", home=own)
    assert "2 topics found" in run("status", home=own).stdout


def test_refit_finds_topics_anew(run, own):
    result = run("topics", "refit", "--topics", "2", home=own)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "2 topics found"


def test_export_of_topics(read):
    as_csv = list(csv.DictReader(io.StringIO(read("topics", "export", "--format", "csv").stdout)))
    topics = as_json(read("topics", "export"))
    assert topics == as_json(read("topics", "--json"))
    assert [row["id"] for row in as_csv] == [topic["id"] for topic in topics]
    assert as_csv[0]["phrases"] == "; ".join(topics[0]["phrases"])


def test_export_of_documents_to_a_file(read, tmp_path):
    result = read("topics", "export", "--documents", "--format", "csv", "--output", "out.csv")
    assert (result.exit_code, result.stdout) == (0, "")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text("utf-8-sig"))))
    assert set(rows[0]) == {"document", "title", "topic", "label", "weight"}
    assert {row["document"] for row in rows} == {f"d{i:02d}" for i in range(21)}
    assert rows == [
        {**row, "weight": str(row["weight"])} for row in as_json(read("topics", "export", "--documents"))
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_export_to_a_place_that_is_not_there(read):
    result = read("topics", "export", "--output", "no/such/folder.json")
    assert result.exit_code == 1
    assert "cannot be written" in result.stderr


def test_topics_are_pinned_and_hidden(run, own):
    first, second, third = as_json(run("topics", "--json", home=own))
    said = run("topics", "pin", third["id"], home=own).stdout
    assert said == f"{third['id']} '{third['label']}' is pinned\n"
    run("topics", "hide", first["id"], home=own)
    assert [one["id"] for one in as_json(run("topics", "--json", home=own))] == [third["id"], second["id"]]
    listed = run("topics", home=own).stdout
    assert f"{third['label']} (pinned)" in listed
    assert listed.endswith("1 hidden topic: indexer topics list --hidden\n")
    assert f"{first['label']} (hidden)" in run("topics", "list", "--hidden", home=own).stdout
    assert "by a user  hidden" in run("topics", "show", first["id"], home=own).stdout
    run("topics", "hide", first["id"], "--undo", home=own)
    run("topics", "pin", third["id"], "--undo", home=own)
    assert [one["id"] for one in as_json(run("topics", "--json", home=own))] == [
        one["id"] for one in (first, second, third)
    ]


def test_topics_without_documents_are_named_and_retired(run, own):
    first, *others = as_json(run("topics", "--json", home=own))
    with Collection.open(home=own, create=False) as collection:
        ids = [
            stored.document.id
            for stored in collection.documents()
            if stored.topics[0].topic_id == first["id"]
        ]
    run("delete", *ids, home=own)
    assert run("topics", home=own).stdout.endswith(
        f"without documents: indexer topics retire {first['id']}\n"
    )
    said = run("topics", "retire", first["id"], home=own).stdout
    assert said == "1 topic retired, 0 documents changed\n"
    left = run("topics", home=own).stdout
    assert first["id"] not in left
    assert all(other["id"] in left for other in others)
    assert as_json(run("topics", "undo", "--json", home=own))["act"] == "retire"
