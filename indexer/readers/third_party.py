"""The border to other people's parsers: their noise stays inside, their errors become ours."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from indexer.errors import InputError
from indexer.readers.source import File, clean

_OFF = logging.CRITICAL + 1


@contextmanager
def borrowed(file: File, kind: str, *loggers: str) -> Iterator[None]:
    """Run a parser: silence its loggers and warnings, and turn whatever it raises into InputError.

    Broad on purpose: a damaged file can make a parser raise anything, and must not end the run.
    """
    levels = [(logger, logger.level) for logger in map(logging.getLogger, loggers)]
    for logger, _ in levels:
        logger.setLevel(_OFF)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except InputError:
        raise
    except RecursionError as error:
        raise file.problem(f"cannot be read as {kind}: nested too deep.") from error
    except Exception as error:
        reason = " ".join(clean(str(error)).split())[:200].rstrip(".") or type(error).__name__
        raise file.problem(f"cannot be read as {kind}: {reason}.") from error
    finally:
        for logger, level in levels:
            logger.setLevel(level)
