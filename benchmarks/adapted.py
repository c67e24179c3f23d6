"""Cost and gain of a whole retrain: time, memory, the gate's table, and agreement with labels that no other step uses.

    python -m benchmarks.adapted --data 20newsgroups.jsonl.gz --documents 4000 --bundle minilm-base --budget 20m

The field ``label`` of the documents is taken away before they are indexed. Before and after the retrain the first topic
of each document, and K-means on the vectors of documents with as many clusters as there are labels, are compared with
it. The command is run twice more: once on the unchanged collection, once as a rollback, each with its seconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpus import SHIPPED, rows, write_sample
from benchmarks.process import watch
from indexer.collection import Collection
from trainer.evaluation.clustering import agreement, kmeans, numbered, scored

SEEDS = range(3)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHIPPED, help="JSON Lines with title, text and label")
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--bundle", default="minilm-phrases", help="the encoder to begin with")
    parser.add_argument("--method", default="both")
    parser.add_argument("--budget", default="5m", help="for the trainings")
    parser.add_argument("--home", type=Path, help="keep the collection there, and use the one that is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="indexer-benchmark-") as folder:
        compare(options, options.home or Path(folder))


def compare(options: argparse.Namespace, home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    labels = unlabelled(options.data, options.documents, home / "documents.jsonl")
    output_of(home, "index", home / "documents.jsonl", "--bundle", options.bundle)
    before = against(labels, home)
    report = output_of(home, "retrain", "--method", options.method, "--budget", options.budget)
    print(json.dumps(report, indent=1))
    after = against(labels, home)
    for name, old in before.items():
        print(f"{name:40} {old} ► {after[name]}")
    output_of(home, "retrain", "--budget", options.budget)  # nothing has changed
    if report["verdict"] == "swapped":
        output_of(home, "rollback")


def unlabelled(data: Path, size: int, file: Path) -> dict[str, str]:
    """Write the documents without their labels; returns those by document."""
    write_sample(data, size, file)
    whole = rows(file)
    kept = ({name: row[name] for name in ("id", "title", "text") if name in row} for row in whole)
    file.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    return {row["id"]: str(row["label"]) for row in whole}


def output_of(home: Path, *arguments: object) -> Any:
    """The JSON output of a command; prints its seconds and memory."""
    command = [sys.executable, "-m", "indexer.cli", "--home", str(home), *map(str, arguments), "--json"]
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=out) as process:
            megabytes, unmapped = watch(process)
        seconds = time.perf_counter() - start
        print(
            f"{arguments[0]}: {seconds:,.1f} s, {megabytes:,.0f} MB ({unmapped:,.0f} without mapped files), "
            f"exit code {process.returncode}",
            flush=True,
        )
        out.seek(0)
        return json.loads(out.read())


def against(labels: dict[str, str], home: Path) -> dict[str, str]:
    """Figures of the live generation, as text."""
    with Collection.open(home=home, create=False) as collection:
        stored = list(collection.engine.documents(sorted(labels), vectors=True))
        topics = collection.topics()
    truth = numbered([labels[one.document.id] for one in stored])
    first = numbered([one.topics[0].topic_id if one.topics else "" for one in stored])
    points = np.stack([one.vector for one in stored if one.vector is not None])
    known = np.array([one.vector is not None for one in stored])
    number = len(set(labels.values()))
    plain = scored(truth[known], (kmeans(points, number, seed) for seed in SEEDS))
    return {
        "NMI of first topics": f"{agreement(truth, first):.3f} ({len(topics)} topics)",
        "K-means on vectors, accuracy": str(plain["acc"]),
        "K-means on vectors, NMI": str(plain["nmi"]),
    }


if __name__ == "__main__":
    main()
