"""Small functions that several packages need: batches, unit vectors, order by hash, kept values, dotted paths."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from indexer.errors import SettingsError

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items, in order; the last one may be shorter."""
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some


Floats = NDArray[np.float32]


def unit(vectors: NDArray[np.floating]) -> Floats:
    """Scale the last axis to length 1; a zero vector stays zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
    return scaled


def shuffled(id_: str) -> tuple[bytes, str]:
    """Sort key that orders ids by hash, independent of their text."""
    return hashlib.sha1(id_.encode("utf-8", "surrogatepass")).digest(), id_


Rows = NDArray[np.float64]


def centred(vectors: Rows) -> Rows:
    """Subtract the mean of all vectors and scale to unit length; 0 where a vector is the mean."""
    apart = vectors - vectors.mean(axis=0)
    directions: Rows = apart / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-12)
    return directions


def remembered(file: Path) -> Any:
    """Read what `remember` has kept; None if there is nothing, or it cannot be read."""
    with suppress(OSError, ValueError):
        return json.loads(file.read_text(encoding="utf-8"))
    return None


def remember(file: Path, value: object) -> None:
    """Keep a value as JSON. Two processes may do it at once; where nothing can be written, it is worked out again."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(value), encoding="utf-8")
        part.replace(file)


DOTTED_PATH = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+"


def import_object(path: str) -> Any:
    """Import the class or function with a dotted path, such as ``my_package.MyEncoder``.

    Raises:
        SettingsError: It cannot be imported.
    """
    try:
        return resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"'{path}' cannot be imported: {error}.",
            hint="Install its package, or set PYTHONPATH to its folder.",
        ) from error


def dotted_path(thing: Any) -> str:
    """The path by which `import_object` finds a class or function."""
    return f"{thing.__module__}.{thing.__qualname__}"
