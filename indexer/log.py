"""Log lines: constant event names, the values as fields. One line each, on stderr.

    log = get_logger(__name__)
    log.warning("document_buried", id=document.id, stage="encode", reason=str(error))

Quiet unless asked: warnings and errors only; `-v` adds info, `-vv` debug. A program that embeds this package
and has configured structlog itself keeps its own configuration. structlog is imported on first use, so that
`--help` does not wait for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["text", "json"]

NUMBERS: dict[str, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
# Greedy up to the last '@', so that a password with a raw '@' in it is hidden as a whole.
PASSWORD = re.compile(r"(?<=://)([^/?#\s:@]*):([^/?#\s]*)@")


def masked(text: str) -> str:
    """`text` with the passwords of all URLs in it replaced: ``redis://me:***@host``."""
    return PASSWORD.sub(r"\1:***@", text)


def configure(level: Level = "warning", *, format: Format = "text", verbose: int = 0) -> None:
    """Set what is shown, for the whole process. May be called again.

    Args:
        level: Least serious level shown.
        format: "text" for people, "json" for one JSON object per line.
        verbose: How often `-v` was given: 1 shows info, 2 or more debug. Never shows less than `level`.
    """
    import structlog

    wanted = min(NUMBERS[level], {0: 40, 1: 20}.get(verbose, 10))
    renderer: Any = structlog.processors.JSONRenderer(default=str) if format == "json" else _one_line
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _mask_fields,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(wanted),
        logger_factory=_Stderr,
        cache_logger_on_first_use=False,  # loggers made at import must follow a later `configure`
    )


def get_logger(name: str = "indexer") -> Any:
    """A logger that writes as `configure` says; configures quietly if that has not been done."""
    import structlog

    if not structlog.is_configured():
        configure()
    return structlog.get_logger(module=name)


class _Stderr:
    """Writes where sys.stderr points now, not where it pointed when the logger was made."""

    def __init__(self, *args: Any) -> None:
        pass

    def msg(self, message: str) -> None:
        # One write for the whole line, so that lines of several processes do not mix.
        sys.stderr.write(message + "\n")
        sys.stderr.flush()

    debug = info = warning = error = critical = exception = msg


def _mask_fields(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        if isinstance(value, str) and "://" in value:
            event[key] = masked(value)
    return event


def _one_line(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
    """``12:04:31 warning document_buried id=a7 reason="no text"``, with a traceback below if there is one."""
    time = str(event.pop("timestamp", ""))[11:19]
    level, name, source = event.pop("level", method), event.pop("event", ""), event.pop("module", "")
    trace = event.pop("exception", "")
    fields = " ".join(f"{key}={_quoted(value)}" for key, value in event.items())
    line = " ".join(part for part in (time, str(level), str(name), fields) if part)
    if level == "debug" and source:
        line += f" ({source})"
    return f"{line}\n{trace}" if trace else line


def _quoted(value: Any) -> str:
    text = str(value)
    plain = text and not any(c.isspace() or c in "\"'=" for c in text) and text.isprintable()
    return text if plain else '"' + text.replace('"', "'").encode("unicode_escape").decode("ascii") + '"'
