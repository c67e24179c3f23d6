"""python -m indexer.cli"""

from __future__ import annotations

from indexer.cli import start

start()
