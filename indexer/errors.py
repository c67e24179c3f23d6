"""Everything that can go wrong, as one tree.

IndexerError
├── SettingsError            a setting is missing or unusable
│   └── PackageMissing       a Python package of an extra is not installed
├── InputError               a file or record from the user is unusable
├── QueryError               a search, filter or id from the user cannot be understood
│   └── QueryTimeout         it takes longer than it may
├── NotFound                 the requested document, topic, bundle or collection does not exist
├── CatalogError             the catalog database cannot be used
├── BrokerUnavailable        retryable: the message broker of the workers does not answer
├── SearchError
│   ├── EngineUnavailable    retryable: no answer, locked, full, 429, 503
│   ├── EngineForbidden      the engine refuses access: password, key, privilege, licence
│   ├── EngineIncompatible   the server is not a supported engine or version
│   ├── MappingMismatch      the index and what the program expects disagree
│   ├── Superseded           another generation became live since the collection was opened
│   └── WriteRefused         the engine refused documents
├── ModelError
│   ├── BundleMissing
│   ├── BundleIncompatible   saved by a newer or older format, or for other data
│   ├── BackendUnavailable   the encoder cannot run on the requested backend
│   └── NoAnswer             the language model that names topics does not answer
└── TrainingError
    ├── NotEnoughData
    └── LossDiverged

Each class takes one message, so Celery's JSON backend (`cls(*args)`) and pickle can both rebuild it; facts for
programs go in keyword attributes.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any, ClassVar


class IndexerError(Exception):
    """Base of every error this application raises on purpose.

    `hint` is the next thing the reader can do, wherever the message is read; `command` says what to type for it, and is
    shown on the command line only. `facts` is for logs and tests.
    """

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "", command: str = "", **facts: Any) -> None:
        super().__init__(message)
        self.hint = hint
        self.command = command
        self.facts = facts

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), str(self), self.hint, self.command, self.facts)


def _rebuild(
    kind: type[IndexerError], message: str, hint: str, command: str, facts: dict[str, Any]
) -> IndexerError:
    return kind(message, hint=hint, command=command, **facts)


class SettingsError(IndexerError):
    """A setting is missing or unusable."""

    exit_code = 2


class PackageMissing(SettingsError):
    """A Python package is not installed that one of the project's extras brings."""


class InputError(IndexerError):
    """A file or record from the user is unusable. The message begins with FILE:LINE where a line is known."""


class QueryError(IndexerError):
    """A search, a filter or an option cannot be understood."""

    exit_code = 2


class QueryTimeout(QueryError):
    """A query takes longer than `search_timeout` allows."""


class NotFound(IndexerError):
    """The document, topic, bundle or collection asked for is not there."""


class CatalogError(IndexerError):
    """The catalog database cannot be used."""


class BrokerUnavailable(IndexerError):
    """What carries messages to the workers does not answer."""

    retryable = True


class SearchError(IndexerError):
    """The engine could not do what was asked."""


class EngineUnavailable(SearchError):
    """No answer, a locked file, or an answer that says to come back later."""

    retryable = True


class EngineForbidden(SearchError):
    """User, password or key are wrong, or may not do what was asked."""


class EngineIncompatible(SearchError):
    """The server is neither Elasticsearch nor OpenSearch, or of a version that this program cannot talk to."""


class MappingMismatch(SearchError):
    """What is stored and what the program expects disagree, for example on the vector length."""


class Superseded(SearchError):
    """Another generation has become the live one, whose vectors are of another encoder: open the collection again."""


class WriteRefused(SearchError):
    """The engine refused documents; the message carries the first reasons."""


class ModelError(IndexerError):
    """A model cannot be used."""


class BundleMissing(ModelError):
    """There is no such bundle."""


class BundleIncompatible(ModelError):
    """The bundle was saved in a format that this version does not read, or for another base model."""


class BackendUnavailable(ModelError):
    """The encoder cannot run in the way asked for on this machine."""


class NoAnswer(ModelError):
    """The language model that names topics gave no answer that can be read. No run ends with it: mined names stay."""


class TrainingError(IndexerError):
    """A training run cannot continue."""


class NotEnoughData(TrainingError):
    """There is too little text to learn from."""


class LossDiverged(TrainingError):
    """The loss became NaN or infinite."""


# The package index has another project of this name: a hint must not lead there.
UPGRADE = "Install the newer version of this program that has written it."
TRAINING = ("torch", "transformers", "matplotlib", "huggingface_hub")  # modules of the extra `train`


def require(*modules: str, extra: str, purpose: str, error: type[IndexerError] = PackageMissing) -> None:
    """Check that modules are installed, without importing them; call it before the work starts.

    Args:
        extra: The extra of the project that brings them.
        purpose: The subject of the message, e.g. ``Training``.

    Raises:
        PackageMissing, or `error`: At least one is missing. The hint is the command that installs it.
    """
    missing = [name for name in modules if not is_installed(name)]
    if missing:
        raise error(
            f"{purpose} needs the extra '{extra}'. Not installed: {', '.join(missing)}.",
            hint=f'In the folder of the program: make install, or pip install ".[{extra}]"',
            missing=missing,
        )


def is_installed(module: str) -> bool:
    """Whether `import module` would find something."""
    return sys.modules.get(module, ...) is not None and find_spec(module) is not None
