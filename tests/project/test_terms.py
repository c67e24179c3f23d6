"""The project speaks the field's language."""

from __future__ import annotations

import re

from tools import check_terms


def test_no_denied_term_is_left() -> None:
    assert list(check_terms.findings()) == []


def test_a_denied_term_is_found_and_longer_words_are_not() -> None:
    found = [
        match[0] for match in check_terms.DENIED.finditer("The likeness is told anew; golden toldos, untold.")
    ]
    assert found == ["likeness", "told", "anew"]
    assert all(re.compile(pattern) for pattern in check_terms.TERMS)
