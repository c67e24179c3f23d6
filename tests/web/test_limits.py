"""The limits of a query are the same for the page, the API and the command."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from indexer.cli import main

TOO_MUCH = {
    "The query has 4,001 characters; at most 4,000 are read.": [("q", "i" * 4_001)],
    "More than 16 words of the query end in *.": [("q", " ".join(["i*"] * 17))],
    "There are 51 conditions; at most 50 are read.": [("q", "ice"), *[("where", "subject=oceans")] * 51],
}


@pytest.mark.parametrize(("said", "given"), TOO_MUCH.items())
def test_what_is_too_much_is_refused_everywhere(web, library, said, given):
    page = web.get(f"/?{urlencode(given)}")
    assert (page.status_code, said in page.text) == (400, True)
    answer = web.get(f"/api/search?{urlencode(given)}")
    assert answer.status_code in (400, 422)
    options = [part for name, value in given[1:] for part in (f"--{name}", value)]
    result = CliRunner().invoke(
        main, ["--home", str(library), "search", "--mode", "words", given[0][1], *options]
    )
    assert result.exit_code == 2
    assert said in result.output


def test_sixteen_prefixes_and_four_thousand_characters_are_read(web):
    assert web.get("/api/search", params={"q": " ".join(["i*"] * 16), "mode": "words"}).status_code == 200
    assert web.get("/api/search", params={"q": ("ice " * 1_000)[:4_000], "mode": "words"}).status_code == 200
