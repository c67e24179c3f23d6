"""Measure every table that the data at hand allows, untrained and trained side by side, and write docs/results.md.

    python -m benchmarks.tables --data DIR
    python -m benchmarks.tables --data DIR --only entities,texts --trainings 3

Files are known by their names (those of `TASKS`); whatever is not there is left out. Each measurement is one
`indexer evaluate … --json` in a process of its own. Its answer is kept in build/tables, under a hash of the code and of
the command: stopped, the same call goes on, and what has not changed is not measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.hardware import cpu_model, physical_cores

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results.md"
BUILD = ROOT / "build" / "tables"
CODE = ("indexer", "models", "trainer")
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
UNTRAINED, TRAINED = "minilm-base", "minilm-phrases"
GENERAL = ("medical_abstracts", "sotu_paragraphs")  # the other lessons when adapting


F1 = ("f1@5", "f1@10", "f1@15")
APART = ("present_f1@5", "present_f1@m", "absent_f1@5", "absent_f1@m", "absent_recall@50")
TOPICS = ("nmi", "npmi", "npmi_words", "cosine", "diversity", "intrusion", "tf_idf", "without_topic")


@dataclass(frozen=True)
class Measurement:
    """One table: a task on a file.

    Attributes:
        file: The beginning of its name.
        validate: The beginning of the name of a file for ``--validate``.
        columns: Metrics to show; all where empty.
        also: The option that names further bundles for this table; empty: none.
        finders: Other ways to find topics, a row of each with the last encoder.
        adapted: The encoder that is adapted to the file, without labels, and measured too; empty: none.
        general: Whether other texts are lessons too.
        training: Options of that training.
    """

    task: str
    file: str
    options: tuple[str, ...] = ()
    validate: str = ""
    columns: tuple[str, ...] = ()
    also: str = ""
    finders: tuple[str, ...] = ()
    adapted: str = ""
    general: bool = False
    training: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """Of its table; no other has the same."""
        apart = ", in the text and not in it" if self.columns == APART else ""
        return f"{self.task}: {self.file.strip('.')}{apart}"


TASKS = (
    Measurement("entities", "wnut2017", adapted=TRAINED, general=True),
    Measurement("entities", "bc5cdr", adapted=TRAINED, general=True),
    Measurement("keyphrases", "inspec_test", validate="inspec_valid", columns=F1),
    Measurement("keyphrases", "semeval2017", validate="inspec_valid", columns=F1),
    Measurement("keyphrases", "semeval2010_full", validate="inspec_valid", columns=F1),
    Measurement("keyphrases", "krapivin", validate="inspec_valid", columns=F1),
    *(
        Measurement("keyphrases", file, ("--protocol", "simckp"), columns=APART, also="rankers")
        for file in ("inspec_test", "krapivin", "kp20k_test")
    ),
    Measurement("phrases", "bird", also="alone"),
    Measurement("phrases", "ppdb_filtered", also="alone"),
    Measurement("phrases", "ppdb.", also="alone"),
    Measurement("texts", "stackoverflow", adapted=UNTRAINED, training=("--own-layers",)),
    Measurement("texts", "googlenews_ts", adapted=UNTRAINED, training=("--own-layers",)),
    Measurement(
        "topics", "arxiv_sample600", ("--topics", "10"), columns=TOPICS, finders=("pntm:10", "documents:10")
    ),
    Measurement(
        "topics", "arxiv_abstracts", ("--limit", "3000"), columns=TOPICS, finders=("pntm", "documents")
    ),
    Measurement(
        "topics",
        "20newsgroups",
        ("--limit", "4000", "--topics", "20"),
        columns=TOPICS,
        finders=("pntm:20", "documents:20"),
    ),
    Measurement("search", "arxiv_abstracts", ("--limit", "3000")),
)


def main() -> None:
    options = _options()
    for one in TASKS:
        if any(word in one.heading for word in options.only):
            for table in _measured(one, options):
                _put(one, table)


def _put(one: Measurement, table: str) -> None:
    """Write a table into the page, in the order of `TASKS`; all others stay as they are."""
    page = RESULTS.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    inside, _, after = rest.partition(END)
    head, *old = inside.split("\n### ")
    tables = {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in old} | {one.heading: table}
    parts = [f"### {other.heading}\n\n{tables[other.heading]}" for other in TASKS if other.heading in tables]
    body = "\n\n".join([head.strip(), *parts])
    RESULTS.write_text(f"{before}{BEGIN}\n{body}\n\n{END}{after}", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, required=True, help="folder; files are found below it by name")
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=[""],
        help="tables whose heading has one of these in it; the others stay as they are",
    )
    parser.add_argument(
        "--bundles", type=lambda text: text.split(","), default=[UNTRAINED, TRAINED], help="of every table"
    )
    parser.add_argument(
        "--rankers", type=lambda text: text.split(","), default=[], help="of indexer train simckp"
    )
    parser.add_argument(
        "--alone", type=lambda text: text.split(","), default=[], help="of indexer train phrase-bert"
    )
    parser.add_argument(
        "--trainings", type=int, default=0, help="adapt to each set of entities and of texts, N seeds"
    )
    parser.add_argument("--steps", type=int, default=150, help="of each of these trainings")
    parser.add_argument("--home", type=Path, default=BUILD / "home", help="where bundles are kept")
    return parser.parse_args()


def _measured(one: Measurement, options: argparse.Namespace) -> Iterator[str]:
    """The table of one file as Markdown; nothing where the file is missing."""
    data = _find(options.data, one.file)
    if data is None:
        print(f"{one.task} {one.file}: not in {options.data}", file=sys.stderr)
        return
    validation = _find(options.data, one.validate) if one.validate else None
    more = ["--validate", str(validation)] if validation else []
    bundles = [*options.bundles, *(getattr(options, one.also) if one.also else ())]
    answers = {bundle: _evaluate(one, data, bundle, more, options.home) for bundle in dict.fromkeys(bundles)}
    last = bundles[-1]
    for finder in one.finders:  # the last one of the same options counts
        answer = _evaluate(one, data, last, [*more, "--topics", finder], options.home)
        answers[last]["rows"][f"indexer, {finder}"] = answer["rows"]["indexer"]
    if one.adapted and options.trainings:
        more = ["--adapt", str(options.trainings), "--steps", str(options.steps), *one.training]
        if one.general:
            general = [found for name in GENERAL if (found := _find(options.data, name))]
            more += [part for path in general for part in ("--corpus", str(path))]
        name = f"{one.adapted}, adapted, trainings: {options.trainings}"
        answers[name] = _evaluate(one, data, one.adapted, more, options.home)
    yield _rendered(one, data, answers)


def _find(folder: Path, name: str) -> Path | None:
    return next(
        (path for path in sorted(folder.rglob(f"{name}*.jsonl*" if "." not in name else f"{name}*"))), None
    )


def _evaluate(one: Measurement, data: Path, bundle: str, more: Sequence[str], home: Path) -> dict[str, Any]:
    """One measurement, or what is kept of it."""
    command = ["evaluate", one.task, "--data", str(data), *one.options, *more, "--bundle", bundle, "--json"]
    kept = BUILD / f"{one.task}-{one.file.strip('.')}-{_hash([_code(), data.stat().st_mtime, *command])}.json"
    if not kept.exists():
        print("indexer", *command, file=sys.stderr, flush=True)
        done = subprocess.run(
            [Path(sys.executable).with_name("indexer"), "--home", str(home), *command],
            check=True,
            stdout=subprocess.PIPE,
        )
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(done.stdout)
    day = time.strftime("%Y-%m-%d", time.localtime(kept.stat().st_mtime))
    answer: dict[str, Any] = {**json.loads(kept.read_bytes()), "day": day}
    return answer


def _code() -> str:
    """Changes with the program."""
    files = [path for part in CODE for path in sorted((ROOT / part).rglob("*")) if path.is_file()]
    return _hash([path.read_bytes() for path in files if path.suffix in (".py", ".json", ".safetensors")])


def _hash(said: Sequence[object]) -> str:
    return hashlib.sha256(repr(said).encode()).hexdigest()[:12]


def _rendered(one: Measurement, data: Path, answers: dict[str, dict[str, Any]]) -> str:
    first = next(iter(answers.values()))
    digits = 2 if one.columns == F1 else 3
    rows: list[dict[str, str]] = []
    for bundle, answer in answers.items():
        for name, figures in answer["rows"].items():
            shown = {m: _cell(figures[m], digits) for m in one.columns or figures if m in figures}
            rows.append({"encoder": bundle, "": name, **shown})
    for name, figures in first["published"].items():
        rows.append({"encoder": "published", "": name, **{m: f"{v:.{digits}f}" for m, v in figures.items()}})
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns), *([row.get(key, "") for key in columns] for row in rows)]
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    command = " ".join(["indexer evaluate", one.task, "--data", data.name, *one.options])
    day = min(answer["day"] for answer in answers.values())
    measured = f"Measured {day}: {cpu_model()}, {physical_cores()} cores."
    return f"`{command}`. Protocol: {first['protocol']}. {measured}\n\n{body}"


def _cell(figure: dict[str, float | None], digits: int) -> str:
    if figure["mean"] is None:
        return "-"
    spread = f" ± {figure['spread']:.{digits}f}" if figure["spread"] else ""
    return f"{figure['mean']:.{digits}f}{spread}"


if __name__ == "__main__":
    main()
