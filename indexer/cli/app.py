"""The program: its commands, the options that all of them share, and how errors are printed.

@command()
@json_option
@pass_app
def status(app: App, as_json: bool) -> None:
    with app.collection() as collection:
        ...
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from indexer.cli.opened import OpenedCollection
    from indexer.collection import Collection
    from indexer.engines.base import Engine
    from indexer.protocols import Progress
    from indexer.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
Sections = Mapping[str, Mapping[str, str]]  # heading ► command ► "module:attribute"

SECTIONS = {
    "Read and mine": {
        "index": "indexer.cli.index:index",
        "enrich": "indexer.cli.enrich:enrich",
        "plan": "indexer.cli.index:plan",
        "compare": "indexer.cli.compare:compare",
        "retry": "indexer.cli.index:retry",
        "delete": "indexer.cli.index:delete",
    },
    "Find": {
        "search": "indexer.cli.search:search",
        "phrases": "indexer.cli.phrases:phrases",
        "topics": "indexer.cli.topics:topics",
        "show": "indexer.cli.search:show",
        "searches": "indexer.cli.searches:searches",
        "keyphrases": "indexer.cli.phrases:keyphrases",
    },
    "Show": {
        "serve": "indexer.cli.serve:serve",
        "report": "indexer.cli.serve:report",
        "keys": "indexer.cli.serve:keys",
    },
    "Maintain": {
        "status": "indexer.cli.status:status",
        "doctor": "indexer.cli.doctor:doctor",
        "backup": "indexer.cli.backup:backup",
        "restore": "indexer.cli.backup:restore",
        "worker": "indexer.cli.worker:worker",
        "retrain": "indexer.cli.retrain:retrain",
        "rollback": "indexer.cli.generations:rollback",
        "history": "indexer.cli.generations:history",
        "generations": "indexer.cli.generations:generations",
        "models": "indexer.cli.models:models",
        "train": "indexer.cli.train:train",
        "evaluate": "indexer.cli.evaluate:evaluate",
        "demo": "indexer.cli.demo:demo",
    },
}
# A full or read-only disk, or a broken one: not a bug.
DISK_TROUBLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO}
INTERRUPTED, TERMINATED = 130, 143  # the exit codes of shells: 128 + the signal
SHARED_NOTE = (
    "Options of every command, before or after its name: --home, --collection, --engine, --bundle, --encoder, "
    "--reader, --backend, --threads, -v, --traceback. See: indexer --help"
)


class App:
    """Values of the shared options, and the settings and the collection that follow from them."""

    def __init__(self) -> None:
        self.flags: dict[str, Any] = {}  # settings by name
        self.verbose = 0
        self.traceback = False
        self.progress: Progress | None = None  # the bar of a terminal
        self.resumable = False  # after Ctrl-C the same command resumes

    def settings(self, **defaults: Any) -> Settings:
        """Read the settings and configure logging.

        Args:
            defaults: Override environment and file, but not options.
        """
        from indexer.log import configure
        from indexer.settings import load_settings

        settings = load_settings(**{**defaults, **self.flags})
        configure(settings.log_level, format=settings.log_format, verbose=self.verbose)
        return settings

    def collection(self, settings: Settings | None = None, *, make: bool = False) -> OpenedCollection:
        """Open the collection.

        Args:
            make: Create a missing collection; otherwise it is an error, so that a search in the wrong folder
                leaves no empty collection there.

        Raises:
            NotFound: There is no such collection.
        """
        settings = settings or self.settings()
        if not make:
            self._must_exist(settings)
        from indexer.cli.opened import OpenedCollection

        collection = OpenedCollection.open(settings, create=make)
        collection.progress = self.progress or collection.progress
        return collection

    def existing(self) -> Settings:
        """Return the settings of an existing collection.

        Raises:
            NotFound: There is none in the home.
        """
        settings = self.settings()
        self._must_exist(settings)
        return settings

    def _must_exist(self, settings: Settings) -> None:
        from indexer.errors import NotFound

        if not is_there(settings):
            raise NotFound(
                f"There is no collection '{settings.collection}' in {settings.home}.",
                hint=f"Make one: {self.again('index SOURCE')}. Or name another place: --home PATH",
            )

    @contextmanager
    def aside(self, settings: Settings, *, on_engine: bool = False) -> Iterator[Collection]:
        """Open an empty temporary collection, which is deleted at the end of the with block.

        Encoders, and the backend measured as fastest, still come from the home of the settings.

        Args:
            on_engine: On the engine of the settings; otherwise on the embedded one.
        """
        from indexer.catalog import Catalog
        from indexer.cli.opened import OpenedCollection
        from indexer.engines.local import LocalEngine
        from indexer.engines.registry import is_elasticsearch
        from indexer.search.closeness import closeness_file
        from models.load import encoder_dims

        dims = encoder_dims(settings.bundle, settings.home)
        # A name of its own: what the home remembers of a collection must not be that of another one.
        settings = settings.model_copy(update={"collection": f"aside-{token_hex(4)}"})
        with TemporaryDirectory(prefix="indexer-") as folder, ExitStack() as stack:
            stack.callback(closeness_file(settings.home, settings.collection).unlink, missing_ok=True)
            engine: Engine
            if on_engine and is_elasticsearch(settings):
                engine = stack.enter_context(_generation_aside(settings, dims))
            else:
                engine = LocalEngine(Path(folder, "collection"), dims)
            catalog = Catalog.open(f"sqlite:///{Path(folder, 'catalog.sqlite').as_posix()}")
            with OpenedCollection(settings, engine, catalog) as collection:
                yield collection

    def again(self, rest: str, **defaults: Any) -> str:
        """Return a command to type next, with the current options except passwords: ``indexer --home x topics``."""
        from indexer.log import masked

        flags = {name: masked(str(value)) for name, value in {**defaults, **self.flags}.items()}
        options = [f"--{name.replace('_', '-')} {shlex.quote(value)}" for name, value in flags.items()]
        return " ".join([program(), *options, rest])

    def completed(self, hint: str) -> str:
        """Add the current options to each command in a hint."""
        root = click.get_current_context().find_root()
        names = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
        return re.sub(rf"(?<![\w/])indexer (?=({'|'.join(names)})\b)", lambda _: self.again(""), hint)


@contextmanager
def _generation_aside(settings: Settings, dims: int) -> Iterator[Engine]:
    """Open a generation that is never live, and remove it at the end of the with block."""
    from indexer.engines.registry import open_generations

    with closing(open_generations(settings)) as generations:
        try:
            yield generations.make(dims, bundle=settings.bundle)
        finally:
            for generation in generations.all():
                generations.remove(generation.number)


def program() -> str:
    """Return the command that starts this program: its name, or its path if the name is not on the PATH."""
    called = Path(sys.argv[0])
    if called.name != "indexer" or shutil.which("indexer"):
        return "indexer"
    inside = called.is_relative_to(Path.cwd())
    return os.path.relpath(called) if inside else str(called)


def is_there(settings: Settings) -> bool:
    """Whether the collection of these settings has been made; makes nothing."""
    from indexer.engines.registry import exists

    return exists(settings)


pass_app = click.make_pass_decorator(App, ensure=True)


# -- options ------------------------------------------------------------------------------------------------


def _store_setting(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value is not None and param.name:
        ctx.ensure_object(App).flags[param.name] = value


def _store_verbose(ctx: click.Context, param: click.Parameter, value: int) -> None:
    ctx.ensure_object(App).verbose += value


def _store_traceback(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.ensure_object(App).traceback |= value


def shared_options(*, hidden: bool) -> list[click.Option]:
    """The options that may come before and after the name of a command."""

    def option(
        *names: str, text: str, callback: Callable[..., None] = _store_setting, **more: Any
    ) -> click.Option:
        return click.Option(names, help=text, hidden=hidden, expose_value=False, callback=callback, **more)

    path = click.Path(file_okay=False, path_type=Path)
    return [
        option("--home", metavar="PATH", type=path, text="Folder for all data.  [default: .indexer]"),
        option("--collection", metavar="NAME", text="Collection to work on.  [default: main]"),
        option("--engine", metavar="NAME|URL", text="'local', or the URL of Elasticsearch/OpenSearch.  [default: local]"),
        option("--bundle", metavar="NAME", text="Encoder for a new collection.  [default: minilm-phrases]"),
        option("--encoder", metavar="PATH", text="Your own encoder for a new collection: my_package.MyEncoder."),
        option("--reader", metavar="PATH", text="Your own reader of files: my_package.my_reader. Several as a,b."),
        option("--backend", metavar="NAME", text="Backend of the encoder, such as onnx-int8.  [default: auto]"),
        option("--threads", metavar="N", type=int, text="CPU threads; 0 means all cores.  [default: 0]"),
        option("-v", "--verbose", count=True, callback=_store_verbose,
               text="Show log lines: -v for actions, -vv for details."),
        option("--traceback", is_flag=True, callback=_store_traceback, text="Show the traceback of an error."),
    ]  # fmt: skip


def json_of(fields: str = "") -> Callable[[F], F]:
    """Add ``--json``, whose help names the fields."""
    text = f"Print JSON: {fields}." if fields else "Print JSON, for programs."
    return click.option("--json", "as_json", is_flag=True, help=text)


json_option = json_of()


# -- commands and groups ------------------------------------------------------------------------------------


class Command(click.Command):
    """A command that takes the shared options too; its help names them in one line."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        own = kwargs.get("params") or []
        names = {param.name for param in own}
        kwargs["params"] = [
            *own,
            *(param for param in shared_options(hidden=True) if param.name not in names),
        ]
        super().__init__(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if any(isinstance(parameter, click.Argument) for parameter in self.params):
                message = f"{error.message} Write -- before a text that begins with -."
                raise click.NoSuchOption(error.option_name, message, error.possibilities, ctx) from None
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write_text(SHARED_NOTE)


def command(name: str | None = None) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command of this program."""
    return click.command(name, cls=Command)


class LazyGroup(click.Group):
    """A group that imports a command when it is called or listed, in the order and under the headings of its sections.

    Args:
        sections: Headings of the help page, each with its commands; those of the `command` decorator need none.
    """

    command_class = Command

    def __init__(self, *args: Any, sections: Sections | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sections = sections or {}
        self._modules = {
            name: module for commands in self._sections.values() for name, module in commands.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self._modules, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._modules:
            return super().get_command(ctx, cmd_name)
        module, attribute = self._modules[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, names = args[0], self.list_commands(ctx)
        if name not in names and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = "".join(f" Did you mean '{near}'?" for near in get_close_matches(name, names, n=1))
            ctx.fail(f"No such command '{name}'.{near}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(len(name) for name in self.list_commands(ctx))
        headings: Mapping[str, Iterable[str]] = self._sections or {"Commands": self.commands}
        for heading, names in headings.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [
                (name.ljust(longest), command.get_short_help_str(formatter.width - longest - 6))
                for name, command in found
                if command is not None
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)


class Group(LazyGroup):
    """A group of commands that takes the shared options too. Called without a command, it runs the default one."""

    def __init__(self, *args: Any, default: str = "", **kwargs: Any) -> None:
        kwargs["params"] = [*(kwargs.get("params") or []), *shared_options(hidden=True)]
        super().__init__(*args, **kwargs)
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = {*self.list_commands(ctx), *self.get_help_option_names(ctx)}
        only_options = not args or args[0].startswith("-")
        if self._default and only_options and not names & set(args) and not ctx.resilient_parsing:
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self._default:
            formatter.write_paragraph()
            formatter.write_text(f"Without a command: {self._default}.")


class Terminated(KeyboardInterrupt):
    """SIGTERM came."""


@contextmanager
def _terminated_like_ctrl_c() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does; those that serve and work have handlers of their own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Root(LazyGroup):
    """Prints our errors as two lines: the error, and the next step. Others keep their traceback: they are bugs."""

    def invoke(self, ctx: click.Context) -> Any:
        from indexer.errors import BundleMissing, IndexerError

        app = ctx.ensure_object(App)
        try:
            with _terminated_like_ctrl_c():
                return super().invoke(ctx)
        except IndexerError as error:
            if app.traceback:
                raise
            click.echo(f"Error: {error}", err=True)
            if isinstance(error, BundleMissing):
                app.flags.pop("bundle", None)  # not in the command to type next
            if todo := f"{error.hint} {error.command}".strip():
                click.echo(app.completed(todo), err=True)
            ctx.exit(error.exit_code)
        except OSError as error:
            if app.traceback or error.errno not in DISK_TROUBLE:
                raise
            where = f" of {error.filename}" if error.filename else ""
            click.echo(f"Error: The disk{where} cannot be written to: {error.strerror}.", err=True)
            click.echo("Free some space and run the command again: what was written before stays.", err=True)
            ctx.exit(1)
        except KeyboardInterrupt as error:
            resume = " Written data is kept; the same command resumes." if app.resumable else ""
            click.echo(f"\nStopped.{resume}", err=True)
            ctx.exit(TERMINATED if isinstance(error, Terminated) else INTERRUPTED)


@click.group(
    "indexer",
    cls=Root,
    sections=SECTIONS,
    params=shared_options(hidden=False),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="indexer", message="indexer %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Mine topics, keyphrases and phrase vectors from your documents, and search them by words and by meaning.

    Results go to standard output; progress, warnings and errors go to standard error. Exit codes: 0 success, 1 failure,
    2 wrong usage, 3 a retrain was refused by its gate, 130 stopped by Ctrl-C. Settings come from options, INDEXER_… in
    the environment and indexer.toml, in this order. Colours only on a terminal, and not with NO_COLOR; without them,
    matches are in [[double brackets]].

    \b
    Try it:           indexer demo
    Your own files:   indexer index notes/ articles.jsonl
    Then:             indexer topics
                      indexer search "solar wind"
    Completion:       eval "$(_INDEXER_COMPLETE=bash_source indexer)"   (or zsh_source, fish_source)
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        ctx.color = False
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a character shows a ? for it
            stream.reconfigure(errors="replace")
