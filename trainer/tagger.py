"""Train the small English tagger that ships in `indexer/text/tagger` (UD English EWT, CC BY-SA 4.0).

    python -m trainer.tagger --treebank FOLDER --raw abstracts.jsonl.gz --out indexer/text/tagger

FOLDER holds `ewt-train.conllu.gz`, `ewt-dev.conllu.gz` and `ewt-test.conllu.gz`. The result is a spaCy
pipeline: one shared tok2vec, a tagger (Penn Treebank tags) and a senter. One core is enough.

The treebank is 200,000 words of blogs, mails and reviews; what people index is something else. So every word also gets
a vector, counted in raw text of the kind that is wanted (`--raw`): words with the same neighbours get the same tags. That
is worth more than a larger network: 0.4 points of accuracy on the treebank, and 1.5 points more keyphrases among
the candidates of scientific abstracts.

A share of the training text is rewritten on the fly, because what people index is not written like a
treebank: titles in Title Case, forum posts all in lower case, headings without a full stop.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from indexer.errors import InputError, LossDiverged, NotEnoughData

PIPELINE_NAME = "ewt_tagger"
PIPELINE_VERSION = "1.0.0"
LICENCE = "CC BY-SA 4.0"
TREEBANK = "Universal Dependencies English EWT, release 2.16"
TREEBANK_URL = "https://github.com/UniversalDependencies/UD_English-EWT"
PLACES = (-2, -1, 1, 2)  # neighbours that describe a word
FINAL_PUNCTUATION = {".", "!", "?"}
# What decides whether a word may stand in a candidate phrase; the accuracy that matters to us.
NOMINAL = {"NN": "N", "NNS": "N", "NNP": "N", "NNPS": "N", "JJ": "J", "JJR": "J", "JJS": "J"}


@dataclass(frozen=True)
class TaggerConfig:
    """Sizes and schedule. The defaults are the shipped tagger."""

    width: int = 96
    vector_words: int = 12_000  # most frequent words of the raw text
    vector_dims: int = 48
    depth: int = 3  # convolutions over one neighbour on each side
    pieces: int = 3  # of each maxout
    rows: tuple[int, ...] = (2000, 300, 1500, 300)  # hash tables for norm, prefix, suffix, shape
    dropout: float = 0.2
    learning_rate: float = 1e-3
    warmup_steps: int = 100
    batch_words: int = 500
    minutes: float = 3.0  # of processor time: a busy machine trains no less; the learning rate ends at 0
    eval_every: int = 500  # updates
    seed: int = 7


@dataclass(frozen=True)
class Word:
    """One token of the treebank."""

    form: str
    tag: str
    space_after: bool


@dataclass(frozen=True)
class TaggedSentence:
    words: tuple[Word, ...]
    paragraph: int  # sentences with the same number stand together in the source


@dataclass(frozen=True)
class Step:
    """One optimiser update."""

    number: int  # updates so far, from 1
    loss: float  # sum over the words of the batch, tagger and senter together
    learning_rate: float
    scores: dict[str, float] = field(default_factory=dict)  # empty when not evaluated
    is_best: bool = False


# ---- data


def read_conllu(path: Path) -> list[TaggedSentence]:
    """Read forms, XPOS tags and spacing of a (gzip-compressed) CoNLL-U file.

    Raises:
        InputError: A line does not have ten columns, or a word has no tag.
    """
    sentences: list[TaggedSentence] = []
    words: list[Word] = []
    covered = 0  # the last word that the current multi-word token covers
    paragraph = 0
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            line = line.rstrip("\n")
            if line.startswith(("# newdoc", "# newpar")):
                paragraph += 1
            elif not line and words:
                sentences.append(TaggedSentence(tuple(words), paragraph))
                words, covered = [], 0
            elif line and not line.startswith("#"):
                columns = line.split("\t")
                if len(columns) != 10:
                    raise InputError(f"{path}:{number}: {len(columns)} columns instead of 10.")
                word_id, form, tag, misc = columns[0], columns[1], columns[4], columns[9]
                space_after = "SpaceAfter=No" not in misc
                if "-" in word_id:  # "don't" as one token; the words follow, written in their own right
                    covered = int(word_id.split("-")[1])
                    ends_with_space = space_after
                    continue
                if "." in word_id:  # an elided word that is not in the text
                    continue
                if tag == "_":
                    raise InputError(f"{path}:{number}: {form!r} has no XPOS tag.")
                if int(word_id) <= covered:
                    space_after = int(word_id) == covered and ends_with_space
                words.append(Word(form, tag, space_after))
    if words:
        sentences.append(TaggedSentence(tuple(words), paragraph))
    return sentences


def rewrite(words: Sequence[Word], random_: random.Random) -> tuple[Word, ...]:
    """Change case or drop the final punctuation of one sentence, more often than not leave it as it is."""
    words = tuple(words)
    if random_.random() < 0.12 and len(words) > 1 and words[-1].form in FINAL_PUNCTUATION:
        words = (*words[:-2], replace(words[-2], space_after=True))
    chance = random_.random()
    if chance < 0.15:
        return tuple(replace(word, form=word.form.lower()) for word in words)
    if chance < 0.23:  # a title; short words often stay small
        return tuple(
            replace(word, form=word.form.capitalize()) if len(word.form) > 3 and word.form.islower() else word
            for word in words
        )
    if chance < 0.25:
        return tuple(replace(word, form=word.form.upper()) for word in words)
    return words


def passages(
    sentences: Sequence[TaggedSentence], random_: random.Random, *, longest: int = 6
) -> Iterator[list[tuple[Word, ...]]]:
    """Cut the treebank into runs of one to `longest` neighbouring sentences, in random order."""
    runs: list[list[tuple[Word, ...]]] = []
    for _, together in itertools.groupby(sentences, key=lambda sentence: sentence.paragraph):
        waiting = [sentence.words for sentence in together]
        while waiting:
            size = random_.randint(1, longest)
            runs.append(waiting[:size])
            waiting = waiting[size:]
    random_.shuffle(runs)
    yield from runs


def example(nlp: Any, sentences: Sequence[Sequence[Word]]) -> Any:
    """Pair what spaCy's tokenizer makes of the text with what the treebank says of it."""
    from spacy.tokens import Doc
    from spacy.training import Example

    words = [word for sentence in sentences for word in sentence]
    spaces = [word.space_after for word in words]
    end = -1
    for sentence in sentences[:-1]:
        end += len(sentence)
        spaces[end] = True  # the treebank does not say so at a paragraph's end, and a text always has it
    reference = Doc(
        nlp.vocab,
        words=[word.form for word in words],
        spaces=spaces,
        tags=[word.tag for word in words],
        sent_starts=[position == 0 for sentence in sentences for position in range(len(sentence))],
    )
    return Example(nlp.make_doc(reference.text), reference)


def batches(
    nlp: Any, sentences: Sequence[TaggedSentence], config: TaggerConfig, random_: random.Random
) -> Iterator[list[Any]]:
    """Endless training batches of about `batch_words` words."""
    batch: list[Any] = []
    size = 0
    while True:
        for passage in passages(sentences, random_):
            batch.append(example(nlp, [rewrite(words, random_) for words in passage]))
            size += sum(map(len, passage))
            if size >= config.batch_words:
                yield batch
                batch, size = [], 0


# ---- word vectors

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[^\w\s]")


def read_raw(paths: Sequence[Path]) -> Iterator[list[str]]:
    """Yield the lower-case words of each document of (gzip-compressed) JSON lines with `title` and `text`."""
    for path in paths:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                yield _WORD.findall(f"{document.get('title', '')} . {document['text']}".lower())


def word_vectors(
    texts: Callable[[], Iterable[Sequence[str]]],
    *,
    words: int,
    dims: int,
    contexts: int = 1_500,
    seed: int = 0,
) -> tuple[list[str], NDArray[np.float32]]:
    """Count neighbours and compress the counts: words that stand in the same places get similar vectors.

    A word is described by which of the `contexts` most frequent words stand one and two places before and behind
    it, each place apart (that tells verbs from nouns), as positive pointwise mutual information, cut down to `dims`
    by a singular value decomposition.

    Args:
        texts: Called twice; gives the words of one text after the other.

    Returns:
        At most `words` words, the most frequent first, and float32 [words, dims], rows of length 1.

    Raises:
        NotEnoughData: There are not more words than dims.

    Source: Levy, Goldberg and Dagan 2015 (TACL 3), sections 2.1 and 3: smoothing of contexts by 0.75, square root of
    the singular values.
    """
    from sklearn.utils.extmath import randomized_svd

    counted = Counter(itertools.chain.from_iterable(texts()))
    known = [word for word, _ in counted.most_common(words)]
    if len(known) <= dims:
        raise NotEnoughData(f"The raw text has {len(known)} different words; {dims} dimensions need more.")
    row_of = {word: row for row, word in enumerate(known)}
    column_of = {word: column for column, (word, _) in enumerate(counted.most_common(contexts))}
    rare, outside = len(column_of), len(column_of) + 1
    width = len(column_of) + 2  # columns for one place

    counts = sparse.csr_matrix((len(known), len(PLACES) * width))
    rows: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int64]] = []
    for text in itertools.chain(texts(), [None]):
        if text is not None:
            row = np.array([row_of.get(word, -1) for word in text], dtype=np.int64)
            column = np.array([column_of.get(word, rare) for word in text], dtype=np.int64)
            for number, place in enumerate(PLACES):
                neighbour = np.full(len(text), outside)
                if place < 0:
                    neighbour[-place:] = column[:place]
                else:
                    neighbour[:-place] = column[place:]
                rows.append(row[row >= 0])
                columns.append(neighbour[row >= 0] + number * width)
        if len(rows) > 40_000 or (text is None and rows):  # now and then, to keep memory flat
            places = np.concatenate(rows), np.concatenate(columns)
            counts = counts + sparse.coo_matrix((np.ones(len(places[0])), places), shape=counts.shape).tocsr()
            rows, columns = [], []

    cells = counts.tocoo()
    total = cells.data.sum()
    row_sums = np.bincount(cells.row, cells.data, len(known))
    column_sums = np.bincount(cells.col, cells.data, counts.shape[1]) ** 0.75
    column_sums *= total / column_sums.sum()
    information = np.log(cells.data * total / (row_sums[cells.row] * column_sums[cells.col]))
    keep = information > 0
    ppmi = sparse.csr_matrix((information[keep], (cells.row[keep], cells.col[keep])), shape=counts.shape)
    left, strength, _ = randomized_svd(ppmi, dims, random_state=seed)
    vectors = left * np.sqrt(strength)  # [words, dims]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    return known, vectors.astype(np.float32)


# ---- model


def new_pipeline(config: TaggerConfig, vectors: tuple[list[str], NDArray[np.float32]] | None = None) -> Any:
    """An untrained pipeline: one tok2vec that tagger and senter listen to, with or without word vectors."""
    from spacy.lang.en import English
    from spacy.vectors import Vectors

    nlp = English(meta={"name": PIPELINE_NAME, "version": PIPELINE_VERSION})
    if vectors is not None:
        words, rows = vectors
        keys = [nlp.vocab.strings.add(word) for word in words]
        nlp.vocab.vectors = Vectors(
            strings=nlp.vocab.strings, data=rows, keys=keys, attr="LOWER", name="neighbours"
        )
    nlp.add_pipe(
        "tok2vec",
        config={
            "model": {
                "@architectures": "spacy.Tok2Vec.v2",
                "embed": {
                    "@architectures": "spacy.MultiHashEmbed.v2",
                    "width": config.width,
                    "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
                    "rows": list(config.rows),
                    "include_static_vectors": vectors is not None,
                },
                "encode": {
                    "@architectures": "spacy.MaxoutWindowEncoder.v2",
                    "width": config.width,
                    "window_size": 1,
                    "maxout_pieces": config.pieces,
                    "depth": config.depth,
                },
            }
        },
    )
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": config.width, "upstream": "tok2vec"}
    head = {"@architectures": "spacy.Tagger.v2", "nO": None, "tok2vec": listener}
    nlp.add_pipe("tagger", config={"model": head})
    nlp.add_pipe("senter", config={"model": head})
    return nlp


def train(
    nlp: Any, sentences: Sequence[TaggedSentence], dev: Sequence[TaggedSentence], config: TaggerConfig
) -> Iterator[Step]:
    """Train until the time is up; averaged weights are in place whenever a step has scores.

    Raises:
        NotEnoughData: The treebank has no sentence.
        LossDiverged: The loss became NaN or infinite.
    """
    from spacy.util import fix_random_seed
    from thinc.api import Adam

    if not sentences:
        raise NotEnoughData("The treebank has no sentence to learn from.")
    fix_random_seed(config.seed)
    random_ = random.Random(config.seed)
    first = [example(nlp, [sentence.words]) for sentence in sentences]
    optimizer = Adam(
        learn_rate=config.learning_rate, grad_clip=1.0, L2=0.01, L2_is_weight_decay=True, use_averages=True
    )
    nlp.initialize(lambda: first, sgd=optimizer)
    dev_examples = whole_passages(nlp, dev)

    began = time.process_time()
    best = -math.inf
    number = 0
    for batch in batches(nlp, sentences, config, random_):
        number += 1
        done = (time.process_time() - began) / (60 * config.minutes)  # share of the time
        warmup = min(1.0, number / config.warmup_steps)
        optimizer.learn_rate = config.learning_rate * warmup * max(0.02, 1 - done)
        losses = nlp.update(batch, drop=config.dropout, sgd=optimizer, losses={})
        loss = float(sum(losses.values()))
        if not math.isfinite(loss):
            raise LossDiverged(
                f"The loss became {loss} at step {number}.",
                hint=f"Try a learning rate below {config.learning_rate:g}.",
            )
        if number % config.eval_every and done < 1:
            yield Step(number, loss, optimizer.learn_rate)
            continue
        with nlp.use_params(optimizer.averages):
            scores = evaluate(nlp, dev_examples)
            score = scores["tag_acc"] + 0.1 * scores["sents_f"]  # sentences get worse when trained long
            is_best = score > best  # strictly: on a tie the earlier one stays
            best = max(best, score)
            yield Step(number, loss, optimizer.learn_rate, scores, is_best)
        if done >= 1:
            return


def whole_passages(nlp: Any, sentences: Sequence[TaggedSentence]) -> list[Any]:
    """Examples for scoring: the treebank as it is, the same passages each time."""
    return [example(nlp, passage) for passage in passages(sentences, random.Random(0))]


def evaluate(nlp: Any, examples: Sequence[Any]) -> dict[str, float]:
    """Score predictions from raw text.

    Returns:
        `tag_acc`: share of the treebank's words that are tagged right (only those that spaCy's tokenizer also
        makes count); `nominal_acc`: the same when only noun, adjective and rest are told apart; `sents_f`: F1
        of sentences; all 0 to 1.
    """
    for eg, doc in zip(examples, nlp.pipe([eg.text for eg in examples], batch_size=128), strict=True):
        eg.predicted = doc
    right = nominal = total = 0
    for eg in examples:
        for token, tag in zip(eg.predicted, eg.get_aligned("TAG", as_string=True), strict=True):
            if tag is not None:
                total += 1
                right += token.tag_ == tag
                nominal += NOMINAL.get(token.tag_) == NOMINAL.get(tag)
    sentences = nlp.get_pipe("senter").score(examples)
    return {
        "tag_acc": right / max(1, total),
        "nominal_acc": nominal / max(1, total),
        "sents_f": float(sentences["sents_f"] or 0.0),
    }


# ---- disk

README = """\
# The shipped English tagger

A small spaCy pipeline: one shared tok2vec, a tagger (Penn Treebank tags) and a senter (sentence ends). It is used
when `en_core_web_sm` is not installed.

Made by `python -m trainer.tagger` from the Universal Dependencies English Web Treebank (UD English EWT, release 2.16,
https://github.com/UniversalDependencies/UD_English-EWT). The files in this folder are licensed CC BY-SA 4.0
(https://creativecommons.org/licenses/by-sa/4.0/), as the treebank is. The word vectors were counted in the texts that
`meta.json` names under `sources`, and in the treebank.

`meta.json` holds the sizes, the schedule and the accuracy measured on the treebank's dev and test parts, from raw
text: `tag_acc` of all tags, `nominal_acc` when only noun, adjective and rest are told apart, `sents_f` of sentences.

Silveira, Dozat, de Marneffe, Bowman, Connor, Bauer and Manning (2014): A Gold Standard Dependency Corpus for English.
In Proceedings of LREC.
"""


def save(
    nlp: Any,
    folder: Path,
    config: TaggerConfig,
    performance: Mapping[str, Mapping[str, float]],
    sources: Sequence[str] = (),
) -> None:
    """Write the pipeline with its origin, licence and scores.

    The vocabulary keeps the tags only: hashes and vectors are found by number, words are not needed.

    Args:
        sources: Names and licences of the raw text.
        performance: Part of the treebank ► score name ► score.
    """
    shutil.rmtree(folder, ignore_errors=True)
    nlp.to_disk(folder)
    strings = json.dumps(sorted(nlp.get_pipe("tagger").labels), indent=1)
    (folder / "vocab" / "strings.json").write_text(strings, encoding="utf-8")
    meta = {
        "lang": "en",
        "name": PIPELINE_NAME,
        "version": PIPELINE_VERSION,
        "description": "Small English tagger (Penn Treebank tags) and sentence splitter.",
        "spacy_version": ">=3.8,<4.0",
        "license": LICENCE,
        "sources": [
            {"name": TREEBANK, "url": TREEBANK_URL, "license": LICENCE},
            *({"name": name} for name in sources),
        ],
        "pipeline": nlp.pipe_names,
        "performance": {
            part: {name: round(score, 4) for name, score in scores.items()}
            for part, scores in performance.items()
        },
        "training": vars(config),
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(README, encoding="utf-8")


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
