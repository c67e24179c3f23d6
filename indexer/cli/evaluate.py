"""indexer evaluate: a group, one command per task. The options that tasks share come first, then the tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from indexer.cli.app import App, Group, command, json_option, pass_app
from indexer.cli.options import topics_option
from indexer.cli.output import print_json, say, working
from indexer.cli.train import budget_option, corpus_option, layers_option, steps_option

if TYPE_CHECKING:
    from indexer.protocols import Encoder, Progress
    from indexer.settings import Settings
    from models.bundle import Bundle
    from trainer.evaluation.table import Table

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]

TASKS = ("keyphrases", "entities", "phrases", "texts", "topics", "search")


@click.group(cls=Group, sections={"Tasks": {name: f"indexer.cli.evaluate:{name}" for name in TASKS}})
def evaluate() -> None:
    """Compare an encoder, topics and search with published figures.

    \b
    Examples:
      indexer evaluate keyphrases --data inspec_test.jsonl --published inspec
      indexer evaluate entities --data wnut2017.jsonl.gz --published wnut2017
    """


# -- shared -------------------------------------------------------------------------------------------------


def data_option(text: str, *, folder: bool = False) -> Callable[[F], F]:
    """Add ``--data``, one existing file. `folder`: or a folder."""
    kind = click.Path(exists=True, dir_okay=folder, path_type=Path)
    return click.option("--data", type=kind, required=True, metavar="PATH" if folder else "FILE", help=text)


def limit_option(noun: str) -> Callable[[F], F]:
    """Add ``--limit``."""
    text = f"Use a sample of N {noun}, the same each time.  [default: all]"
    return click.option("--limit", type=click.IntRange(1), metavar="N", help=text)


def encoder_of(settings: Settings, bundle: str = "") -> Encoder:
    """The encoder of a bundle, by default of the one that the settings name."""
    # Imported here: the help must not wait for it.
    from models.load import load_encoder

    return load_encoder(
        bundle or settings.bundle, home=settings.home, backend=settings.backend, threads=settings.threads
    )


def _task(
    data: str, noun: str, *options: Decorator, folder: bool = False
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command with ``--data``, its own options, ``--limit`` and ``--json``."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        first = data_option(data, folder=folder)
        decorators: list[Decorator] = [first, *options, limit_option(noun), json_option, pass_app]
        for option in reversed(decorators):
            function = option(function)
        return command()(function)

    return decorate


def _published_option(*tasks: str) -> Decorator:
    """Add ``--published`` with the sets of these tasks."""
    from trainer.evaluation.published import PUBLISHED

    names = list(dict.fromkeys(name for task in tasks for name in PUBLISHED[task]))
    text = f"Compare with the figures published for this set, if the data is that set: {', '.join(names)}."
    kind = click.Choice(names)
    return click.option(
        "--published", type=kind, metavar="SET", help=text, callback=lambda _, __, name: name or ""
    )


_seeds_option = click.option(
    "--seeds", type=click.IntRange(1), default=5, metavar="N", show_default=True,
    help="Number of repetitions with another seed; mean and spread are printed.",
)  # fmt: skip


def _adapt_option(noun: str) -> Decorator:
    text = f"First train on the {noun} of the file, N times with another seed; never on labels."
    return click.option("--adapt", type=click.IntRange(0), default=0, metavar="N", help=text)


def _show(table: Table, as_json: bool) -> None:
    if as_json:
        print_json(table.as_json())
    else:
        say(table.render())


# -- tasks --------------------------------------------------------------------------------------------------


@_task(
    "JSON Lines with id, title, text and keyphrases (a list).",
    "documents",
    click.option("--validate", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
                 help="Of the same kind: choose the share of attention there, for one more row as published."),
    click.option("--protocol", type=click.Choice(["unsupervised", "simckp"]), default="unsupervised",
                 show_default=True, help="How to count; simckp separates present and absent keyphrases."),
    _published_option("keyphrases", "simckp"),
)  # fmt: skip
def keyphrases(
    app: App, data: Path, validate: Path | None, protocol: str, as_json: bool, **options: Any
) -> None:
    """Compare keyphrases with labelled ones.

    Prints F1 of the first 5, 10 and 15, and the protocol.

    \b
    Examples:
      indexer evaluate keyphrases --data inspec_test.jsonl --published inspec
      indexer evaluate keyphrases --data inspec_test.jsonl --validate inspec_valid.jsonl
      indexer evaluate keyphrases --data kp20k_test.jsonl --protocol simckp --bundle ranked
      indexer evaluate keyphrases --data semeval2017.jsonl.gz --limit 100 --json
    """
    from trainer.evaluation.keyphrases import evaluate_keyphrases
    from trainer.evaluation.present_absent import evaluate_separately

    if validate and protocol != "unsupervised":
        raise click.UsageError("--validate belongs to the protocol 'unsupervised'.")
    settings = app.settings()
    options |= {"encoder": encoder_of(settings), "tagger": settings.tagger}
    with working(app, resumable=False) as progress:
        if protocol == "simckp":
            table = evaluate_separately(data, keyphrases=settings.keyphrases, progress=progress, **options)
        else:
            table = evaluate_keyphrases(data, validate=validate, progress=progress, **options)
    _show(table, as_json)


@_task(
    "JSON Lines with sentence, start, end, phrase and label.",
    "mentions",
    _published_option("entities"),
    _seeds_option,
    _adapt_option("mentions"),
    corpus_option,
    steps_option(150),
)
def entities(
    app: App,
    data: Path,
    seeds: int,
    adapt: int,
    corpus: tuple[Path, ...],
    steps: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Cluster mentions and compare the clusters with kinds of entities.

    As in UCTopic: a mention is encoded in its sentence, the number of clusters is the true one, labels are only
    used to score. Prints accuracy and NMI of K-means and of a Gaussian mixture, each on the vectors as they are
    and smoothed over coordinated phrases; indexing uses neither mixture nor smoothing. With --adapt, up to half of
    the training pairs are the mentions of the file, the others from --corpus; the trained bundles stay.

    \b
    Examples:
      indexer evaluate entities --data wnut2017.jsonl.gz --published wnut2017
      indexer evaluate entities --data bc5cdr.jsonl.gz --seeds 3 --json
      indexer evaluate entities --data wnut2017.jsonl.gz --adapt 3 --corpus articles.jsonl
    """
    from trainer.evaluation.entities import evaluate_entities

    settings = app.settings()
    with working(app) as progress:
        bundles = _on_mentions(settings, data, corpus, steps, adapt, progress) or [settings.bundle]
        encoders = [encoder_of(settings, bundle) for bundle in bundles]
        table = evaluate_entities(data, encoders=encoders, seeds=range(seeds), progress=progress, **options)
    _show(table, as_json)


def _on_mentions(
    settings: Settings, data: Path, corpus: tuple[Path, ...], steps: int, times: int, progress: Progress
) -> list[str]:
    """Names of bundles that are trained on the mentions of the file."""
    if not times:
        return []
    from shutil import rmtree

    from indexer.errors import TRAINING, require

    require(*TRAINING, extra="train", purpose="--adapt")
    from models.registry import Registry
    from trainer.uctopic.options import UCTopicOptions
    from trainer.uctopic.train import train_uctopic

    base = Registry(settings.home).get(settings.bundle)
    stem = f"{base.name}-{data.name.partition('.')[0]}"
    mined = settings.home / "training" / f"{stem}-mined"
    names = []
    for seed in range(times):
        training = UCTopicOptions(
            name=f"{stem}-{seed}",
            corpus=corpus,
            mentions=(data,),
            steps=steps,
            seed=seed,
            tagger=settings.tagger,
            threads=settings.threads,
        )
        bundle = train_uctopic(base, training, home=settings.home, mined=mined, progress=progress)
        names.append(bundle.name)
    rmtree(mined, ignore_errors=True)  # missing where all bundles were there already
    return names


@_task(
    "JSON Lines with a, b and score; or a, b, label and split; or query, choices and answer.",
    "lines",
    _published_option("phrases"),
    _seeds_option,
)
def phrases(app: App, data: Path, seeds: int, as_json: bool, **options: Any) -> None:
    """Compare vectors of phrases with human judgements.

    As in Phrase-BERT, by the fields of the lines. A score: correlation with the cosine. A label and a split: accuracy
    of a small classifier on the pair, trained on 'train', chosen on 'dev', reported on 'test'. A query and
    choices: how often the nearest choice is the answer.

    \b
    Examples:
      indexer evaluate phrases --data bird.jsonl.gz --published bird
      indexer evaluate phrases --data ppdb_filtered.jsonl.gz --json
    """
    from trainer.evaluation.phrases import evaluate_phrases

    encoder = encoder_of(app.settings())
    with working(app, resumable=False) as progress:
        table = evaluate_phrases(data, encoder=encoder, seeds=range(seeds), progress=progress, **options)
    _show(table, as_json)


@_task(
    "JSON Lines with text and label.",
    "texts",
    _published_option("texts"),
    _seeds_option,
    _adapt_option("texts"),
    layers_option,
    steps_option(300),
    budget_option,
)
def texts(
    app: App,
    data: Path,
    seeds: int,
    adapt: int,
    all_layers: bool,
    steps: int,
    budget: float,
    as_json: bool,
    **options: Any,
) -> None:
    """Cluster short texts and compare the clusters with their labels.

    As in HS-GC: K-means on document vectors with the true number of clusters; the labels are only used to score.
    Prints accuracy and NMI. With --adapt, two more rows: the mean over all layers of the encoder as it is, and of one
    that is trained on the texts; its bundles stay.

    \b
    Examples:
      indexer evaluate texts --data stackoverflow.jsonl.gz --published stackoverflow
      indexer evaluate texts --data googlenews_ts.jsonl.gz --seeds 3 --json
      indexer evaluate texts --data stackoverflow.jsonl.gz --adapt 1 --bundle minilm-base
    """
    from trainer.evaluation.texts import evaluate_texts

    settings = app.settings()
    with working(app, resumable=bool(adapt)) as progress:
        others = _on_texts(settings, data, adapt, all_layers, steps, budget, progress) if adapt else {}
        encoder = encoder_of(settings)
        table = evaluate_texts(
            data, encoder=encoder, others=others, seeds=range(seeds), progress=progress, **options
        )
    _show(table, as_json)


def _on_texts(
    settings: Settings,
    data: Path,
    times: int,
    all_layers: bool,
    steps: int,
    budget: float,
    progress: Progress,
) -> dict[str, list[Encoder]]:
    """Encoders with all layers in their document vectors: untrained, and trained on the texts of the file."""
    from indexer.errors import TRAINING, require

    require(*TRAINING, extra="train", purpose="--adapt")
    from models.load import run_bundle
    from models.registry import Registry
    from trainer.evaluation.texts import number_of_labels
    from trainer.hsgc.options import HSGCOptions
    from trainer.hsgc.train import holistic, train_hsgc

    base = Registry(settings.home).get(settings.bundle)
    stem = f"{base.name}-{data.name.partition('.')[0]}-{'all' if all_layers else 'own'}"

    def train(seed: int) -> Bundle:
        training = HSGCOptions(
            name=f"{stem}-{seed}",
            corpus=(data,),
            all_layers=all_layers,
            clusters=number_of_labels(data),
            steps=steps,
            budget=budget,
            seed=seed,
            threads=settings.threads,
        )
        return train_hsgc(base, training, home=settings.home, progress=progress)

    def running(bundle: Bundle) -> Encoder:
        return run_bundle(bundle, home=settings.home, backend=settings.backend, threads=settings.threads)

    trained = [train(seed) for seed in range(times)]
    return {"all layers": [running(holistic(base))], "HS-GC": [running(bundle) for bundle in trained]}


@_task("Documents, as for indexer index; optionally with a field label.", "documents", topics_option)
def topics(app: App, data: Path, topics: str | None, as_json: bool, limit: int | None) -> None:
    """Find the topics of a file and measure how good they are.

    The file is indexed into a temporary collection. Measured without labels: whether a topic's leading phrases occur
    in the same documents (NPMI), are similar, diverse and informative, and whether a phrase of another topic is
    detected among them. Where the documents have a field label, the agreement of topics and labels (NMI) is printed
    too, and compared with K-means on the document vectors.

    \b
    Examples:
      indexer evaluate topics --data abstracts.jsonl.gz --limit 3000
      indexer evaluate topics --data articles.jsonl --topics 20 --json
    """
    from trainer.evaluation.topics import evaluate_topics

    settings = app.settings()
    with working(app, resumable=False) as progress, app.aside(settings) as collection:
        table = evaluate_topics(collection, data, requested=topics, limit=limit, progress=progress)
    _show(table, as_json)


@_task(
    "A folder with corpus.jsonl, queries.jsonl and qrels.tsv; or a file of documents with titles.",
    "documents of a file",
    folder=True,
)
def search(app: App, data: Path, as_json: bool, limit: int | None) -> None:
    """Search documents and measure the results, by words, by meaning and by both.

    A folder is a test collection in the layout of BEIR, whose questions and relevant documents people have judged.
    Prints nDCG of the first 10, recall of the first 100 and mean average precision (MAP), beside bm25s, the packaged
    encoder through sentence-transformers and the fusion of these two. Needs the extra `evaluate`.

    A file has no judgements: its documents are indexed without titles. Then each title should find its document,
    and a phrase of a title (or of a field keyphrases, a list) all documents whose titles contain it. Prints recall,
    MRR and nDCG of the first ten hits.

    The documents are indexed into a temporary collection, on the engine that --engine names.

    \b
    Examples:
      indexer evaluate search --data cisi/
      indexer evaluate search --data cisi/ --engine http://localhost:9200
      indexer evaluate search --data abstracts.jsonl.gz --limit 3000 --json
    """
    from trainer.evaluation.judged_search import evaluate_judged_search, is_test_collection
    from trainer.evaluation.search import evaluate_search

    judged = is_test_collection(data)
    if data.is_dir() and not judged:
        raise click.UsageError(f"{data} has no corpus.jsonl: it is not a test collection.")
    if judged and limit:
        raise click.UsageError("--limit belongs to a file: judgements are of all documents.")
    settings = app.settings()
    with working(app, resumable=False) as progress, app.aside(settings, on_engine=True) as collection:
        if judged:
            table = evaluate_judged_search(collection, data, progress=progress)
        else:
            table = evaluate_search(collection, data, limit=limit, progress=progress)
    _show(table, as_json)
