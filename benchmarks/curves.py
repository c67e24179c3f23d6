"""Loss and dev score of several trainings in one picture.

    python -m benchmarks.curves --out docs/curves.png FOLDER…

Each folder is a bundle with its `curve.json`, as `indexer train` leaves it in the home.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from trainer.base.curve import draw_all


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--out", type=Path, required=True, help="PNG, SVG or PDF")
    options = parser.parse_args()
    draw_all(
        {one.name: json.loads((one / "curve.json").read_bytes()) for one in options.folders}, options.out
    )


if __name__ == "__main__":
    main()
