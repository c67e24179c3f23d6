"""Near duplicates: edited copies that are found, groups among distinct documents, and the share of the time.

    python -m benchmarks.duplicates --data abstracts.jsonl.gz
    python -m benchmarks.duplicates --data abstracts.jsonl.gz --skip 10000      # where the thresholds were chosen

Indexes distinct documents, lists the groups found among them to be read, and adds edited copies of some, with 5, 15 and
30 % of the words changed: a third each replaced by another word of the collection, deleted, and followed by another word.
A pair is a document and its copy; of a group, all pairs with a copy count.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from shutil import copytree
from typing import Any

from benchmarks.corpus import SHIPPED, rows
from benchmarks.table import Row, table
from indexer.collection import Collection
from indexer.common import shuffled
from indexer.pipeline.run import RunReport

COPY = "copy of "  # before the id of the document
Record = dict[str, Any]
Edit = Callable[[str, random.Random], list[str]]  # a word and chance ► words in its place


def main() -> None:
    options = _options()
    records = sorted(rows(options.data), key=lambda record: shuffled(record["id"]))[options.skip :]
    distinct = records[: options.documents]
    vocabulary = [word for record in distinct for word in record["text"].split()]

    def any_edit(word: str, chance: random.Random) -> list[str]:
        other = chance.choice(vocabulary)
        return chance.choice([[other], [], [word, other]])

    def replacement(word: str, chance: random.Random) -> list[str]:
        return [chance.choice(vocabulary)]

    edits: dict[str, tuple[float, Edit]] = {
        "5 % of words": (0.05, any_edit),
        "15 %": (0.15, any_edit),
        "30 %": (0.3, any_edit),
        "15 %, all replaced": (0.15, replacement),
        "30 %, all replaced": (0.3, replacement),
    }
    with tempfile.TemporaryDirectory(prefix="indexer-bench-") as folder:
        home = Path(folder, "home")
        report, groups = indexed(home, distinct)
        print(f"{len(distinct):,} distinct documents, {len(groups)} groups:\n")
        titles = {record["id"]: record.get("title") or record["id"] for record in distinct}
        for group in groups:
            print("\n".join(f"    {id_}  {titles[id_]}" for id_ in sorted(group)), end="\n\n")
        found: list[Row] = []
        times = [_time("the documents", report)]
        for name, (share, edit) in edits.items():
            copies = [edited(record, share, edit) for record in distinct[: options.copies]]
            copytree(home, Path(folder, name))
            report, groups = indexed(Path(folder, name), copies)
            found.append({"": name, **_f1(groups, len(copies))})
            times.append(_time(f"copies, {name}", report))
    print(f"{options.copies:,} copies\n\n{table(found)}\n\n{table(times)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.duplicates",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=SHIPPED, help="JSON Lines with id, title, text; .gz too")
    parser.add_argument("--documents", type=int, default=10_000, help="distinct ones, the first by hash")
    parser.add_argument("--copies", type=int, default=1_000, help="of each kind")
    parser.add_argument("--skip", type=int, default=0, help="documents to leave out, the first by hash")
    return parser.parse_args()


def edited(record: Record, share: float, edit: Edit) -> Record:
    """A copy under another id, with a share of the words of title and text changed."""
    chance = random.Random(record["id"])

    def text(of: str) -> str:
        places = ([word] if chance.random() >= share else edit(word, chance) for word in of.split())
        return " ".join(word for place in places for word in place)

    copied = {name: text(record[name]) for name in ("title", "text") if record.get(name)}
    return {**record, **copied, "id": f"{COPY}{record['id']}"}


def indexed(home: Path, records: Sequence[Record]) -> tuple[RunReport, list[set[str]]]:
    """Index these records; returns the report and all groups of near duplicates."""
    file = home.with_suffix(".jsonl")
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    with Collection.open(home=home, duplicates=True) as collection:
        report = collection.index([file])
        groups: dict[str, set[str]] = {}
        for id_, original in collection.engine.duplicates().items():
            groups.setdefault(original, {original}).add(id_)
    return report, list(groups.values())


def _f1(groups: Sequence[set[str]], copies: int) -> Row:
    pairs = [pair for group in groups for pair in combinations(group, 2)]
    of_copies = [pair for pair in pairs if any(id_.startswith(COPY) for id_ in pair)]
    right = sum(COPY + one == other or COPY + other == one for one, other in of_copies)
    precision, recall = right / max(1, len(of_copies)), right / copies
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return {
        name: f"{value:.3f}" for name, value in (("precision", precision), ("recall", recall), ("F1", f1))
    }


def _time(name: str, report: RunReport) -> Row:
    seconds = report.stages["duplicates"]
    return {
        "": name,
        "indexing, s": report.seconds,
        "near duplicates, s": seconds,
        "share, %": 100 * seconds / report.seconds,
    }


if __name__ == "__main__":
    main()
