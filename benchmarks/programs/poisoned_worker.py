"""`indexer worker`, but a text with the word "zzpoisonzz" ends the process that encodes it, as a crash would.

poisoned_worker.py                       looks after the processes
poisoned_worker.py encode encode-1       is one of them
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

POISON = "zzpoisonzz"


def main(arguments: list[str]) -> int:
    from indexer.settings import load_settings
    from models.hardware import physical_cores
    from workers import process
    from workers.queues import STARTED_BY_DEFAULT, processes
    from workers.supervisor import Supervisor

    if not arguments:
        command = [sys.executable, str(Path(__file__))]
        started = processes(STARTED_BY_DEFAULT, None, load_settings().threads or physical_cores(), [])
        Supervisor(started, {}, command=command).run()
        return 0
    import models.load

    load = models.load.load_encoder

    def loaded(*positional: Any, **named: Any) -> Any:
        encoder = load(*positional, **named)
        encode = encoder.encode

        def fatal(windows: Any) -> Any:
            if any(POISON in window.text for window in windows):
                os._exit(139)
            return encode(windows)

        encoder.encode = fatal  # type: ignore[method-assign]
        return encoder

    models.load.load_encoder = loaded
    return process.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
