"""Write what a release contains as CycloneDX, into build/: packages with their hashes, and the files of the encoders.

    python -m tools.sbom

`sbom-light.json` is what `pip install .` brings, `sbom.json` the same with all extras and the tools of the tests.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCKS = {"sbom-light.json": "requirements-light.lock", "sbom.json": "requirements.lock"}
CYCLONEDX = [
    sys.executable,
    "-W",
    "ignore",
    "-m",
    "cyclonedx_py",
]  # it warns that the tree of packages is flat


def main() -> None:
    (ROOT / "build").mkdir(exist_ok=True)
    for name, lock in LOCKS.items():
        record = packages(ROOT / lock)
        record["components"] += models(ROOT / "models" / "bundles")
        (ROOT / "build" / name).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"build/{name}: {len(record['components'])} components")


def packages(lock: Path) -> dict[str, Any]:
    """The packages of a lock file."""
    command = [
        *CYCLONEDX,
        "requirements",
        lock,
        "--pyproject",
        ROOT / "pyproject.toml",
        "--output-format",
        "JSON",
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def models(bundles: Path) -> list[dict[str, Any]]:
    """The files of the encoders that are shipped."""
    files = sorted(path for path in bundles.rglob("*") if path.is_file())
    return [
        {
            "type": "machine-learning-model" if path.suffix == ".safetensors" else "data",
            "name": str(path.relative_to(bundles)),
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
        }
        for path in files
    ]


if __name__ == "__main__":
    main()
