"""indexer status: counts, problems, runs, dead letters, and the work of the workers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import facts, near, print_json, say, show_result, table
from indexer.export.formatting import clean, count, duration, moment, size

if TYPE_CHECKING:
    from indexer.catalog import DeadLetter, Run, SavedSearch
    from indexer.collection import Collection
    from indexer.collection.status import PartialStatus, WorkStatus

STATES = {"stored": "stored only", "mined": "mined, not finished", "done": "done"}
FINISHING = "all is mined; keyphrases, topics and phrase rows follow"
POLL_INTERVAL_S = 2.0
ANSWERS_S = 2.0  # a server that takes longer for a request is reported as away
RUN_COUNTS = ("read", "new", "changed", "deleted", "mined", "written", "failed", "documents")
RUNS_HEAD = ("started", "run", "state", "took", "result")
DEAD_LETTERS_HEAD = ("number", "stage", "tries", "last", "reason")


@command()
@click.option("--dead", is_flag=True, help="List what could not be processed, and why.")
@click.option("--watch", is_flag=True,
              help="Print the work of the workers every two seconds, until it is done.")  # fmt: skip
@json_option
@pass_app
def status(app: App, dead: bool, watch: bool, as_json: bool) -> None:
    """Show counts, sizes, problems and the last runs.

    If the engine or the catalog is away, the state of the other is shown, and the exit code is 1.

    \b
    Examples:
      indexer status
      indexer status --dead
      indexer status --watch
      indexer status --json
    """
    if watch and as_json:
        raise click.UsageError("--watch is for people; a program can repeat --json.")
    if watch:
        with app.collection() as collection:
            _watch(app, collection)
    elif dead:
        with app.collection() as collection:
            letters = collection.dead_letters()
        value = [asdict(letter) for letter in letters]
        show_result(value, _format_dead_letters(letters) or "no dead letters", as_json=as_json)
    else:
        _show_status(app, as_json)


def _show_status(app: App, as_json: bool) -> None:
    from indexer.collection.status import partial_status
    from indexer.errors import CatalogError, SearchError
    from indexer.log import masked

    settings = app.settings()
    settings = settings.model_copy(update={"request_timeout": min(settings.request_timeout, ANSWERS_S)})
    found: PartialStatus
    unserved, exit_code = "", 0
    try:
        with app.collection(settings) as collection:
            found, problems = collection.status(), collection.problems()
            unserved = "" if as_json else _unserved(app, collection)
    except (SearchError, CatalogError) as error:
        found, problems = partial_status(settings, error)
        exit_code = 1
    if found.work and found.work.broker_is_away:
        problems += (f"The broker at {masked(settings.broker)} does not answer.",)
    if as_json:
        print_json({**asdict(found), "home": str(settings.home), "problems": problems})
    else:
        about = facts(_facts(app, found, str(settings.home), problems, unserved))
        runs = table([_run(run) for run in found.last_runs], head=RUNS_HEAD, right=(3,))
        say(f"{about}\n\n{runs}".rstrip())
    click.get_current_context().exit(exit_code)


def _facts(
    app: App, found: PartialStatus, home: str, problems: Sequence[str], unserved: str
) -> Iterator[tuple[str, str]]:
    yield "collection", f"{found.collection} in {home}"
    for problem in problems:
        yield "problem", clean(app.completed(problem))
    yield from _counts(found)
    yield "bundle", found.bundle
    if found.drift:
        yield "drift", str(found.drift)
    if found.worth_a_retrain:
        yield "worth a retrain", f"because of {', '.join(found.drifted)}: {app.again('retrain --if-drifted')}"
    if found.work:  # the catalog answers
        dead = [f"{stage} {number:,}" for stage, number in found.dead.items() if number]
        more = f" ({', '.join(dead)}); see them: {app.again('status --dead')}" if dead else ""
        yield "dead letters", f"{sum(found.dead.values()):,}{more}"
    if found.saved_searches:
        yield "saved searches", clean(", ".join(map(_saved, found.saved_searches)))
    if found.lock:
        yield "writing now", found.lock
    if found.retraining:
        yield "retraining", found.retraining
    if found.watching:
        yield "watching", found.watching
    if found.work and not found.work.idle:
        yield from _work_facts(app, found.work, unserved)


def _saved(saved: SavedSearch) -> str:
    return f"{saved.name}: {f'failed, {saved.error}' if saved.error else count(saved.new, 'new hit')}"


def _counts(found: PartialStatus) -> Iterator[tuple[str, str]]:
    """Numbers of the engine; without it, those of the catalog."""
    engine = found.engine
    if engine:
        yield "engine", f"{engine.description}; {size(engine.bytes)}"
    states = [f"{number:,} {STATES.get(state, state)}" for state, number in found.documents.items() if number]
    unfinished = any(number for state, number in found.documents.items() if state != "done")
    number = engine.documents if engine else sum(found.documents.values())
    yield "documents", f"{number:,}" + (f" ({', '.join(states)})" if unfinished else "")
    if engine:
        yield "phrases", f"{engine.phrases:,}; {count(engine.mentions, 'mention')}"
        yield "topics", f"{engine.topics:,}; {count(engine.without_topic, 'document')} without one"


def _work_facts(app: App, work: WorkStatus, unserved: str) -> Iterator[tuple[str, str]]:
    left = count(work.left, "document")
    yield "workers", f"{left} left; {_batches(work)}; watch: {app.again('status --watch')}"
    if work.finishing:
        yield "finishing", _finishing(work)
    if unserved:
        yield "no worker", unserved
    for run in work.retrains:
        yield "with workers", _retrain(run)
    if work.batches.holders:
        yield "at work", ", ".join(work.batches.holders)
    for problem in work.batches.problems:
        yield "postponed", clean(problem)


def _unserved(app: App, collection: Collection) -> str:
    """Say which queues have work and no worker; empty if every queue has one."""
    if not collection.settings.broker:
        waiting = ", ".join(collection.work().idle_queues)
        return f"{waiting}: INDEXER_BROKER is not set here, so no worker can be asked" if waiting else ""
    queues = collection.unattended()
    start = app.again(f"worker --queue {','.join(queues)}")
    return f"no worker answers for {', '.join(queues)}; start one: {start}" if queues else ""


def _batches(work: WorkStatus) -> str:
    """``prepare 3 waiting, 1 at work; encode 12 waiting, 2 at work; 1 postponed``"""
    parts = []
    for state, waiting in work.batches.waiting.items():
        queue = f" ({_depth(work.queues[state])})" if state in work.queues else ""
        parts.append(f"{state} {waiting:,} waiting{queue}, {work.batches.held[state]:,} at work")
    if work.batches.delayed:
        parts.append(f"{work.batches.delayed:,} postponed")
    for name in ("train", "maintain"):  # for these there are no batches
        if messages := work.queues.get(name):
            parts.append(f"{name} {count(messages, 'message')}")
    return "; ".join(parts)


def _retrain(run: Run) -> str:
    """The start of a retrain, and its progress at the end of its last slice."""
    progress = f": {clean(str(run.counts['reason']))}" if run.counts.get("reason") else ""
    return f"retrain since {moment(run.started_at)}{progress}"


def _finishing(work: WorkStatus) -> str:
    return f"{FINISHING}{f': {work.finisher}' if work.finisher else ''}"


def _depth(messages: int | None) -> str:
    return "the broker does not answer" if messages is None else count(messages, "message")


def _watch(app: App, collection: Collection) -> None:
    """Print a line every two seconds; the rate is the mean of the last ten."""
    from collections import deque

    seen: deque[tuple[float, int]] = deque(maxlen=6)
    printed: set[str] = set()
    while True:
        work = collection.work()
        if work.idle:
            say("the workers have no work")
            return
        seen.append((time.monotonic(), work.mined))
        seconds, mined = (seen[-1][at] - seen[0][at] for at in (0, 1))
        rate = round(mined / seconds, 1) if seconds else 0.0
        if work.finishing:
            say(_finishing(work))
        else:
            say(f"{count(work.left, 'document')} left, {rate:,} a second; {_batches(work)}")
        for run in work.retrains:
            say(_retrain(run))
        warnings = {f"Postponed: {clean(problem)}" for problem in work.batches.problems}
        if unserved := _unserved(app, collection):
            warnings.add(f"No worker: {unserved}")
        for warning in sorted(warnings - printed):
            click.echo(warning, err=True)
        printed |= warnings
        time.sleep(POLL_INTERVAL_S)


def _run(run: Run) -> tuple[str, ...]:
    took = duration((run.finished_at - run.started_at).total_seconds()) if run.finished_at else ""
    return moment(run.started_at), run.kind, run.state, took, clean(_result(run))


def _result(run: Run) -> str:
    if run.error:
        return run.error
    if verdict := run.counts.get("verdict"):
        return str(verdict)
    counts = [f"{run.counts[name]:,} {name}" for name in RUN_COUNTS if run.counts.get(name)]
    if run.counts.get("new_fit"):
        counts.append(f"{count(run.counts['topics'], 'topic')} found")
    return ", ".join(counts) or ("nothing changed" if run.state == "finished" else "")


def _format_dead_letters(letters: Sequence[DeadLetter]) -> str:
    """Format dead letters, one on a line; the reason begins with FILE:LINE, if known."""
    return table([_letter(letter) for letter in letters], head=DEAD_LETTERS_HEAD, right=(0, 2))


def _letter(letter: DeadLetter) -> tuple[str, ...]:
    reason = letter.reason if letter.reason.startswith(letter.source) else f"{letter.source}: {letter.reason}"
    return str(letter.id), letter.stage, f"{letter.attempts:,}", moment(letter.last_at), clean(near(reason))
