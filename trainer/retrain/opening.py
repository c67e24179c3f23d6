"""Opens a retrainer from the settings alone, for the Python interface and for workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

from indexer.catalog import Catalog
from indexer.engines.registry import open_generations
from indexer.errors import SettingsError
from indexer.protocols import Encoder, Progress, no_progress
from indexer.runs.bundle_files import open_live
from indexer.settings import Settings
from models.load import is_user_class
from trainer.retrain.run import Retrainer


@contextmanager
def open_retrainer(
    settings: Settings,
    *,
    encoder: Callable[[str], Encoder] | None = None,
    taggers: int = 1,
    progress: Progress = no_progress,
) -> Iterator[Retrainer]:
    """Open the live generation of a collection and its catalog, and a retrainer that works on them.

    Args:
        encoder: Returns the encoder of a bundle; None loads it from the home.
        taggers: Processes that tag while the next generation is mined; one tags faster than a CPU encodes.

    Raises:
        NotFound: The collection does not exist.
        SettingsError: Its encoder is a user's class.
    """
    with ExitStack() as opened:
        settings, engine = open_live(settings, create=False)
        opened.callback(engine.close)
        if is_user_class(settings.bundle, settings.home):
            raise SettingsError(
                f"'{settings.bundle}' is a class of your own: only the encoder of a bundle can be retrained.",
                hint="Index into a new collection without --encoder: --collection NAME",
            )
        settings.make_home()
        catalog = opened.enter_context(Catalog.open(settings.database))
        generations = opened.enter_context(closing(open_generations(settings)))

        def load(bundle: str) -> Encoder:
            from models.load import load_encoder

            return load_encoder(
                bundle, home=settings.home, backend=settings.backend, threads=settings.threads
            )

        yield Retrainer(
            settings, engine, generations, catalog, encoder or load, taggers=taggers, progress=progress
        )
