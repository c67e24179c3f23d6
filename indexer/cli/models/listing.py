"""indexer models list"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indexer.cli.app import App, command, is_there, json_option, pass_app
from indexer.cli.output import print_json, say, table
from indexer.export.formatting import clean

if TYPE_CHECKING:
    from indexer.settings import Settings
    from models.bundle import Bundle
    from models.registry import Registry


@command("list")
@json_option
@pass_app
def list_(app: App, as_json: bool) -> None:
    """List the encoders that can be used, and where each comes from; * is the one that the collection is mined with.

    Of those that a retrain has made, `gate` says whether they might take over.

    \b
    Examples:
      indexer models
      indexer models list --json
    """
    from models.registry import Registry

    settings = app.settings()
    registry = Registry(settings.home)
    generations = used_by(settings)
    judged = judgements(settings)
    rows = [
        {
            **described(registry, name),
            "used": name == generations.live,
            "generations": generations.of.get(name, []),
            "gate": judged.get(name, {}),
        }
        for name in registry.list()
    ]
    if as_json:
        print_json(rows)
        return
    say(
        table(
            [
                (
                    "*" if row["used"] else "",
                    row["name"],
                    _dims(row),
                    row["where"],
                    row["parent"],
                    row["created"][:10],
                    verdict(row["gate"]),
                    clean(row["error"] or row["about"]),
                )
                for row in rows
            ],
            head=("", "name", "dims", "where", "from", "made", "gate", "about"),
            right=(2,),
        )
    )


@dataclass(frozen=True)
class Used:
    """What the generations of the collection were mined with."""

    live: str  # bundle; without a collection, the one that a new one would get
    of: Mapping[str, list[int]]  # bundle ► numbers of generations


def used_by(settings: Settings) -> Used:
    """Ask the engine."""
    from indexer.engines.registry import open_generations

    if not is_there(settings):
        return Used(settings.bundle, {})
    of: dict[str, list[int]] = {}
    live = settings.bundle
    with closing(open_generations(settings)) as generations:
        for one in generations.all():
            of.setdefault(one.bundle, []).append(one.number)
            if one.state == "live" and one.bundle:
                live = one.bundle
    return Used(live, of)


def judgements(settings: Settings) -> dict[str, Mapping[str, Any]]:
    """What the gate said of bundles that retrains of the collection have made."""
    from indexer.catalog import Catalog

    if not is_there(settings):
        return {}
    settings.make_home()
    with Catalog.open(settings.database) as catalog:
        return {bundle.name: bundle.scores for bundle in catalog.bundles(settings.collection)}


def verdict(judged: Mapping[str, Any]) -> str:
    """Whether it might take over; empty when it was not judged."""
    return "" if not judged else "accepted" if judged["accepted"] else "refused"


def described(registry: Registry, name: str) -> dict[str, Any]:
    """A bundle as plain data; one that cannot be used says why."""
    from indexer.errors import ModelError

    row: dict[str, Any] = {"name": name, "error": "", "about": "", "dims": None, "parent": "", "created": ""}
    row["where"] = "home" if registry.path(name).is_relative_to(registry.folder) else "shipped"
    try:
        bundle = registry.get(name)
        return {**row, **_card(bundle), "dims": bundle.dims}
    except ModelError as error:
        return {**row, "error": str(error)}


def _card(bundle: Bundle) -> dict[str, Any]:
    return {
        "about": bundle.about,
        "licence": bundle.licence,
        "base": dict(bundle.base),
        "parent": bundle.parent,
        "window_tokens": bundle.window_tokens,
        "trained_on": bundle.trained_on,
        "scores": dict(bundle.scores),
        "created": bundle.created,
    }


def _dims(row: dict[str, Any]) -> str:
    return str(row["dims"] or "?")
