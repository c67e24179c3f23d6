"""python -m indexer.cli"""

from __future__ import annotations

from indexer.cli import main

main(prog_name="indexer")
