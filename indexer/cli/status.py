"""indexer status"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.text import clean, count, duration, facts, near, print_json, say, size, table
from indexer.cli.times import moment

if TYPE_CHECKING:
    from indexer.answers import Status
    from indexer.catalog import DeadLetter, Run

STATES = {"stored": "stored only", "mined": "mined, not finished", "done": "done"}
COUNTS_SHOWN = ("read", "new", "changed", "deleted", "mined", "written", "failed", "documents")


@command()
@click.option("--dead", is_flag=True, help="List what could not be processed, and why.")
@json_option
@pass_app
def status(app: App, dead: bool, as_json: bool) -> None:
    """Show counts, sizes, problems and the last runs.

    \b
    Examples:
      indexer status
      indexer status --dead
      indexer status --json
    """
    with app.collection() as collection:
        letters = collection.dead_letters() if dead else []
        found = None if dead else collection.status()
        home = collection.settings.home
    if found is None:
        if as_json:
            print_json([asdict(letter) for letter in letters])
        else:
            say(rendered_letters(letters) or "no dead letters")
    elif as_json:
        print_json({**asdict(found), "home": str(home)})
    else:
        say(rendered(app, found, str(home)))


def rendered(app: App, found: Status, home: str) -> str:
    """Facts, then the last runs."""
    runs = table(
        [
            (moment(run.started_at), run.kind, run.state, _took(run), clean(_done(run)))
            for run in found.last_runs
        ],
        head=("started", "run", "state", "took", "what it did"),
        right=(3,),
    )
    return f"{facts(_facts(app, found, home))}\n\n{runs}".rstrip()


def _facts(app: App, found: Status, home: str) -> Iterator[tuple[str, str]]:
    engine = found.engine
    yield "collection", f"{found.collection} in {home}"
    yield "engine", f"{engine.description}; {size(engine.bytes)}"
    states = [f"{number:,} {STATES.get(state, state)}" for state, number in found.documents.items() if number]
    unfinished = any(number for state, number in found.documents.items() if state != "done")
    yield "documents", f"{engine.documents:,}" + (f" ({', '.join(states)})" if unfinished else "")
    yield "phrases", f"{engine.phrases:,}; {count(engine.mentions, 'mention')}"
    yield "topics", f"{found.topics:,}; {count(found.without_topic, 'document')} without one"
    yield "bundle", found.bundle
    dead = [f"{stage} {number:,}" for stage, number in found.dead.items() if number]
    more = f" ({', '.join(dead)}); see them: {app.again('status --dead')}" if dead else ""
    yield "dead letters", f"{sum(found.dead.values()):,}{more}"
    if found.lock:
        yield "writing now", found.lock


def _took(run: Run) -> str:
    return duration((run.finished_at - run.started_at).total_seconds()) if run.finished_at else ""


def _done(run: Run) -> str:
    if run.error:
        return run.error
    shown = [f"{run.counts[name]:,} {name}" for name in COUNTS_SHOWN if run.counts.get(name)]
    return ", ".join(shown) or ("nothing changed" if run.state == "finished" else "")


def rendered_letters(letters: Sequence[DeadLetter]) -> str:
    """Dead letters, one on a line; the reason begins with FILE:LINE where that is known."""
    return table(
        [_letter(letter) for letter in letters], head=("stage", "tries", "last", "reason"), right=(1,)
    )


def _letter(letter: DeadLetter) -> tuple[str, ...]:
    reason = letter.reason if letter.reason.startswith(letter.source) else f"{letter.source}: {letter.reason}"
    return letter.stage, f"{letter.attempts:,}", moment(letter.last_at), clean(near(reason))
