"""Measure every table for which there is data, with the untrained and the trained encoder, and write docs/results.md.

    python -m benchmarks.tables --data DIR
    python -m benchmarks.tables --data DIR --only entities,texts --trainings 3

Files are found by the names in `TASKS`; missing ones are left out. Each measurement is one `indexer evaluate … --json`
in a separate process. Its output is kept in build/tables, under a hash of the code and of the command: an interrupted
call resumes, and unchanged measurements are not repeated.
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
GENERAL = ("medical_abstracts", "sotu_paragraphs")  # the other training texts when adapting

F1 = ("f1@5", "f1@10", "f1@15")
SEPARATE = ("present_f1@5", "present_f1@m", "absent_f1@5", "absent_f1@m", "absent_recall@50")
TOPICS = ("nmi", "npmi", "npmi_words", "cosine", "diversity", "intrusion", "tf_idf", "without_topic")


@dataclass(frozen=True)
class Measurement:
    """One table: a task on a file.

    Attributes:
        file: The beginning of its name; of a folder its whole name.
        folder: It is a test collection, and not a file.
        validate: The beginning of the name of a file for ``--validate``.
        published: The set whose published figures are shown, as for ``--published``: the file is that set; empty: none.
        columns: Metrics of the table; all where empty.
        also: The option that names further bundles for this table; empty: none.
        finders: Other topic models, a row of each with the last encoder.
        adapted: The encoder that is adapted to the file, without labels, and measured too; empty: none.
        general: Whether it is adapted to the `GENERAL` texts too.
        training: Options of that training.
    """

    task: str
    file: str
    options: tuple[str, ...] = ()
    validate: str = ""
    published: str = ""
    columns: tuple[str, ...] = ()
    also: str = ""
    finders: tuple[str, ...] = ()
    adapted: str = ""
    general: bool = False
    training: tuple[str, ...] = ()
    folder: bool = False

    @property
    def heading(self) -> str:
        """The unique heading of its table."""
        separate = ", in the text and not in it" if self.columns == SEPARATE else ""
        return f"{self.task}: {self.file.strip('.')}{separate}"


TASKS = (
    Measurement("entities", "wnut2017", published="wnut2017", adapted=TRAINED, general=True),
    Measurement("entities", "bc5cdr", published="bc5cdr", adapted=TRAINED, general=True),
    Measurement("keyphrases", "inspec_test", published="inspec", validate="inspec_valid", columns=F1),
    Measurement("keyphrases", "semeval2017", published="semeval2017", validate="inspec_valid", columns=F1),
    Measurement(
        "keyphrases", "semeval2010_full", published="semeval2010", validate="inspec_valid", columns=F1
    ),
    Measurement("keyphrases", "krapivin", published="krapivin", validate="inspec_valid", columns=F1),
    *(
        Measurement(
            "keyphrases", file, ("--protocol", "simckp"), published=name, columns=SEPARATE, also="rankers"
        )
        for file, name in (("inspec_test", "inspec"), ("krapivin", "krapivin"), ("kp20k_test", "kp20k"))
    ),
    Measurement("phrases", "bird", published="bird", also="alone"),
    Measurement("phrases", "ppdb_filtered", published="ppdb_filtered", also="alone"),
    Measurement("phrases", "ppdb.", published="ppdb", also="alone"),
    Measurement(
        "texts", "stackoverflow", published="stackoverflow", adapted=UNTRAINED, training=("--own-layers",)
    ),
    Measurement(
        "texts", "googlenews_ts", published="googlenews", adapted=UNTRAINED, training=("--own-layers",)
    ),
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
    Measurement("search", "cisi", folder=True),
    Measurement("search", "cacm", folder=True),
)


def main() -> None:
    options = _options()
    for one in TASKS:
        if any(word in one.heading for word in options.only):
            for table in _measured(one, options):
                _put(one, table)


def _put(one: Measurement, table: str) -> None:
    """Write a table into the page, in the order of `TASKS`; the others do not change."""
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
    parser.add_argument("--data", type=Path, required=True, help="folder in which files are found by name")
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=[""],
        help="only tables whose heading contains one of these",
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
    """The table of one file as Markdown; none where the file is missing."""
    data = _folder(options.data, one.file) if one.folder else _find(options.data, one.file)
    if data is None:
        print(f"{one.task} {one.file}: not in {options.data}", file=sys.stderr)
        return
    validation = _find(options.data, one.validate) if one.validate else None
    more = ["--validate", str(validation)] if validation else []
    bundles = [*options.bundles, *(getattr(options, one.also) if one.also else ())]
    if one.published:
        more += ["--published", one.published]
    answers = {bundle: _evaluate(one, data, bundle, more, options.home) for bundle in dict.fromkeys(bundles)}
    last = bundles[-1]
    for finder in one.finders:  # the last of two equal options counts
        answer = _evaluate(one, data, last, [*more, "--topics", finder], options.home)
        answers[last]["rows"][f"indexer, {finder}"] = answer["rows"]["indexer"]
    if one.adapted and options.trainings:
        more = [
            "--published",
            one.published,
            "--adapt",
            str(options.trainings),
            "--steps",
            str(options.steps),
        ]
        more += one.training
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


def _folder(within: Path, name: str) -> Path | None:
    return next((path for path in sorted(within.rglob(name)) if path.is_dir()), None)


def _evaluate(one: Measurement, data: Path, bundle: str, more: Sequence[str], home: Path) -> dict[str, Any]:
    """The output of one measurement, from build/tables where it is there."""
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
    """A hash of the program."""
    files = [path for part in CODE for path in sorted((ROOT / part).rglob("*")) if path.is_file()]
    return _hash([path.read_bytes() for path in files if path.suffix in (".py", ".json", ".safetensors")])


def _hash(parts: Sequence[object]) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _rendered(one: Measurement, data: Path, answers: dict[str, dict[str, Any]]) -> str:
    first = next(iter(answers.values()))
    digits = 2 if one.columns == F1 else 3
    rows: list[dict[str, str]] = []
    for bundle, answer in answers.items():
        for name, figures in answer["rows"].items():
            cells = {m: _cell(figures[m], digits) for m in one.columns or figures if m in figures}
            rows.append({"encoder": bundle, "": name, **cells})
    for name, figures in first["published"].items():
        rows.append({"encoder": "published", "": name, **{m: f"{v:.{digits}f}" for m, v in figures.items()}})
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns), *([row.get(key, "") for key in columns] for row in rows)]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    published = ["--published", one.published] if one.published else []
    command = " ".join(["indexer evaluate", one.task, "--data", data.name, *one.options, *published])
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
