"""Worker processes with small parts, which can be made slow, and which some texts kill. Started by tests, as a program.

    fragile_worker.py prepare encode        looks after a process for each queue, as `indexer worker` does
    fragile_worker.py encode encode-1       is such a process

FRAGILE_SECONDS: that encoding a batch takes. A text with the word "killer" ends the process that encodes it at once, as
a crash in native code would; one with "tagkiller" the process that tags it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from small_parts import PlainPreparer, WideHashEncoder

from indexer.settings import load_settings
from workers import process
from workers.queues import QUEUES, processes
from workers.supervisor import Supervisor


class FragileEncoder(WideHashEncoder):
    def encode(self, windows):
        time.sleep(float(os.environ.get("FRAGILE_SECONDS", "0")))
        if any("killer" in window.text.split() for window in windows):
            os._exit(139)
        return super().encode(windows)


class FragilePreparer(PlainPreparer):
    def prepare(self, documents):
        if any("tagkiller" in document.text.split() for document in documents):
            os._exit(139)
        return super().prepare(documents)


def main(arguments):
    if set(arguments) <= set(QUEUES):
        command = [sys.executable, str(Path(__file__))]
        threads = load_settings().threads or 1
        Supervisor(processes(arguments, None, threads, []), {}, command=command).run()
        return 0
    import indexer.text.parallel
    import models.load

    models.load.load_encoder = lambda *args, **kwargs: FragileEncoder()
    indexer.text.parallel.Preparer = FragilePreparer
    return process.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
