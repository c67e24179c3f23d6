"""The command: python -m tools.tagger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from tools.tagger.disk import save
from tools.tagger.model import TaggerConfig, evaluate, new_pipeline, train, whole_passages
from tools.tagger.treebank import read_conllu
from tools.tagger.vectors import read_raw, word_vectors


@click.command()
@click.option("--treebank", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True)
@click.option(
    "--raw",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="JSON lines with title and text, to count word vectors in. May be given several times.",
)
@click.option("--source", multiple=True, help="Name and licence of the raw text, for meta.json.")
@click.option(
    "--minutes", default=TaggerConfig.minutes, show_default=True, help="Processor time for training."
)
@click.option("--seed", default=TaggerConfig.seed, show_default=True)
def main(
    treebank: Path, out: Path, raw: tuple[Path, ...], source: tuple[str, ...], minutes: float, seed: int
) -> None:
    """Train the English tagger from ewt-train.conllu.gz, -dev and -test in the folder TREEBANK."""
    import spacy

    config = TaggerConfig(minutes=minutes, seed=seed)
    parts = {part: read_conllu(treebank / f"ewt-{part}.conllu.gz") for part in ("train", "dev", "test")}
    vectors = None
    if raw:
        click.echo(f"Counting neighbours of words in {len(raw)} files.", err=True)

        def texts() -> Iterator[Sequence[str]]:
            yield from read_raw(raw)
            yield from ([word.form.lower() for word in sentence.words] for sentence in parts["train"])

        vectors = word_vectors(texts, words=config.vector_words, dims=config.vector_dims, seed=config.seed)
    nlp = new_pipeline(config, vectors)
    dev_scores: Mapping[str, float] = {}
    for step in train(nlp, parts["train"], parts["dev"], config):
        if step.scores:
            click.echo(
                f"{step.number:6d} loss {step.loss:7.1f} rate {step.learning_rate:.1e} {_shown(step.scores)}",
                err=True,
            )
        if step.is_best:
            dev_scores = step.scores
            save(nlp, out, config, {"dev": dev_scores}, source)

    best = spacy.load(out)
    test_scores = evaluate(best, whole_passages(best, parts["test"]))
    save(best, out, config, {"dev": dev_scores, "test": test_scores}, source)
    click.echo(f"dev {_shown(dev_scores)}\ntest {_shown(test_scores)}")


def _shown(scores: Mapping[str, float]) -> str:
    return " ".join(f"{name} {score:.4f}" for name, score in scores.items())


if __name__ == "__main__":
    main()
