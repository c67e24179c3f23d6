"""Compare with KeyBERT and BERTopic, and measure growth: everything in one run, on one machine, with the same threads.

    python -m benchmarks.run --json results.json
    python -m benchmarks.run --only growth --data abstracts.jsonl.gz --sizes 600,5000,50000

Each program runs in a separate process; times are of the whole process unless a column says otherwise.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import against_bertopic, against_keybert, growth
from benchmarks.corpus import SHIPPED, write_sample
from benchmarks.process import Conditions, run
from benchmarks.table import table
from models.hardware import cpu_model, physical_cores

PARTS = ("keybert", "bertopic", "growth")


def main() -> None:
    options = _options()
    conditions = Conditions(options.threads, options.gpu)
    results: dict[str, Any] = {"machine": _machine(conditions), "data": options.data.name}
    print(
        f"{results['machine']['processor']}, {options.threads} threads, {'GPU allowed' if options.gpu else 'no GPU'}"
    )
    with tempfile.TemporaryDirectory(prefix="indexer-bench-") as folder:
        scratch = Path(folder)
        file = scratch / "sample.jsonl"
        write_sample(options.data, options.sizes[0], file)
        common = (file, options.sizes[0], scratch, options.repeat, conditions)
        if "keybert" in options.only:
            results["keybert"] = against_keybert.compare(*common)
            _show(against_keybert.TITLE, results["keybert"])
        if "bertopic" in options.only:
            results["bertopic"] = against_bertopic.compare(*common, options.topics)
            _show(against_bertopic.TITLE, results["bertopic"])
        if "growth" in options.only:
            rows, stages = growth.measure(options.data, options.sizes, scratch, conditions)
            results["growth"], results["stages"] = rows, stages
            _show(growth.TITLE, rows)
            _show(growth.STAGES_TITLE, stages)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--data", type=Path, default=SHIPPED, help="JSON Lines with id, title, text, label; .gz too"
    )
    parser.add_argument(
        "--sizes", type=_sizes, default=[600], help="documents; comparisons take the first of them"
    )
    parser.add_argument("--only", type=_parts, default=PARTS, help=f"some of {','.join(PARTS)}")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each comparison; medians are printed")
    parser.add_argument(
        "--topics", default="", help="requested of BERTopic and of the indexer; default: each decides"
    )
    parser.add_argument("--threads", type=int, default=physical_cores(), help="for every program")
    parser.add_argument("--gpu", action="store_true", help="let every program see the GPU")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    return parser.parse_args()


def _sizes(text: str) -> list[int]:
    return [int(part) for part in text.replace("_", "").split(",")]


def _parts(text: str) -> list[str]:
    parts = text.split(",")
    if unknown := set(parts) - set(PARTS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    return parts


def _machine(conditions: Conditions) -> dict[str, Any]:
    """What the figures depend on. Starting everything once also warms the disk's cache."""
    return {
        "processor": cpu_model(),
        "threads": conditions.threads,
        "gpu": conditions.gpu,
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "versions": run("warm", conditions=conditions).answer["versions"],
        "date": time.strftime("%Y-%m-%d"),
    }


def _show(title: str, rows: list[dict[str, Any]]) -> None:
    print(f"\n{title}\n\n{table(rows)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
