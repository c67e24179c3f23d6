"""indexer index, plan and retry."""

from __future__ import annotations

import json

import pytest

from indexer.engines.local import LocalEngine
from indexer.errors import NotFound


@pytest.fixture
def bad(tmp_path, corpus, write):
    """A file with three good lines and two bad ones."""
    path = write(tmp_path / "bad.jsonl", [{**record, "id": f"b{record['id']}"} for record in corpus(3)])
    path.write_text(path.read_text() + '{"id": "b"}\nnot json\n')
    return path


def test_index_says_what_it_did(run, home, tmp_path, corpus, write):
    write(tmp_path / "docs.jsonl", corpus(6))
    result = run("index", "docs.jsonl", "--topics", "2", home=home)
    assert (result.exit_code, result.stderr) == (0, "")
    first, second, third = result.stdout.splitlines()
    assert first == "6 documents read: 6 new, 0 changed, 0 unchanged, 0 deleted, 0 failed"
    assert second.startswith("6 documents mined in ")
    assert third == "2 topics found"


def test_index_again_changes_nothing(run, home, tmp_path, corpus, write):
    write(tmp_path / "docs.jsonl", corpus(6))
    run("index", "docs.jsonl", home=home)
    assert run("index", "docs.jsonl", home=home).stdout == "nothing changed\n"
    as_json = json.loads(run("index", "docs.jsonl", "--json", home=home).stdout)
    assert as_json["nothing_changed"] is True
    assert (as_json["read"], as_json["unchanged"]) == (6, 6)


def test_a_collection_goes_on_with_its_encoder_and_says_so(run, home, tmp_path, corpus, write):
    write(tmp_path / "docs.jsonl", corpus(6))
    assert run("index", "docs.jsonl", "--bundle", "minilm-phrases", home=home).stderr == ""
    again = run("index", "docs.jsonl", "--bundle", "minilm-base", home=home)
    assert again.exit_code == 0
    assert "Collection 'main' keeps its encoder 'minilm-phrases'" in again.stderr


def test_the_command_to_type_next_does_not_name_the_bundle_that_there_is_not(
    run, home, tmp_path, write, corpus
):
    write(tmp_path / "docs.jsonl", corpus(2))
    refused = run("index", "docs.jsonl", "--bundle", "nobody", home=home)
    assert "There is no bundle 'nobody'" in refused.stderr
    assert "models list" in refused.stderr
    assert "--bundle" not in refused.stderr


def test_index_reports_changed_and_deleted_documents(run, home, tmp_path, corpus, write):
    records = corpus(6)
    source = write(tmp_path / "docs.jsonl", records)
    run("index", source, home=home)
    records[0]["text"] = "Now about volcanoes. Lava is hot."
    write(source, records[:5])
    shown = run("index", source, "--delete-missing", home=home).stdout
    assert shown.startswith("5 documents read: 0 new, 1 changed, 4 unchanged, 1 deleted, 0 failed\n")


def test_what_an_interrupted_run_had_mined_is_finished_and_said(
    run, home, tmp_path, corpus, write, monkeypatch
):
    def killed(*_):
        raise KeyboardInterrupt

    write(tmp_path / "docs.jsonl", corpus(6))
    with monkeypatch.context() as patch:
        patch.setattr(LocalEngine, "refine", killed)
        run("index", "docs.jsonl", "--topics", "2", home=home)
    shown = run("index", "docs.jsonl", "--topics", "2", home=home).stdout
    assert shown == (
        "6 documents read: 0 new, 0 changed, 6 unchanged, 0 deleted, 0 failed\n"
        "6 documents of an earlier run finished\n"
        "2 topics found\n"
    )
    assert run("index", "docs.jsonl", home=home).stdout == "nothing changed\n"


def test_texts_without_a_phrase_are_no_error(run, home, tmp_path, write):
    write(tmp_path / "docs.jsonl", [{"id": "a", "text": "And so on."}])
    assert "1 document mined" in run("index", "docs.jsonl", home=home).stdout


STRANGER = (
    "A sourdough starter needs rye flour. The oven spring depends on the dough hydration of the loaf {}."
)


@pytest.mark.slow
def test_documents_that_no_topic_reaches_are_a_warning_with_the_way_out(run, home, tmp_path, corpus, write):
    run("index", write(tmp_path / "docs.jsonl", corpus(60)), "--topics", "3", home=home)
    strangers = [{"id": f"s{i}", "text": STRANGER.format(i)} for i in range(12)]
    shown = run("index", write(tmp_path / "few.jsonl", strangers[:2]), home=home)
    assert shown.stderr == ""  # two may be strange
    shown = run("index", write(tmp_path / "many.jsonl", strangers[2:]), home=home)
    assert shown.stderr == (
        "Note: Rising: Dough hydration. See: indexer topics rising\n"  # of all twelve
        "Warning: 10 documents got no topic: they are not similar to any. "
        f"Find topics again: indexer --home {home} topics refit\n"
    )
    assert "topics found\n" in run("topics", "refit", home=home).stdout


def test_problems_go_to_stderr_with_file_and_line(run, home, bad):
    result = run("index", "bad.jsonl", home=home)
    assert result.exit_code == 0
    assert result.stdout.startswith("3 documents read: 3 new, 0 changed, 0 unchanged, 0 deleted, 2 failed\n")
    second, third, warning = result.stderr.splitlines()
    assert second.startswith("bad.jsonl:4: no text.")
    assert third.startswith("bad.jsonl:5: not valid JSON")
    assert warning == (
        f"Warning: 2 problems. See them: indexer --home {home} status --dead. Try them again: indexer --home {home} retry"
    )


def test_strict_makes_problems_an_error(run, home, bad):
    assert run("index", bad, "--strict", home=home).exit_code == 1


def test_json_of_index_is_the_report_and_problems_still_go_to_stderr(run, home, bad):
    result = run("index", bad, "--json", home=home)
    report = json.loads(result.stdout)
    assert (report["read"], report["new"], report["failed"]) == (3, 3, 2)
    assert len(report["problems"]) == 2
    assert set(report) >= {
        "run",
        "changed",
        "unchanged",
        "deleted",
        "mined",
        "topics",
        "new_fit",
        "seconds",
        "stages",
    }
    assert "Warning: 2 problems" in result.stderr


def test_index_reads_standard_input(run, home, corpus):
    lines = "".join(json.dumps(record) + "\n" for record in corpus(3))
    result = run("index", "-", home=home, input=lines)
    assert result.stdout.startswith("3 documents read: 3 new")


def test_index_takes_the_names_of_fields(run, home, tmp_path):
    (tmp_path / "r.csv").write_text("nr;what;review\n1;Pump;The pump is loud.\n")
    options = ("--text-field", "review", "--title-field", "what", "--id-field", "nr", "--delimiter", ";")
    assert run("index", "r.csv", *options, home=home).exit_code == 0
    shown = json.loads(run("show", "1", "--json", home=home).stdout)
    assert (shown["title"], shown["text"]) == ("Pump", "The pump is loud.")


def test_files_of_unknown_types_are_a_note_and_no_problem(run, home, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("Wind turbines. Solar panels. Heat pumps.")
    (tmp_path / "notes" / "b.png").write_bytes(b"\x89PNG")
    result = run("index", "notes", "--strict", home=home)
    assert result.exit_code == 0
    assert result.stderr == "Note: notes/b.png: 1 file of unknown type left out: .png (1).\n"


def test_a_wrong_delimiter_is_a_mistake_in_typing(run, home, bad):
    result = run("index", bad, "--delimiter", "::", home=home)
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_source_that_is_not_there_writes_nothing(run, home):
    result = run("index", "nowhere.jsonl", home=home)
    assert result.exit_code == 2
    assert "nowhere.jsonl" in result.stderr
    assert not home.exists()


class NoCollectionYet:
    """A server that answers, and has no collection; the rest is tested with a real one."""

    def __init__(self, monkeypatch):
        def none(settings, dims, *, create):
            assert not create
            raise NotFound(
                "There is no collection 'main' at http://search:9200.", hint="Make one: indexer index SOURCE"
            )

        monkeypatch.setattr("indexer.runs.bundle_files.live_bundle", lambda settings: "")
        monkeypatch.setattr("indexer.runs.bundle_files.open_engine", none)


def test_plan_before_the_first_run_on_a_server(run, home, tmp_path, corpus, write, monkeypatch):
    NoCollectionYet(monkeypatch)
    source = write(tmp_path / "docs.jsonl", corpus(6))
    result = run("plan", source, "--engine", "http://search:9200", home=home)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("6 documents: 6 new, 0 changed, 0 unchanged\n")
    assert not home.exists()


def test_commands_in_hints_have_the_options_that_led_there(run, home, monkeypatch):
    NoCollectionYet(monkeypatch)
    result = run("topics", "--engine", "http://me:secret@search:9200", "--collection", "mine", home=home)
    assert result.stderr.splitlines()[1] == (
        f"Make one: indexer --home {home} --engine 'http://me:***@search:9200' --collection mine index SOURCE"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Error: --no-wait leaves the mining to workers, and no broker is set."),
        (["--no-workers"], "Error: --no-wait leaves the mining to workers, and --no-workers does it here."),
    ],
)
def test_not_waiting_without_workers_is_an_error(run, home, tmp_path, corpus, write, options, said):
    result = run("index", write(tmp_path / "docs.jsonl", corpus(6)), "--no-wait", *options, home=home)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not home.exists()


# -- retry --------------------------------------------------------------------------------------------------


def test_what_fails_again_counts_its_tries(run, home, bad):
    run("index", "bad.jsonl", home=home)
    for tries in (2, 3):
        assert "2 problems" in run("retry", home=home).stderr
        letters = json.loads(run("status", "--dead", "--json", home=home).stdout)
        assert [letter["attempts"] for letter in letters] == [tries, tries]


def test_retry_does_what_was_mended(run, home, bad):
    run("index", bad, home=home)
    bad.write_text(bad.read_text().replace('{"id": "b"}\nnot json', '{"id": "b", "text": "Mended now."}'))
    result = run("retry", home=home)
    assert result.exit_code == 0
    assert result.stdout.startswith("4 documents read: 1 new, 0 changed, 3 unchanged")
    assert run("status", "--dead", home=home).stdout == "no dead letters\n"


def test_retry_of_nothing_changes_nothing(read):
    assert read("retry").stdout == "nothing changed\n"


def test_dead_letters_are_dropped_by_number_by_stage_or_all(run, home, bad):
    run("index", bad, home=home)
    first, _ = json.loads(run("status", "--dead", "--json", home=home).stdout)
    assert f"{first['id']}" in run("status", "--dead", home=home).stdout
    assert run("retry", "--drop", first["id"], home=home).stdout == "1 dead letter dropped\n"
    unknown = run("retry", "--drop", first["id"], home=home)
    assert (unknown.exit_code, "no dead letter" in unknown.stderr) == (2, True)
    assert run("retry", "--drop", "encode", home=home).stdout == "0 dead letters dropped\n"
    assert json.loads(run("retry", "--drop", "all", "--json", home=home).stdout) == {"dismissed": 1}
    assert run("status", "--dead", home=home).stdout == "no dead letters\n"
    run("index", bad, home=home)
    assert len(json.loads(run("status", "--dead", "--json", home=home).stdout)) == 2


def test_documents_are_deleted(run, home, bad):
    run("index", bad, home=home)
    there = [hit["id"] for hit in json.loads(run("search", "", "--json", home=home).stdout)["hits"]]
    assert run("delete", there[0], home=home).stdout.startswith("0 documents read: 0 new")
    assert run("show", there[0], home=home).exit_code == 1
    missing = run("delete", there[0], home=home)
    assert (missing.exit_code, missing.stderr.startswith("Error: There is no document")) == (1, True)


# -- plan ---------------------------------------------------------------------------------------------------


def test_plan_tells_and_writes_nothing(run, home, tmp_path, bad, corpus, write):
    write(tmp_path / "docs.jsonl", corpus(6))
    result = run("plan", "docs.jsonl", "bad.jsonl", home=home)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "9 documents: 9 new, 0 changed, 0 unchanged",
        "2 problems in reading",
        "about 0.3 MB more on disk, time unknown before a first run",
        "nothing was written",
    ]
    assert result.stderr.startswith("bad.jsonl:4: no text.")
    assert not home.exists()


def test_plan_knows_what_is_there_already(run, home, tmp_path, corpus, write):
    records = corpus(6)
    source = write(tmp_path / "docs.jsonl", records)
    run("index", source, home=home)
    records[0]["text"] = "Now about volcanoes."
    write(source, records[:5])
    plan = json.loads(run("plan", source, "--json", home=home).stdout)
    assert {name: plan[name] for name in ("documents", "new", "changed", "unchanged", "missing")} == {
        "documents": 5, "new": 0, "changed": 1, "unchanged": 4, "missing": 1,
    }  # fmt: skip


def test_plan_of_standard_input(run, home, corpus):
    lines = "".join(json.dumps(record) + "\n" for record in corpus(3))
    assert run("plan", "-", home=home, input=lines).stdout.startswith("3 documents: 3 new")


def test_topics_that_cannot_be_found_so_are_refused_before_any_work(run, home, tmp_path, corpus, write):
    write(tmp_path / "docs.jsonl", corpus(6))
    result = run("index", "docs.jsonl", "--topics", "magic:40", home=home)
    assert result.exit_code == 2
    assert "The requested topics are 'magic:40'" in result.stderr
    assert not home.exists()


def test_a_folder_without_documents_is_named_with_the_suffixes_that_are_read(run, home, tmp_path):
    (tmp_path / "empty").mkdir()
    text = run("index", "empty", home=home).stdout
    assert text.startswith("No readable document was found in empty. These files are read: .jsonl, ")
    assert ".docx" in text
