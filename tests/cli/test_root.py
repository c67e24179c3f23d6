"""The root command: help that starts at once, shared options, errors in two lines, Ctrl-C, closed pipes."""

from __future__ import annotations

import ast
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from indexer.cli.app import SECTIONS, App

ROOT = Path(__file__).parents[2]
CLI = ROOT / "indexer" / "cli"
HEAVY = {
    "torch", "spacy", "celery", "transformers", "numpy", "scipy", "sklearn", "sqlalchemy", "pydantic", "rich",
    "structlog", "onnxruntime", "tokenizers", "elasticsearch",
}  # fmt: skip
LIST = [sys.executable, "-m", "indexer.cli", "--help"]
INSIDE = {"progress.py", "opened.py"}  # imported inside commands only


def test_help_starts_at_once():
    """Processor time, so that a busy machine is no error; the best of three."""
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(LIST, cwd=ROOT, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) < 0.3


@pytest.mark.parametrize("args", [["--help"], ["index", "--help"], ["topics", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(args):
    code = (
        "import sys; from indexer.cli import main; main(sys.argv[1:], standalone_mode=False); "
        f"print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stderr.strip() == "[]"


LIGHT = ("trainer.base.options.", "trainer.registry.")  # options of recipes: the help is made from them
SHARED = [
    CLI.parent / "export" / name for name in ("serialize.py", "formatting.py")
]  # the page has them too; they keep the same rule
FILES = [*sorted(path for path in CLI.rglob("*.py") if path.name not in INSIDE), *SHARED]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CLI.parent)))
def test_modules_of_commands_import_only_click_at_the_top(path):
    tops = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            tops |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            tops |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = {
        name
        for name in tops
        if name.startswith(("indexer.export.serialize", "indexer.export.formatting.", "indexer.cli.", *LIGHT))
    }
    assert {name.split(".")[0] for name in tops - ours} - set(sys.stdlib_module_names) <= {"click"}


def test_the_list_of_commands_has_a_sentence_for_each(run):
    shown = run("--help").stdout
    for commands in SECTIONS.values():
        for name in commands:
            line = next(line for line in shown.splitlines() if line.split()[:1] == [name])
            assert line.endswith("."), f"too long for one line: {line}"
            assert not line.endswith("..."), f"too long for one line: {line}"


def test_a_mistyped_command_names_the_nearest(run):
    result = run("serach", "x")
    assert result.exit_code == 2
    assert "No such command 'serach'. Did you mean 'search'?" in result.stderr


def test_version(run):
    assert run("--version").stdout.startswith("indexer 0.")


def test_shared_options_stand_before_or_after_the_command(run, indexed):
    before = run("--home", indexed, "topics", "list", "--json").stdout
    after = run("topics", "list", "--json", "--home", indexed).stdout
    between = run("topics", "--home", indexed, "list", "--json").stdout
    assert before == after == between != ""


def test_the_nearer_option_wins(run, indexed, tmp_path):
    assert run("--home", tmp_path / "nothing", "topics", "--home", indexed).exit_code == 0


def test_settings_come_from_the_environment_too(run, indexed, monkeypatch):
    monkeypatch.setenv("INDEXER_HOME", str(indexed))
    assert run("topics").exit_code == 0


def test_an_error_is_two_lines_on_stderr(run, tmp_path):
    result = run("status", home=tmp_path / "nothing")
    assert result.exit_code == 1
    assert result.stdout == ""
    what, hint = result.stderr.splitlines()
    assert what == f"Error: There is no collection 'main' in {tmp_path / 'nothing'}."
    assert hint.startswith(f"Make one: indexer --home {tmp_path / 'nothing'} index SOURCE.")


@pytest.mark.parametrize(
    "args",
    [
        ("--backend", "abacus", "status"),
        ("status", "--collection", "not/a name"),
        ("search", "x", "--where", "nonsense"),
        ("search", "x", "--mode", "magic"),
        ("index",),
        ("index", "no_such_file.jsonl"),
    ],
)
def test_what_was_typed_wrong_exits_with_2(read, args):
    result = read(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: " in result.stderr


def test_traceback_shows_where_an_error_arose(run, tmp_path):
    from indexer.errors import NotFound

    with pytest.raises(NotFound):
        run("status", "--traceback", home=tmp_path / "nothing")


def test_reading_commands_make_nothing(run, tmp_path):
    for args in (("search", "x"), ("topics",), ("status",), ("show", "x"), ("phrases", "x")):
        assert run(*args, home=tmp_path / "nothing").exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_says_that_the_same_command_goes_on(run, home, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("indexer.collection.Collection.index", interrupted)
    (tmp_path / "a.txt").write_text("text")
    result = run("index", "a.txt", home=home)
    assert result.exit_code == 130
    assert result.stderr.strip() == "Stopped. Written data is kept; the same command resumes."


def test_a_run_that_was_stopped_by_hand_is_interrupted_and_can_go_on(
    run, home, tmp_path, corpus, write, monkeypatch
):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    write(tmp_path / "docs.jsonl", corpus(6))
    with monkeypatch.context() as patch:
        patch.setattr("indexer.pipeline.steps.encode_documents", interrupted)
        assert run("index", "docs.jsonl", home=home).exit_code == 130
    assert "interrupted" in run("status", home=home).stdout
    shown = run("index", "docs.jsonl", home=home).stdout
    assert "6 unchanged" in shown
    assert "6 documents mined" in shown


def test_ctrl_c_in_a_search_is_just_the_end(read, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("indexer.collection.Collection.search", interrupted)
    result = read("search", "x")
    assert (result.exit_code, result.stderr.strip()) == (130, "Stopped.")


def test_a_reader_that_has_gone_is_no_error():
    command = f"{sys.executable} -m indexer.cli index --help | head -c 1"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("U", "")


def test_colours_only_where_they_are_seen(read, monkeypatch):
    assert "\x1b[" not in read("search", "robot").output
    assert "\x1b[" in read("search", "robot", color=True).output
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in read("search", "robot", color=True).output


@pytest.mark.parametrize(
    ("words", "number", "offered"),
    [
        ("indexer se", 1, {"search"}),
        ("indexer topics ", 2, {"list", "show", "why"}),
        ("indexer index --str", 2, {"--strict"}),
    ],
)
def test_completion(words, number, offered, monkeypatch, run):
    monkeypatch.setenv("_INDEXER_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(number))
    shown = run(complete_var="_INDEXER_COMPLETE").stdout
    assert offered <= {line.split(",")[1] for line in shown.splitlines()}


def test_a_command_to_type_next_has_no_password():
    app = App()
    app.flags["engine"] = "https://me:secret@host:9200"
    assert app.again("status").endswith(" --engine 'https://me:***@host:9200' status")


def test_a_hint_with_the_path_of_the_program_gets_no_second_one(monkeypatch):
    import click

    from indexer.cli import main

    monkeypatch.setattr(sys, "argv", [str(Path.cwd() / "bin" / "indexer")])
    monkeypatch.setenv("PATH", "")
    with click.Context(main):
        assert App().completed("See: bin/indexer status. Try: indexer retry") == (
            "See: bin/indexer status. Try: bin/indexer retry"
        )
