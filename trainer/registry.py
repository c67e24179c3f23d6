"""The recipes: name on the command line ► options class, as "module:object". A new paper adds a folder and a line."""

from __future__ import annotations

from pkgutil import resolve_name

from trainer.base.options import TrainingOptions

RECIPES = {
    "uctopic": "trainer.uctopic.options:UCTopicOptions",
    "phrase-bert": "trainer.phrase_bert.options:PhraseBertOptions",
    "keyphrases": "trainer.seke.options:SEKEOptions",
    "hs-gc": "trainer.hsgc.options:HSGCOptions",
    "simckp": "trainer.simckp.options:SimCKPOptions",
}


def options_of(recipe: str) -> type[TrainingOptions]:
    """The options class of a recipe; imports its module."""
    found: type[TrainingOptions] = resolve_name(RECIPES[recipe])
    return found
