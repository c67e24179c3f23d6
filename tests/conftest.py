"""For all tests: none of the developer's own settings, no hub, and one thread for each process of the run."""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import settings

# A shell starts what it runs in the background with Ctrl-C ignored, and our children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

for name in [*os.environ]:
    if name.startswith("INDEXER_") and not name.startswith("INDEXER_TEST_"):
        del os.environ[name]

# The reports of `small_reports` differ by a number: they are near duplicates, and of three texts no topics can be fitted.
os.environ["INDEXER_DUPLICATES"] = "off"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # read when numpy and torch are loaded; the run has a process per core


gc.set_threshold(100_000, 50, 100)  # the collector's usual rhythm takes a tenth of the tests' time


# The tests on OpenSearch of a run of all tests: the others repeat those on Elasticsearch and take minutes. `-m live` runs
# all of them, on every version.
ON_OPENSEARCH = re.compile(
    r"(test_contract_(search|facets|dates|phrases)\.py|test_every_command_answers|test_reset_connections)"
    r".*elastic-opensearch-2\.19"
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "live" in config.option.markexpr:
        return
    of_opensearch = [item for item in items if "elastic-opensearch-" in item.nodeid]
    left_out = {item for item in of_opensearch if not ON_OPENSEARCH.search(item.nodeid)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: pytest's last look for what was not closed need not pass over them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def taggers_are_loaded_once() -> Iterator[None]:
    """Loading one takes half a second, and it is the same after a test as before."""
    from indexer.text import prepare

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "_load", cache(prepare._load))
        yield


@pytest.fixture(scope="module")
def small_training() -> Iterator[None]:
    """For a tiny network few pairs and texts in each step, tagging in this process, and no picture."""
    from indexer.text.pool import PreparePool

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trainer.base.sources.BATCH", 32)
        patch.setattr("trainer.base.sources.KEPT_TEXTS", 120)
        patch.setattr("trainer.base.sources.WINDOWS", 40)
        patch.setattr("trainer.base.job.draw", lambda steps, path: path.touch())
        patch.setattr("trainer.base.anchor.KEEP_DOCUMENTS", 8)
        patch.setattr("trainer.uctopic.ccl.ANCHORS", 8)
        patch.setattr("trainer.base.corpus.PreparePool", lambda workers, tagger: PreparePool(0, tagger))
        yield


settings.register_profile("project", deadline=None)  # a busy machine is no error
settings.load_profile("project")
