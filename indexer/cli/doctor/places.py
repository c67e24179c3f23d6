"""Checks of what is elsewhere: server, catalog, broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indexer.cli.doctor.checks import Check, Found, guarded
from indexer.export.formatting import count

if TYPE_CHECKING:
    from indexer.settings import Settings


@guarded("server")
def server(settings: Settings) -> Found:
    from contextlib import closing

    from indexer.engines.elastic import connect_to
    from indexer.engines.elastic.health import FOUND, READ, lacking, problems_of_server

    with closing(connect_to(settings)) as cluster:
        lacks = lacking(cluster, f"{settings.index_prefix}-*", FOUND)
        cluster.ask(cluster.client.indices.get_alias, name=f"{settings.index_prefix}-*")  # the server answers
        version = cluster.version()
        problems = list(problems_of_server(cluster))
    about = f"{cluster.product} {version}".rstrip() + f" at {cluster.where}"
    hint = "docs/elasticsearch.md has the roles of readers, writers and founders."
    if set(lacks) & set(READ):
        yield Check("server", "FAIL", f"{about}; this user lacks {', '.join(lacks)}", hint)
    elif lacks:
        yield Check(
            "server", "WARN", f"{about}; this user lacks {', '.join(lacks)}: no new collections", hint
        )
    else:
        yield Check("server", "OK", about)
    for problem in problems:
        yield Check("server", "FAIL" if problem.fatal else "WARN", problem.found, problem.hint)


@guarded("catalog")
def catalog(settings: Settings) -> Found:
    from indexer.catalog.database import look
    from indexer.log import masked

    found = look(settings.database)
    about = f"schema {found}" if found else "made when it is needed"
    yield Check("catalog", "OK", f"{masked(settings.database)}, {about}")


@guarded("broker")
def broker(settings: Settings) -> Found:
    from indexer.errors import require
    from indexer.log import masked

    require("celery", extra="workers", purpose="INDEXER_BROKER")
    from workers.messages import Sender

    sender = Sender(settings)
    sender.check()
    waiting = sum(depth or 0 for depth in sender.depths().values())
    yield Check("broker", "OK", f"{masked(settings.broker)}; {count(waiting, 'message')} waiting")
