"""docs/commands.md says what the program says, and every command is helped and documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from indexer.cli import reference

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = list(reference.commands())


def test_the_page_is_up_to_date():
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert reference.rewritten(page) == page, "python -m indexer.cli.reference docs/commands.md"


def test_every_command_is_on_the_page():
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"<!-- help: ?([a-z -]*?) ?-->", page)[1:] == COMMANDS


def test_every_command_stands_under_its_own_heading():
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    sections = re.findall(r"^#+ indexer (.+)\n|<!-- help: ([a-z -]+?) -->", page, re.MULTILINE)
    names = [heading or helped for heading, helped in sections]
    assert names[::2] == names[1::2] == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_sentence_examples_and_described_options(name):
    shown = reference.help_of(name)
    assert shown.startswith(f"Usage: indexer {name} ")
    assert re.search(r"\n  [A-Z][^\n]+", shown)
    assert re.search(rf"\n  Examples?:\n    (\S.* \| )?indexer {name.split()[0]}", shown)
    assert not re.findall(r"^  (-\S+(?:, --\S+)?(?: [A-Z|]+)?)$", shown, re.MULTILINE), (
        "an option without help"
    )


def test_the_help_is_what_the_program_prints(run):
    shown = run("search", "--help", terminal_width=reference.WIDTH).stdout
    assert shown == reference.help_of("search") + "\n"


def test_examples_of_the_help_can_be_parsed():
    """What is shown to be pasted must be commands and options that there are."""
    for name in COMMANDS:
        for line in re.findall(r"^    (?:\S.* \| )?(indexer .*)$", reference.help_of(name), re.MULTILINE):
            words = re.sub(r"'[^']*'|\"[^\"]*\"|>.*", "X", line).split()
            options = {word for word in words if word.startswith("--")}
            shown = reference.help_of(" ".join(words[1:3]) if " ".join(words[1:3]) in COMMANDS else words[1])
            assert all(option in shown for option in options), line


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
