"""Values of the user's fields as they are compared and counted: the same in every engine."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple


class Value(NamedTuple):
    """One value of a field: what is compared, what is displayed, and the number when it is one."""

    text: str
    shown: str
    number: float | int | None = None


def to_value(item: Any) -> Value | None:
    """A value as it is compared; None for what is neither text, number nor truth."""
    if isinstance(item, bool):
        text = "true" if item else "false"
        return Value(text, text)
    if isinstance(item, str):
        return Value(item, item)
    if isinstance(item, int | float):
        if isinstance(item, float) and math.isnan(item):
            return None
        if isinstance(item, float) and item.is_integer() and abs(item) < 2**53:
            item = int(item)  # 3.0 and 3 are the same value
        return Value(str(item), str(item), _storable(item))
    return None


def _storable(number: float | int) -> float | int | None:
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        try:
            return float(number)
        except OverflowError:
            return None
    return number


def read_number(text: str) -> float | int | None:
    """The number that a text is; None when it is none."""
    try:
        value = to_value(json.loads(text))
    except ValueError:
        return None
    return value.number if value else None
