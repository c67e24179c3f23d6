"""docs/commands.md is written from the help, and every command has help, examples and described options."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from tools.command_reference import PAGE, commands, reference

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = {context.command_path.removeprefix("indexer "): context for context in commands()}


def help_of(name):
    return COMMANDS[name].command.get_help(COMMANDS[name])


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == reference(), "Write it again: make docs"


def test_every_command_is_on_the_page_once():
    assert re.findall(r"^### indexer (.+)$", reference(), re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_sentence_examples_and_described_options(name):
    text = help_of(name)
    assert text.startswith(f"Usage: indexer {name} ")
    assert re.search(r"\n  [A-Z][^\n]+", text)
    assert re.search(rf"\n  Examples?:\n    (\S.* \| )?indexer {name.split()[0]}", text)
    options = [
        option
        for option in COMMANDS[name].command.params
        if isinstance(option, click.Option) and not option.hidden
    ]
    undescribed = [option.name for option in options if not option.help]
    assert undescribed in ([], ["seed"])


def test_the_help_is_what_the_program_prints(run):
    assert run("search", "--help").stdout.split() == help_of("search").split()


def test_options_of_the_examples_exist():
    for name in COMMANDS:
        for line in re.findall(r"^    (?:\S.* \| )?(indexer .*)$", help_of(name), re.MULTILINE):
            words = re.sub(r"'[^']*'|\"[^\"]*\"|>.*", "X", line).split()
            options = {word for word in words if word.startswith("--")}
            names = (" ".join(words[1:end]) for end in (4, 3, 2))
            text = help_of(next(name for name in names if name in COMMANDS))
            assert all(option in text for option in options), line


@pytest.mark.parametrize("page", ["index.md", "commands.md"])
def test_links_lead_somewhere(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    assert [link for link in links if link and not (DOCS / link).exists()] == []


def test_every_page_is_in_the_index():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert [
        page.name
        for page in sorted(DOCS.glob("*.md"))
        if page.name != "index.md" and f"({page.name})" not in index
    ] == []
