"""indexer models import"""

from __future__ import annotations

import re
from typing import Any

import click

from indexer.cli.app import App, command, pass_app
from indexer.cli.output import say


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
                self.fail(f"{value!r} are no layers; write 3-6 or 0,5,6.", param, ctx)
            found += range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1)
        return tuple(found)


@command("import")
@click.argument("source")
@click.option("--name", default="", help="Of the bundle.  [default: the last part of SOURCE]")
@click.option("--span-layers", type=Layers(), default=(), metavar="LAYERS",
              help="Whose mean mentions and phrases are, from 1.  [default: the last]")  # fmt: skip
@click.option("--document-layers", type=Layers(), default=(), metavar="LAYERS",
              help="The same for documents.  [default: the last]")  # fmt: skip
@pass_app
def import_(
    app: App, source: str, name: str, span_layers: tuple[int, ...], document_layers: tuple[int, ...]
) -> None:
    """Make an encoder of a model of somebody else.

    SOURCE is a folder with config.json, a tokenizer and weights as safetensors, or a name on the Hugging Face hub,
    OWNER/MODEL or OWNER/MODEL@REVISION. BERT, RoBERTa, XLM-R, CamemBERT, DistilBERT, LUKE and BART (its encoder) are
    known. Pickled weights and models that bring code of their own are refused.

    \b
    Examples:
      indexer models import downloads/distilbert-base-nli --document-layers 1-6
      indexer models import whaleloops/phrase-bert@refs/pr/1 --name phrase-bert
    """
    from models.import_ import ImportOptions, import_checkpoint

    settings = app.settings()
    wanted = ImportOptions(name, span_layers, document_layers)
    bundle = import_checkpoint(source, wanted, home=settings.home)
    say(f"Bundle '{bundle.name}' is in {bundle.folder}.")
    app.flags.pop("bundle", None)
    say(f"Index with it: {app.again(f'index SOURCE --bundle {bundle.name} --collection NAME')}")
