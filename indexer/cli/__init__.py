"""The command line: one file per group of commands, each a few lines over `indexer.collection.Collection`.

`main` is the entry point. Importing this loads only click; each command imports its own dependencies when it runs.
"""

from __future__ import annotations

from indexer.cli.app import main

__all__ = ["main"]
