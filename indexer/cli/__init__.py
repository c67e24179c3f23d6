"""The command line: one file per group of commands, each a few lines over `indexer.collection.Collection`.

`start` is the entry point. Importing this loads only click; each command imports its own dependencies when it runs.
"""

from __future__ import annotations

import gc
import os
import sys

from indexer.cli.app import INTERRUPTED, TERMINATED, main

__all__ = ["main", "start"]


def start() -> None:
    """Run the program. Stopped by Ctrl-C or SIGTERM, it ends without waiting for what threads still compute."""
    code = 0
    try:
        main(prog_name="indexer" if sys.argv[0].endswith("__main__.py") else None)
    except SystemExit as error:
        if error.code not in (INTERRUPTED, TERMINATED):
            raise
        code = INTERRUPTED if error.code == INTERRUPTED else TERMINATED
    gc.collect()  # of what the stopped work held: semaphores are removed with their objects
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
