"""indexer status"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import (
    facts,
    near,
    print_json,
    say,
    table,
)
from indexer.export.formatting import (
    clean,
    count,
    duration,
    moment,
    size,
)

if TYPE_CHECKING:
    from indexer.catalog import DeadLetter, Run
    from indexer.collection import Collection
    from indexer.collection.status import Status, WorkStatus

STATES = {"stored": "stored only", "mined": "mined, not finished", "done": "done"}
FINISHING = "all is mined; keyphrases, topics and phrase rows follow"
POLL_INTERVAL_S = 2.0  # seconds
COUNTS_SHOWN = ("read", "new", "changed", "deleted", "mined", "written", "failed", "documents")


@command()
@click.option("--dead", is_flag=True, help="List what could not be processed, and why.")
@click.option(
    "--watch", is_flag=True, help="Show what the workers do, every two seconds, until they are through."
)
@json_option
@pass_app
def status(app: App, dead: bool, watch: bool, as_json: bool) -> None:
    """Show counts, sizes, problems and the last runs.

    \b
    Examples:
      indexer status
      indexer status --dead
      indexer status --watch
      indexer status --json
    """
    if watch and as_json:
        raise click.UsageError("--watch is for people; a program asks --json again and again.")
    if watch:
        with app.collection() as collection:
            _watch(app, collection)
        return
    with app.collection() as collection:
        letters = collection.dead_letters() if dead else []
        found = None if dead else collection.status()
        nobody = _unattended(app, collection) if found and not as_json else ""
        home = collection.settings.home
    if found is None:
        if as_json:
            print_json([asdict(letter) for letter in letters])
        else:
            say(rendered_dead_letters(letters) or "no dead letters")
    elif as_json:
        print_json({**asdict(found), "home": str(home)})
    else:
        say(rendered(app, found, str(home), nobody))


def rendered(app: App, found: Status, home: str, nobody: str) -> str:
    """Facts, then the last runs."""
    runs = table(
        [
            (moment(run.started_at), run.kind, run.state, _took(run), clean(_done(run)))
            for run in found.last_runs
        ],
        head=("started", "run", "state", "took", "what it did"),
        right=(3,),
    )
    return f"{facts(_facts(app, found, home, nobody))}\n\n{runs}".rstrip()


def _facts(app: App, found: Status, home: str, nobody: str) -> Iterator[tuple[str, str]]:
    engine = found.engine
    yield "collection", f"{found.collection} in {home}"
    yield "engine", f"{engine.description}; {size(engine.bytes)}"
    states = [f"{number:,} {STATES.get(state, state)}" for state, number in found.documents.items() if number]
    unfinished = any(number for state, number in found.documents.items() if state != "done")
    yield "documents", f"{engine.documents:,}" + (f" ({', '.join(states)})" if unfinished else "")
    yield "phrases", f"{engine.phrases:,}; {count(engine.mentions, 'mention')}"
    yield "topics", f"{found.topics:,}; {count(found.without_topic, 'document')} without one"
    yield "bundle", found.bundle
    yield "drift", str(found.drift)
    if found.worth_a_retrain:
        why = ", ".join(found.drifted)
        yield "worth a retrain", f"because of {why}: {app.again('retrain --if-drifted')}"
    dead = [f"{stage} {number:,}" for stage, number in found.dead.items() if number]
    more = f" ({', '.join(dead)}); see them: {app.again('status --dead')}" if dead else ""
    yield "dead letters", f"{sum(found.dead.values()):,}{more}"
    if found.lock:
        yield "writing now", found.lock
    if found.retraining:
        yield "retraining", found.retraining
    if found.watching:
        yield "watching", found.watching
    if not found.work.idle:
        yield from _work_facts(app, found.work, nobody)


def _work_facts(app: App, work: WorkStatus, nobody: str) -> Iterator[tuple[str, str]]:
    yield (
        "workers",
        f"{count(work.left, 'document')} left; {_batches(work)}; watch: {app.again('status --watch')}",
    )
    if work.finishing:
        yield "finishing", f"{FINISHING}{f': {work.finisher}' if work.finisher else ''}"
    if nobody:
        yield "nobody there", nobody
    for run in work.retrains:
        yield "with workers", f"retrain since {moment(run.started_at)}{_far(run)}"
    if work.batches.holders:
        yield "at work", ", ".join(work.batches.holders)
    for problem in work.batches.problems:
        yield "put off", clean(problem)


def _unattended(app: App, collection: Collection) -> str:
    """What to say where something is to be done and no worker answers; empty where one does."""
    if not collection.settings.broker:
        waiting = ", ".join(collection.work().idle_queues)
        return f"{waiting}: INDEXER_BROKER is not set here, so no worker can be asked" if waiting else ""
    queues = collection.unattended()
    start = app.again(f"worker --queue {','.join(queues)}")
    return f"no worker answers for {', '.join(queues)}; start one: {start}" if queues else ""


def _batches(work: WorkStatus) -> str:
    """``prepare 3 waiting, 1 at work; encode 12 waiting, 2 at work; 1 put off``"""
    parts = []
    for state, waiting in work.batches.waiting.items():
        queue = f" ({_depth(work.queues[state])})" if state in work.queues else ""
        parts.append(f"{state} {waiting:,} waiting{queue}, {work.batches.held[state]:,} at work")
    if work.batches.delayed:
        parts.append(f"{work.batches.delayed:,} put off")
    for name in ("train", "maintain"):  # for these there are no batches
        if messages := work.queues.get(name):
            parts.append(f"{name} {count(messages, 'message')}")
    return "; ".join(parts)


def _far(run: Run) -> str:
    """How far a retrain was at the end of its last slice."""
    return f": {clean(str(run.counts['reason']))}" if run.counts.get("reason") else ""


def _depth(messages: int | None) -> str:
    return "the broker does not answer" if messages is None else count(messages, "message")


def _watch(app: App, collection: Collection) -> None:
    """A line every two seconds; the rate is that of the last ten."""
    from collections import deque

    seen: deque[tuple[float, int]] = deque(maxlen=6)
    told: set[str] = set()
    while True:
        work = collection.work()
        if work.idle:
            say("nothing is with the workers")
            return
        seen.append((time.monotonic(), work.mined))
        seconds, mined = (seen[-1][at] - seen[0][at] for at in (0, 1))
        rate = round(mined / seconds, 1) if seconds else 0.0
        if work.finishing:
            say(f"{FINISHING}{f': {work.finisher}' if work.finisher else ''}")
        else:
            say(f"{count(work.left, 'document')} left, {rate:,} a second; {_batches(work)}")
        for run in work.retrains:
            say(f"retrain since {moment(run.started_at)}{_far(run)}")
        warnings = {f"Put off: {clean(problem)}" for problem in work.batches.problems}
        if nobody := _unattended(app, collection):
            warnings.add(f"Nobody there: {nobody}")
        for warning in sorted(warnings - told):
            click.echo(warning, err=True)
        told |= warnings
        time.sleep(POLL_INTERVAL_S)


def _took(run: Run) -> str:
    return duration((run.finished_at - run.started_at).total_seconds()) if run.finished_at else ""


def _done(run: Run) -> str:
    if run.error:
        return run.error
    if verdict := run.counts.get("verdict"):
        return str(verdict)
    shown = [f"{run.counts[name]:,} {name}" for name in COUNTS_SHOWN if run.counts.get(name)]
    if run.counts.get("new_fit"):
        shown.append(f"{count(run.counts['topics'], 'topic')} found")
    return ", ".join(shown) or ("nothing changed" if run.state == "finished" else "")


def rendered_dead_letters(letters: Sequence[DeadLetter]) -> str:
    """Dead letters, one on a line; the reason begins with FILE:LINE where that is known, the line with its number."""
    return table(
        [_letter(letter) for letter in letters],
        head=("number", "stage", "tries", "last", "reason"),
        right=(0, 2),
    )


def _letter(letter: DeadLetter) -> tuple[str, ...]:
    reason = letter.reason if letter.reason.startswith(letter.source) else f"{letter.source}: {letter.reason}"
    return str(letter.id), letter.stage, f"{letter.attempts:,}", moment(letter.last_at), clean(near(reason))
