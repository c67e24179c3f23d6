"""The command line: one file per command, each a few lines over `indexer.collection.Collection`.

`main` is the entry point. Importing this loads click and nothing heavier: what a command needs, it imports itself.
"""

from __future__ import annotations

from indexer.cli.root import main

__all__ = ["main"]
