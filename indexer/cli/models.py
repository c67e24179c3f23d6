"""indexer models: list, show, import and remove encoders (bundles)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from indexer.cli.app import App, Group, is_there, json_option, pass_app
from indexer.cli.output import facts, print_json, say, show_result, table
from indexer.export.formatting import clean

if TYPE_CHECKING:
    from indexer.settings import Settings
    from models.bundle import Bundle
    from models.registry import Registry
    from trainer.retrain.gate import Report

LIST_HEAD = ("", "name", "dims", "where", "from", "made", "gate", "about")


@click.group(cls=Group, default="list")
def models() -> None:
    """List, show, import and remove encoders (bundles).

    A bundle is an encoder on disk: a base model, its trained changes, and its origin. Some are shipped with the
    program; others are in the home.

    \b
    Examples:
      indexer models
      indexer models show minilm-base
      indexer models import downloads/luke-base --name luke
    """


class Layers(click.ParamType):  # type: ignore[type-arg]
    """Layers such as 3-6 or 0,5,6."""

    name = "layers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        found: list[int] = []
        for part in str(value).split(","):
            bounds = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
            if not bounds or int(bounds[1]) > int(bounds[2] or bounds[1]):
                self.fail(f"{value!r} are not layers; write 3-6 or 0,5,6.", param, ctx)
            found += range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1)
        return tuple(found)


@models.command("list")
@json_option
@pass_app
def list_(app: App, as_json: bool) -> None:
    """List encoders and their origin; * marks the collection's.

    For encoders made by a retrain, `gate` is the verdict of its comparison with the encoder before.

    \b
    Examples:
      indexer models
      indexer models list --json
    """
    from models.registry import Registry

    settings = app.settings()
    registry = Registry(settings.home)
    live, generations = _used_bundles(settings)
    verdicts = _verdicts(settings)
    rows = [
        {
            **_described(registry, name),
            "used": name == live,
            "generations": generations.get(name, []),
            "gate": verdicts.get(name, {}),
        }
        for name in registry.list()
    ]
    show_result(rows, table([_list_row(row) for row in rows], head=LIST_HEAD, right=(2,)), as_json=as_json)


@models.command()
@click.argument("name")
@json_option
@pass_app
def show(app: App, name: str, as_json: bool) -> None:
    """Show the encoder NAME: base model, training, licence, scores, gate.

    \b
    Example:
      indexer models show minilm-base
    """
    from models.registry import Registry
    from trainer.retrain.gate import GateCheck, Report

    settings = app.settings()
    registry = Registry(settings.home)
    bundle = registry.get(name)
    verdict = _verdicts(settings).get(name, {})
    if as_json:
        more = {"fingerprint": bundle.fingerprint, "folder": str(bundle.folder), "gate": verdict}
        print_json({**_described(registry, name), **more})
        return
    say(facts(_about(bundle)))
    if verdict:
        checks = tuple(GateCheck(**check) for check in verdict["checks"])
        say(f"\n{gate_table(name, Report(checks, tuple(verdict['reasons'])))}")
        for reason in verdict["reasons"]:
            say(reason)


@models.command("import")
@click.argument("source")
@click.option("--name", default="", help="Name of the bundle.  [default: the last part of SOURCE]")
@click.option("--span-layers", type=Layers(), default=(), metavar="LAYERS",
              help="Layers, from 1, whose mean encodes mentions and phrases.  [default: the last]")  # fmt: skip
@click.option("--document-layers", type=Layers(), default=(), metavar="LAYERS",
              help="The same for documents.  [default: the last]")  # fmt: skip
@pass_app
def import_(
    app: App, source: str, name: str, span_layers: tuple[int, ...], document_layers: tuple[int, ...]
) -> None:
    """Make an encoder of a third-party model.

    SOURCE is a folder with config.json, a tokenizer and weights as safetensors, or a name on the Hugging Face hub,
    OWNER/MODEL or OWNER/MODEL@REVISION. Supported are BERT, RoBERTa, XLM-R, CamemBERT, DistilBERT, LUKE and BART (its
    encoder). Pickled weights and models with custom code are refused.

    \b
    Examples:
      indexer models import downloads/distilbert-base-nli --document-layers 1-6
      indexer models import whaleloops/phrase-bert@refs/pr/1 --name phrase-bert
    """
    from models.import_ import ImportOptions, import_checkpoint

    options = ImportOptions(name, span_layers, document_layers)
    bundle = import_checkpoint(source, options, home=app.settings().home)
    say(f"Bundle '{bundle.name}' is in {bundle.folder}.")
    app.flags.pop("bundle", None)
    say(f"Index with it: {app.again(f'index SOURCE --bundle {bundle.name} --collection NAME')}")


@models.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@pass_app
def remove(app: App, name: str, yes: bool) -> None:
    """Delete the encoder NAME from the home.

    Shipped encoders and the encoders of the collection's generations are not deleted.

    \b
    Example:
      indexer models remove my-encoder
    """
    from indexer.errors import QueryError
    from models.registry import Registry

    settings = app.settings()
    registry = Registry(settings.home)
    path = registry.path(name)
    in_home = path.is_relative_to(registry.folder)
    if in_home and (numbers := _used_bundles(settings)[1].get(name)):
        raise QueryError(
            f"Generation {numbers[0]} of '{settings.collection}' uses the bundle '{name}'.",
            hint="Its vectors could not be searched by meaning any more.",
        )
    if in_home and not yes:
        click.confirm(f"Delete {path}?", abort=True, err=True)
    registry.remove(name)
    say(f"{name} removed")


def gate_table(name: str, report: Report) -> str:
    """Format the checks of the gate: old and new score, limit, verdict."""
    rows = [
        (
            check.name,
            "" if check.old is None else f"{check.old:.3f}",
            "-" if check.new is None else f"{check.new:.3f}",  # JSON has no NaN
            check.limit,
            check.verdict,
        )
        for check in report.checks
    ]
    checks = table(rows, head=("", "old", "new", "limit", "verdict"), right=(1, 2))
    return f"{name}: {_verdict(report.accepted)}\n{checks}"


def _verdict(accepted: bool) -> str:
    return "accepted" if accepted else "refused"


def _used_bundles(settings: Settings) -> tuple[str, Mapping[str, list[int]]]:
    """Return the bundle of the live generation, or of a new collection, and the numbers of generations by bundle."""
    from indexer.engines.registry import open_generations

    live, numbers = settings.bundle, dict[str, list[int]]()
    if is_there(settings):
        with closing(open_generations(settings)) as generations:
            for generation in generations.all():
                numbers.setdefault(generation.bundle, []).append(generation.number)
                if generation.state == "live" and generation.bundle:
                    live = generation.bundle
    return live, numbers


def _verdicts(settings: Settings) -> dict[str, Mapping[str, Any]]:
    """Return the verdicts of the gate on bundles made by retrains of the collection."""
    from indexer.catalog import Catalog

    if not is_there(settings):
        return {}
    settings.make_home()
    with Catalog.open(settings.database) as catalog:
        return {bundle.name: bundle.scores for bundle in catalog.bundles(settings.collection)}


def _list_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        "*" if row["used"] else "",
        row["name"],
        str(row["dims"] or "?"),
        row["where"],
        row["parent"],
        row["created"][:10],
        _verdict(row["gate"]["accepted"]) if row["gate"] else "",
        clean(row["error"] or row["about"]),
    )


def _described(registry: Registry, name: str) -> dict[str, Any]:
    """Describe a bundle as plain data; an unusable one has an error."""
    from indexer.errors import ModelError

    row: dict[str, Any] = {"name": name, "error": "", "about": "", "dims": None, "parent": "", "created": ""}
    row["where"] = "home" if registry.path(name).is_relative_to(registry.folder) else "shipped"
    try:
        bundle = registry.get(name)
        fields = ("about", "licence", "parent", "window_tokens", "trained_on", "created", "dims")
        more = {"base": dict(bundle.base), "scores": dict(bundle.scores)}
        return {**row, **{field: getattr(bundle, field) for field in fields}, **more}
    except ModelError as error:
        return {**row, "error": str(error)}


def _about(bundle: Bundle) -> Iterator[tuple[str, str]]:
    yield "name", bundle.name
    if bundle.about:
        yield "about", clean(bundle.about)
    yield "base", ", ".join(f"{kind} {place}" for kind, place in bundle.base.items())
    yield "vectors", f"{bundle.dims} numbers; windows of {bundle.window_tokens} tokens"
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
