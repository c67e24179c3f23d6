"""indexer models show"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.models.listing import described, judgements
from indexer.cli.output import facts, print_json, say
from indexer.export.formatting import clean

if TYPE_CHECKING:
    from models.bundle import Bundle


@command()
@click.argument("name")
@json_option
@pass_app
def show(app: App, name: str, as_json: bool) -> None:
    """Show what is known of the encoder NAME: base model, training, licence, scores, what the gate said.

    \b
    Example:
      indexer models show minilm-base
    """
    from indexer.cli.gate import judgement
    from models.registry import Registry
    from trainer.retrain.gate import GateCheck, Report

    settings = app.settings()
    registry = Registry(settings.home)
    bundle = registry.get(name)
    judged = judgements(settings).get(name, {})
    if as_json:
        more = {"fingerprint": bundle.fingerprint, "folder": str(bundle.folder), "gate": judged}
        print_json({**described(registry, name), **more})
        return
    say(facts(_about(bundle, described(registry, name))))
    if judged:
        checks = [GateCheck(**check) for check in judged["checks"]]
        say("")
        say(judgement(name, Report(tuple(checks), tuple(judged["reasons"]))))
        for reason in judged["reasons"]:
            say(reason)


def _about(bundle: Bundle, row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "name", bundle.name
    if bundle.about:
        yield "about", clean(bundle.about)
    yield "base", ", ".join(f"{kind} {place}" for kind, place in bundle.base.items())
    yield "vectors", f"{row['dims']} numbers; windows of {bundle.window_tokens} word pieces"
    if bundle.licence:
        yield "licence", clean(bundle.licence)
    yield "trained", f"on {bundle.trained_on}" if bundle.trained_on else "no: as the base model is"
    if bundle.parent:
        yield "from", bundle.parent
    if bundle.created:
        yield "created", bundle.created
    for task, score in bundle.scores.items():
        yield task, f"{score:.4g}" if isinstance(score, float) else str(score)
    yield "fingerprint", bundle.fingerprint[:16]
    yield "folder", str(bundle.folder)
