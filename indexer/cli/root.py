"""The root command: the list of commands, the shared options, and how errors are shown."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from indexer.cli.app import App, shared_options
from indexer.cli.lazy import LazyGroup

SECTIONS = {
    "Read and mine": {
        "index": "indexer.cli.index:index",
        "enrich": "indexer.cli.enrich:enrich",
        "plan": "indexer.cli.plan:plan",
        "compare": "indexer.cli.compare:compare",
        "retry": "indexer.cli.retry:retry",
        "delete": "indexer.cli.delete:delete",
    },
    "Find": {
        "search": "indexer.cli.search:search",
        "phrases": "indexer.cli.phrases:phrases",
        "topics": "indexer.cli.topics:topics",
        "show": "indexer.cli.show:show",
        "keyphrases": "indexer.cli.keyphrases:keyphrases",
    },
    "Show": {
        "serve": "indexer.cli.serve:serve",
        "report": "indexer.cli.report:report",
        "keys": "indexer.cli.keys:keys",
    },
    "Look after": {
        "status": "indexer.cli.status:status",
        "doctor": "indexer.cli.doctor:doctor",
        "worker": "indexer.cli.worker:worker",
        "retrain": "indexer.cli.retrain:retrain",
        "rollback": "indexer.cli.rollback:rollback",
        "history": "indexer.cli.history:history",
        "generations": "indexer.cli.generations:generations",
        "models": "indexer.cli.models:models",
        "train": "indexer.cli.train:train",
        "evaluate": "indexer.cli.evaluate:evaluate",
        "demo": "indexer.cli.demo:demo",
    },
}
INTERRUPTED = 130  # what shells use: 128 + SIGINT


class Root(LazyGroup):
    """Shows our errors as two lines: what happened, and what to do next. Others keep their traceback: they are bugs."""

    def invoke(self, ctx: click.Context) -> Any:
        from indexer.errors import BundleMissing, IndexerError

        app = ctx.ensure_object(App)
        try:
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
        except KeyboardInterrupt:
            goes_on = " What is written stays; the same command goes on where it stopped."
            click.echo(f"\nStopped.{goes_on if app.resumable else ''}", err=True)
            ctx.exit(INTERRUPTED)


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

    \b
    See it work:      indexer demo
    Your own files:   indexer index notes/ articles.jsonl
    Then:             indexer topics
                      indexer search "solar wind"

    Settings come from options, INDEXER_… in the environment and indexer.toml, in this order.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        ctx.color = False
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a character shows a ? for it
            stream.reconfigure(errors="replace")
