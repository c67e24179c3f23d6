"""The settings: one frozen object, read once at start, checked before any work.

The nearer thing wins: flags ► environment (`INDEXER_*`) ► `indexer.toml` ► the defaults here. The file is the
one that `INDEXER_CONFIG` names, or `indexer.toml` in the current folder. docs/settings.md lists all settings.

This module imports pydantic; import it inside commands, so that `--help` does not wait for it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from indexer.common import DOTTED_PATH
from indexer.errors import SettingsError
from indexer.limits import DRIFT, GATE, DriftLimits, GateLimits
from indexer.log import Format, Level, get_logger, masked
from mappings import LANGUAGES, VectorIndex

PATTERN = r"(\d+(?:\.\d+)?)\s*([smh])"
SECONDS = {"s": 1, "m": 60, "h": 3600}


def seconds_of(text: str) -> float | None:
    """``30m`` is 1800.0; None when the text is not such a time."""
    found = re.fullmatch(PATTERN, text.strip().lower())
    return float(found[1]) * SECONDS[found[2]] if found else None


def secret_of(value: str) -> str:
    """Return a password or key, or the content of the file that ``@FILE`` names.

    Raises:
        SettingsError: The file cannot be read.
    """
    if not value.startswith("@"):
        return value
    path = Path(value[1:]).expanduser()
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The credentials cannot be read from '{path}': {error}.") from error


PREFIX = "INDEXER_"
FILE = "indexer.toml"
NOT_SETTINGS = {"INDEXER_CONFIG"}  # our names in the environment that are not fields
RENAMED = {"gate_gold": "gate_ground_truth", "gate_likeness": "gate_similarity"}  # old name ► name

_READER = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"  # a dotted path; a module of a single file has no dot

# Of encoders; `models.backend_factory` makes them. "torch" runs on a GPU.
BACKENDS = ("torch-fp32", "torch-bf16", "torch", "onnx-fp32", "onnx-int8")


def _matching(pattern: str) -> AfterValidator:
    """Refuse a text that the pattern does not match as a whole; the message comes from the field's `must`."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"does not match {pattern}")
        return value

    return AfterValidator(check)


def _setting(default: Any, about: str, must: str, **limits: Any) -> Any:
    """A field with its sentence for the docs and the end of its error message ("it must …")."""
    return Field(default, description=about, json_schema_extra={"must": must}, **limits)


def _limit(default: float, about: str) -> Any:
    """A limit of the gate or of drift; docs/settings.md has the reasons."""
    return _setting(default, about, "be a number from 0", ge=0, allow_inf_nan=False)


def _as_absolute(value: str) -> str:
    """Make the folder of a bundle absolute; names have no separator in them."""
    return str(Path(value).expanduser().absolute()) if os.sep in value else value


class Settings(BaseSettings):
    """All settings. Make one with `load_settings`, which gives errors a reader can act on."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        validate_default=True,
        hide_input_in_errors=True,  # a bad URL may hold a password
    )

    home: Annotated[Path, AfterValidator(Path.expanduser)] = _setting(
        Path(".indexer"), "Folder for everything that is kept on this machine.", "be a folder"
    )
    engine: Annotated[str, _matching(r"[a-z]\w*(://[^\s/]+\S*)?")] = _setting(
        "local",
        "Where documents live: `local`, or the URL of an Elasticsearch or OpenSearch.",
        "be 'local' or the URL of a server, such as http://localhost:9200",
    )
    credentials: SecretStr = _setting(
        SecretStr(""),
        "For a server: `user:password`, an API key, or `@FILE` with one of these in it.",
        "be user:password, an API key or @FILE",
    )
    certificates: str = _setting(
        "",
        "For a server: PEM file of the authority that signed its certificate, where the system does not know it.",
        "be a file",
    )
    request_timeout: float = _setting(
        60.0,
        "For a server: seconds that the server may take to answer one request.",
        "be a number of seconds, more than 0",
        gt=0,
    )
    search_timeout: float = _setting(
        20.0, "Seconds after which a query is stopped.", "be a number of seconds, more than 0", gt=0
    )
    index_prefix: Annotated[str, _matching(r"[a-z0-9][a-z0-9_-]{0,63}")] = _setting(
        "indexer",
        "For a server: prefix of the names of all indices.",
        "have 1 to 64 lower-case letters, digits, - and _, and begin with a letter or digit",
    )
    vector_index: VectorIndex = _setting(
        "auto",
        "For a server: how vectors of a new collection are searched.",
        "be one of auto, int8_flat, int8_hnsw and bbq_hnsw",
    )
    language: Annotated[str, _matching("|".join(LANGUAGES))] = _setting(
        "english",
        "Of the texts of a new collection: how words are brought to a common form.",
        "be a language that Elasticsearch has an analyzer for, or 'plain'",
    )
    database: Annotated[str, _matching(r"|(sqlite|postgres(ql)?)(\+\w+)?://\S.*")] = _setting(
        "",
        "The catalog, as an SQLAlchemy URL. Empty means `catalog.sqlite` in the home.",
        "begin with sqlite:/// or postgresql+psycopg://",
    )
    broker: Annotated[str, _matching(r"|\w+://\S*")] = _setting(
        "",
        "Redis or RabbitMQ for the workers. Empty means everything runs in this process.",
        "be empty or a URL such as redis://host:6379/0 or amqp://host",
    )
    batches_ahead: int = _setting(
        64,
        "Most batches of 64 documents that workers have at once; the indexing process waits for them.",
        "be a whole number from 1",
        ge=1,
    )
    collection: Annotated[str, _matching(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")] = _setting(
        "main",
        "Name of the collection that commands work on.",
        "have 1 to 64 letters, digits, - and _, and begin with a letter or digit",
    )
    title: Annotated[str, _matching(r"|\S(.{0,98}\S)?")] = _setting(
        "",
        "Heading of the page and the report. Empty means the name of the collection.",
        "have at most 100 characters, and neither begin nor end with a space",
    )
    bundle: Annotated[str, _matching(r"\S(.*\S)?"), AfterValidator(_as_absolute)] = _setting(
        "minilm-phrases",
        "Encoder for a new collection: the name of a bundle, or its folder.",
        "name a bundle",
    )
    encoder: Annotated[str, _matching(rf"|{DOTTED_PATH}")] = _setting(
        "",
        "Class of your own encoder for a new collection, by its dotted path; it replaces the bundle.",
        "be the dotted path of a class, such as my_package.MyEncoder",
    )
    reader: Annotated[str, _matching(rf"|{_READER}(,{_READER})*")] = _setting(
        "",
        "Your own readers of files: dotted paths of modules or classes, separated by commas.",
        "be dotted paths, such as my_package.rst or my_readers.Rst,my_readers.Tex",
    )
    backend: Annotated[str, _matching("|".join(("auto", *BACKENDS)))] = _setting(
        "auto",
        "Backend of the encoder: `auto` measures and chooses.",
        f"be one of auto, {', '.join(BACKENDS)}",
    )
    threads: int = _setting(0, "CPU threads to use; 0 means all cores.", "be a whole number from 0", ge=0)
    tagger: Annotated[str, _matching(r"\S(.*\S)?")] = _setting(
        "auto",
        "spaCy pipeline that finds candidate phrases: `auto`, a name or a folder.",
        "be 'auto', or name a spaCy pipeline",
    )
    births: Annotated[str, _matching("show|make")] = _setting(
        "show",
        "Subjects of new documents that have no topic: `show` them, or `make` topics of them after each run, and find "
        "topics again by itself when there are twice as many documents.",
        "be show or make",
    )
    keyphrases: int = _setting(
        10, "Keyphrases kept for each document.", "be a whole number from 0 to 1000", ge=0, le=1000
    )
    absent_keyphrases: int = _setting(
        5,
        "Absent keyphrases kept for each document, where the bundle can find any; 0 keeps none.",
        "be a whole number from 0 to 1000",
        ge=0,
        le=1000,
    )
    absent_weight: float = _setting(
        0.5,
        "Weight of a word of an absent keyphrase in a search by words; in the text it is 1. 0 leaves them out.",
        "be a number from 0 to 100",
        ge=0,
        le=100,
    )
    synonyms: str = _setting(
        "", "File of synonyms that words of a query are searched with, in the format of Solr.", "name a file"
    )
    duplicates: bool = _setting(True, "Find near duplicates while indexing.", "be on or off")
    max_document_bytes: int = _setting(
        10_000_000,
        "Longest text of one document, in bytes; longer ones go to the dead letters.",
        "be a whole number from 1",
        ge=1,
    )
    tagging_timeout: float = _setting(
        60.0,
        "Seconds that finding the phrases of a document may take, and as many again for every 500,000 characters.",
        "be a number of seconds, more than 0",
        gt=0,
    )
    read_timeout: float = _setting(
        60.0,
        "Seconds that reading a file that is one document may take; one that takes longer goes to the dead letters.",
        "be a number of seconds, more than 0",
        gt=0,
    )
    keep_generations: int = _setting(
        2,
        "Generations kept, with the live one and the one that `indexer rollback` returns to.",
        "be a whole number from 2",
        ge=2,
    )
    keep_gigabytes: float = _setting(
        0.0,
        "Most gigabytes of generations other than the live one; older ones go first. 0 means no limit.",
        "be a number from 0",
        ge=0,
    )
    retrain_at: Annotated[str, _matching(r"|([01]?\d|2[0-3]):[0-5]\d")] = _setting(
        "",
        "Time (UTC) at which workers retrain the collection every day, if it has drifted. Empty means never.",
        "be empty or a time such as 02:15",
    )
    retrain_budget: Annotated[str, _matching(PATTERN)] = _setting(
        "45m",
        "Time for the trainings of such a retrain; judging and building come on top.",
        "be a time such as 90s, 45m or 2h",
    )
    drift_beyond_topics: float = _limit(
        DRIFT.beyond_topics, "Drift: share of phrases without a topic, more than among old documents."
    )
    drift_topic_shares: float = _limit(
        DRIFT.topic_shares, "Drift: change of the shares of topics, more than between old documents."
    )
    drift_new_vocabulary: float = _limit(
        DRIFT.new_vocabulary, "Drift: share of unknown phrases, more than among old documents."
    )
    drift_fewest: float = _limit(
        DRIFT.fewest, "Drift: new documents by old ones, below which no retrain is worth it."
    )
    drift_growth: float = _limit(DRIFT.growth, "Drift: new documents by old ones, above which one always is.")
    gate_gain: float = _limit(GATE.gain, "Gate: least significant gain in one figure at least.")
    gate_context: float = _limit(GATE.context, "Gate: how much worse masked phrases may be found.")
    gate_siblings: float = _limit(GATE.siblings, "Gate: how much farther phrases of one list may be.")
    gate_ground_truth: float = _limit(
        GATE.ground_truth, "Gate: how much lower a figure on labelled examples may be."
    )
    gate_found: float = _limit(
        GATE.found, "Gate: how much lower nDCG@10 of searches by meaning, and by both, may be."
    )
    gate_silhouette: float = _limit(GATE.silhouette, "Gate: how much lower the silhouette of topics may be.")
    gate_npmi: float = _limit(GATE.npmi, "Gate: how much lower the coherence (NPMI) of topics may be.")
    gate_without_topic: float = _limit(
        GATE.without_topic, "Gate: how much larger the share of documents without a topic may be."
    )
    gate_similarity: float = _limit(GATE.similarity, "Gate: how much more similar random phrases may be.")
    gate_neighbours: float = _limit(GATE.neighbours, "Gate: share of nearest neighbours that must stay.")
    gate_search: float = _limit(GATE.search, "Gate: share of the hits of queries that must stay.")
    gate_churn: float = _limit(GATE.churn, "Gate: share of documents that may change their topic.")
    gate_speed: float = _limit(GATE.speed, "Gate: how many times as fast as the old encoder, at least.")
    naming_url: Annotated[str, _matching(r"|https?://[^\s/@?#]+(/[^\s?#]*)?")] = _setting(
        "",
        "Language model that names topics: address of an OpenAI-compatible API. Empty means that none is asked.",
        "be empty or begin with http:// or https://, such as http://localhost:11434/v1, without user, ? and #",
    )
    naming_model: Annotated[str, _matching(r"|\S{1,200}")] = _setting(
        "",
        "The name of that model, as its API calls it.",
        "have at most 200 characters, none of them a space",
    )
    naming_key: SecretStr = _setting(
        SecretStr(""), "The key for that API, or `@FILE` with the key in it.", "be a key or @FILE"
    )
    naming_timeout: float = _setting(
        30.0,
        "Seconds that the language model may take for one name.",
        "be a number of seconds, more than 0 and at most 600",
        gt=0,
        le=600,
    )
    log_level: Level = _setting(
        "warning", "Least serious level that is logged.", "be one of debug, info, warning and error"
    )
    log_format: Format = _setting(
        "text", "`text` for people, `json` for one JSON object per line.", "be 'text' or 'json'"
    )

    def model_post_init(self, context: Any) -> None:
        if not self.database:
            file = (self.home / "catalog.sqlite").absolute().as_posix()
            object.__setattr__(self, "database", f"sqlite:///{file}")  # the model is frozen
        if self.encoder:
            object.__setattr__(self, "bundle", self.encoder)

    @property
    def collection_folder(self) -> Path:
        """Where the embedded engine keeps the collection."""
        return self.home / "collections" / self.collection

    @property
    def gate(self) -> GateLimits:
        """Limits for a new encoder."""
        return GateLimits(**{f.name: getattr(self, f"gate_{f.name}") for f in fields(GateLimits)})

    @property
    def drift(self) -> DriftLimits:
        """Limits from which a retrain is worth it."""
        return DriftLimits(**{f.name: getattr(self, f"drift_{f.name}") for f in fields(DriftLimits)})

    def make_home(self) -> None:
        """Make the home folder.

        Raises:
            SettingsError: It cannot be made.
        """
        try:
            self.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(
                f"The home {self.home} cannot be made: {error.strerror}.",
                hint="Name another place: --home PATH",
            ) from error

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        return self.shown().items()

    def shown(self) -> dict[str, Any]:
        """All values as plain data for printing: passwords are masked."""
        return {
            name: masked(value) if isinstance(value, str) else value
            for name, value in self.model_dump(mode="json").items()
        }

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *sources: PydanticBaseSettingsSource, **named: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return named["init_settings"], named["env_settings"], _OldNames(settings_cls), _File(settings_cls)


def load_settings(**flags: object) -> Settings:
    """Read and check all settings.

    Args:
        flags: Values that win over everything else; those that are None count as not given.

    Raises:
        SettingsError: A value is unusable, or `indexer.toml` has an unknown key. The message names the
            setting, where the value came from, what was found and what was expected.
    """
    given = _renamed({name: value for name, value in flags.items() if value is not None})
    _refuse_unknown(given, "The option")
    _warn_of_unknown_names(os.environ)
    try:
        return Settings(**given)
    except ValidationError as error:
        problems = [_explained(str(e["loc"][0]), e["input"], given) for e in error.errors()]
        raise SettingsError(" ".join(problems), hint="docs/settings.md lists the settings.") from error


def _renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, with the present names of settings that were renamed."""
    return {RENAMED.get(name, name): value for name, value in values.items()}


class _Source(PydanticBaseSettingsSource):
    """A source that returns all its values at once."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError  # pydantic-settings calls it only from its own `__call__`


class _OldNames(_Source):
    """Variables of the environment with the old name of a setting."""

    def __call__(self) -> dict[str, Any]:
        found = {name: os.environ.get(PREFIX + name.upper()) for name in RENAMED}
        return _renamed({name: value for name, value in found.items() if value})


class _File(_Source):
    """`indexer.toml`. A relative `home` in it counts from the folder of the file."""

    def __call__(self) -> dict[str, Any]:
        path = _file()
        if path is None:
            return {}
        values = _renamed(_file_values(path))
        _refuse_unknown(values, f"{path}:")
        if isinstance(values.get("home"), str):
            values["home"] = path.parent / Path(values["home"]).expanduser()
        return values


def _file() -> Path | None:
    named = os.environ.get("INDEXER_CONFIG")
    if not named:
        return Path(FILE) if Path(FILE).is_file() else None
    path = Path(named).expanduser()
    if not path.is_file():
        raise SettingsError(f"INDEXER_CONFIG is '{named}'; there is no such file.")
    return path


def _file_values(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.") from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error


def _refuse_unknown(values: Mapping[str, Any], where: str) -> None:
    for name in values:
        if name not in Settings.model_fields:
            raise SettingsError(
                f"{where} '{name}' is not a setting.{_nearest(name)}",
                hint=f"Known settings: {', '.join(Settings.model_fields)}.",
            )


def _warn_of_unknown_names(environment: Mapping[str, str]) -> None:
    """A warning, not an error: Kubernetes puts INDEXER_PORT and such there for a service called "indexer"."""
    known = {PREFIX + name.upper() for name in (*Settings.model_fields, *RENAMED)} | NOT_SETTINGS
    for name in sorted(environment):
        if name.startswith(PREFIX) and not name.startswith(PREFIX + "TEST_") and name not in known:
            nearest = " ".join(get_close_matches(name, known, n=1))
            get_logger(__name__).warning("environment_name_unknown", name=name, did_you_mean=nearest)


def _nearest(name: str) -> str:
    close = get_close_matches(name.lower().replace("-", "_"), Settings.model_fields, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


def _explained(name: str, found: Any, flags: Mapping[str, Any]) -> str:
    """One sentence: the setting and where it came from, what was found, what was expected."""
    in_environment = {key.upper(): key for key in os.environ}
    variables = [PREFIX + known.upper() for known in (name, *RENAMED) if RENAMED.get(known, known) == name]
    path = _file()
    if name in flags:
        where = f"The option '{name}'"
    elif key := next((in_environment[v] for v in variables if v in in_environment), None):
        where = key
    else:
        where = f"{path}: '{name}'"
    extra = Settings.model_fields[name].json_schema_extra
    must = extra["must"] if isinstance(extra, dict) else "be something else"
    return f"{where} is {_shown(found)}; it must {must}."


def _shown(value: Any) -> str:
    return f"'{masked(str(value))}'" if isinstance(value, str | Path) else masked(repr(value))
