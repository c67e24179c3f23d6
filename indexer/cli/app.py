"""What every command shares: the options before and after its name, the settings, the collection.

@command()
@json_option
@pass_app
def status(app: App, as_json: bool) -> None:
    with app.collection() as collection:
        ...
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import click

from indexer.cli.lazy import LazyGroup

if TYPE_CHECKING:
    from indexer.cli.opened import OpenedCollection
    from indexer.collection import Collection
    from indexer.protocols import Progress
    from indexer.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

SHARED_NOTE = (
    "Options of every command, before or after its name: --home, --collection, --engine, --bundle, --encoder, "
    "--backend, --threads, -v, --traceback. See: indexer --help"
)


class App:
    """What the shared options have said."""

    def __init__(self) -> None:
        self.flags: dict[str, Any] = {}  # settings by name
        self.verbose = 0
        self.traceback = False
        self.progress: Progress | None = None  # told how far the work is, when somebody looks
        self.resumable = False  # after Ctrl-C the same command goes on where it stopped

    def settings(self, **defaults: Any) -> Settings:
        """Read the settings, and set up the log lines as they say.

        Args:
            defaults: Values that win over environment and file, and not over options.
        """
        from indexer.log import configure
        from indexer.settings import load_settings

        settings = load_settings(**{**defaults, **self.flags})
        configure(settings.log_level, format=settings.log_format, verbose=self.verbose)
        return settings

    def collection(self, settings: Settings | None = None, *, make: bool = False) -> OpenedCollection:
        """Open the collection.

        Args:
            make: Make it when there is none; otherwise that is an error, so that a search in the wrong folder
                does not leave an empty collection there.

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
        """The settings of a collection that has been made.

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
    def aside(self, settings: Settings) -> Iterator[Collection]:
        """An empty collection that is gone after the with block: for commands that leave no trace.

        Encoders still come from the home of the settings, with all that is known of this machine there.
        """
        from indexer.catalog import Catalog
        from indexer.cli.opened import OpenedCollection
        from indexer.engines.local import LocalEngine
        from models.load import encoder_dims

        dims = encoder_dims(settings.bundle, settings.home)
        with TemporaryDirectory(prefix="indexer-") as folder:
            catalog = Catalog.open(f"sqlite:///{Path(folder, 'catalog.sqlite').as_posix()}")
            engine = LocalEngine(Path(folder, "collection"), dims)
            with OpenedCollection(settings, engine, catalog) as collection:
                yield collection

    def again(self, rest: str, **defaults: Any) -> str:
        """A command to type next, with the options that led here, but for passwords: ``indexer --home x topics``."""
        from indexer.log import masked

        flags = {name: masked(str(value)) for name, value in {**defaults, **self.flags}.items()}
        said = [f"--{name.replace('_', '-')} {shlex.quote(value)}" for name, value in flags.items()]
        return " ".join([program(), *said, rest])

    def completed(self, hint: str) -> str:
        """A hint of somebody who does not know the options that led here, with them in each command that it names."""
        root = click.get_current_context().find_root()
        names = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
        return re.sub(rf"\bindexer (?=({'|'.join(names)})\b)", lambda _: self.again(""), hint)


def program() -> str:
    """What to type to start this program: its name, or its path where the name alone would not be found."""
    called = Path(sys.argv[0])
    if called.name != "indexer" or shutil.which("indexer"):
        return "indexer"
    inside = called.is_relative_to(Path.cwd())
    return os.path.relpath(called) if inside else str(called)


def is_there(settings: Settings) -> bool:
    """Whether the collection of these settings has been made; makes nothing."""
    return settings.engine != "local" or settings.collection_folder.exists()


pass_app = click.make_pass_decorator(App, ensure=True)


def _remember_setting(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value is not None and param.name:
        ctx.ensure_object(App).flags[param.name] = value


def _remember_verbose(ctx: click.Context, param: click.Parameter, value: int) -> None:
    app = ctx.ensure_object(App)
    app.verbose += value


def _remember_traceback(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    app = ctx.ensure_object(App)
    app.traceback = app.traceback or value


def shared_options(*, hidden: bool) -> list[click.Option]:
    """The options that may stand before and after the name of a command."""

    def setting(name: str, metavar: str, text: str, **more: Any) -> click.Option:
        return click.Option(
            [f"--{name}"], metavar=metavar, help=text, hidden=hidden, expose_value=False,
            callback=_remember_setting, **more,
        )  # fmt: skip

    return [
        setting(
            "home", "PATH", "Folder for everything that is kept.  [default: .indexer]",
            type=click.Path(file_okay=False, path_type=Path),
        ),
        setting("collection", "NAME", "Collection to work on.  [default: main]"),
        setting("engine", "NAME|URL", "'local', or the URL of an Elasticsearch.  [default: local]"),
        setting("bundle", "NAME", "Encoder for a new collection.  [default: minilm-phrases]"),
        setting("encoder", "PATH", "Your own encoder for a new collection: my_package.MyEncoder."),
        setting(
            "backend", "NAME",
            "auto, torch-fp32, torch-bf16, torch (GPU), onnx-fp32 or onnx-int8.  [default: auto]",
        ),
        setting("threads", "N", "CPU threads; 0 means all cores.  [default: 0]", type=int),
        click.Option(
            ["-v", "--verbose"], count=True, help="Show log lines: -v what is done, -vv details.", hidden=hidden,
            expose_value=False, callback=_remember_verbose,
        ),
        click.Option(
            ["--traceback"], is_flag=True, help="On an error, show where in the program it arose.", hidden=hidden,
            expose_value=False, callback=_remember_traceback,
        ),
    ]  # fmt: skip


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
                message = f"{error.message} What begins with - and is no option goes behind --."
                raise click.NoSuchOption(error.option_name, message, error.possibilities, ctx) from None
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write_text(SHARED_NOTE)


def command(name: str | None = None) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command of this program."""
    return click.command(name, cls=Command)


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


def json_option(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(function)
