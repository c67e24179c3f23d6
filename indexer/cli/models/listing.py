"""indexer models list"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.text import clean, print_json, say, table

if TYPE_CHECKING:
    from models.bundle import Bundle
    from models.registry import Registry


@command("list")
@json_option
@pass_app
def list_(app: App, as_json: bool) -> None:
    """List the encoders that can be used; * is the one of the settings.

    \b
    Examples:
      indexer models
      indexer models list --json
    """
    from models.registry import Registry

    settings = app.settings()
    registry = Registry(settings.home)
    found = [(registry, name) for name in registry.list()]
    rows = [{**described(*pair), "used": pair[1] == settings.bundle} for pair in found]
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
                    clean(row["error"] or row["about"]),
                )
                for row in rows
            ],
            head=("", "name", "dims", "where", "about"),
            right=(2,),
        )
    )


def described(registry: Registry, name: str) -> dict[str, Any]:
    """A bundle as plain data; one that cannot be used says why."""
    from indexer.errors import ModelError

    row: dict[str, Any] = {"name": name, "error": "", "about": "", "dims": None}
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
        "window_tokens": bundle.window_tokens,
        "trained_on": bundle.trained_on,
        "scores": dict(bundle.scores),
        "created": bundle.created,
    }


def _dims(row: dict[str, Any]) -> str:
    return str(row["dims"] or "?")
