"""indexer worker"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any

import click

from indexer.cli.app import App, command, pass_app
from indexer.export.formatting import count


def _queues(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    from workers.queues import QUEUES

    names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    unknown = [name for name in names if name not in QUEUES]
    if unknown or not names:
        raise click.BadParameter(
            f"there is no queue {unknown[0] if unknown else value!r}; the queues are {', '.join(QUEUES)}."
        )
    return names


@command()
@click.option("--queue", "queues", default="prepare,encode,maintain", show_default=True, callback=_queues,
              metavar="NAME[,NAME]", help="Queues to serve: prepare, encode, maintain, train.")  # fmt: skip
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N",
              help="Processes for each queue.  [default: one; for encode one for each GPU, or two]")  # fmt: skip
@click.option("--metrics", metavar="[HOST:]PORT", help="Serve metrics for Prometheus there.")
@click.option("--wait", type=click.FloatRange(min=0), default=90.0, show_default=True, metavar="SECONDS",
              help="Wait so long for a broker that does not answer yet.")  # fmt: skip
@pass_app
def worker(
    app: App, queues: tuple[Any, ...], concurrency: int | None, metrics: str | None, wait: float
) -> None:
    """Serve the queues of indexer index on this machine.

    Needs a broker (INDEXER_BROKER), and the same engine and catalog as indexer index. prepare finds candidate phrases
    (CPU), encode computes vectors and writes (GPU if present), maintain finishes runs and resends lost messages; one
    maintain is enough. A process that dies is restarted. Ctrl-C or SIGTERM: current tasks are finished first.

    \b
    Examples:
      indexer worker
      indexer worker --queue prepare --concurrency 4
      indexer worker --queue encode --metrics 9100
    """
    from indexer.errors import SettingsError, require
    from models.hardware import physical_cores

    require("celery", extra="workers", purpose="A worker")
    from workers.messages import Sender
    from workers.metrics import serve_metrics
    from workers.queues import gpus, processes
    from workers.retry import retry_until_available
    from workers.supervisor import Supervisor

    settings = app.settings()
    if not settings.broker:
        raise SettingsError(
            "There is no broker: workers get their tasks from one.",
            hint="Set INDEXER_BROKER, for example to redis://localhost:6379/0. See docs/workers.md",
        )
    retry_until_available(Sender(settings).check, seconds=wait)
    started = processes(queues, concurrency, settings.threads or physical_cores(), gpus())
    click.echo(
        f"{count(len(started), 'process', 'processes')}: {', '.join(process.name for process in started)}",
        err=True,
    )
    with ExitStack() as stack:
        places = stack.enter_context(serve_metrics(metrics)) if metrics else {}
        Supervisor(started, {**_environment(app), **places}, say=partial(click.echo, err=True)).run()


def _environment(app: App) -> dict[str, str]:
    """Return the options as environment variables: other users can read a command line."""
    environment = {f"INDEXER_{name.upper()}": str(value) for name, value in app.flags.items()}
    if app.verbose:
        environment["INDEXER_LOG_LEVEL"] = "info" if app.verbose == 1 else "debug"
    return environment
