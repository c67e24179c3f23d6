"""indexer serve, report, keys: the collection as a page, an API and a file."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Any

import click

from indexer.cli.app import App, Group, command, json_option, pass_app
from indexer.cli.output import say, show_result, table
from indexer.export.formatting import size

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="Address to listen on; other than loopback, it needs keys.")  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--keys", is_flag=True, help="Require keys on a loopback address too: behind a proxy.")
@click.option("--rate", type=click.FloatRange(0.1), default=20.0, show_default=True, metavar="N",
              help="Requests a second for each key.")  # fmt: skip
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, metavar="N",
              help="Processes that serve, at most one per core.")  # fmt: skip
@click.option("--certificate", type=FILE, metavar="FILE", help="PEM file, for https.")
@click.option("--certificate-key", type=FILE, metavar="FILE", help="PEM file with its private key.")
@pass_app
def serve(
    app: App,
    host: str,
    port: int,
    keys: bool,
    rate: float,
    workers: int,
    certificate: Path | None,
    certificate_key: Path | None,
) -> None:
    """Serve the collection as a page, and as an API for programs.

    The page is at /, the API at /api, its description at /openapi.json, Prometheus metrics at /metrics. Users of this
    machine need no key. To listen to other machines, make keys first (indexer keys add), and use https.

    One process computes on one core at a time. When several users search at once and cores are idle, use --workers: each
    process needs some 0.3 GB of memory and its share of the cores (--threads). Files of vectors and of the encoder are
    in memory once.

    \b
    Examples:
      indexer serve
      indexer serve --port 8080
      indexer serve --workers 4
      indexer serve --host 0.0.0.0 --certificate server.pem --certificate-key server.key
    """
    import uvicorn

    from indexer.errors import SettingsError
    from indexer.search.synonyms import synonyms_of
    from indexer.web import processes
    from indexer.web.api_keys import Keys
    from indexer.web.app import make_app
    from indexer.web.shared import ServedCollection

    settings = app.existing()
    needs_keys = keys or not _is_loopback(host)
    known = Keys(settings.home)
    if needs_keys and not known.all():
        raise SettingsError(
            f"To listen on {host}, keys are needed, and there is none." if not keys else "There is no key.",
            hint=f"Make one: {app.again('keys add NAME --scope read')}",
        )
    if needs_keys and not certificate and not keys:
        click.echo("Warning: without --certificate, keys and texts are sent unencrypted.", err=True)
    synonyms_of(settings.synonyms)  # a file that cannot be read is an error now, and not in every search
    sockets = processes.listen(host, port)
    port = sockets[0].getsockname()[1]
    options: dict[str, Any] = {
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,  # any client could forge them
        "ssl_certfile": certificate,
        "ssl_keyfile": certificate_key,
        "timeout_graceful_shutdown": 10,
    }
    collection = ServedCollection.open(settings, create=False)
    click.echo(f"http{'s' if certificate else ''}://{host}:{port}  (Ctrl-C ends it)", err=True)
    if workers == 1:
        served = make_app(collection, keys=known if needs_keys else None, rate=rate)
        uvicorn.Server(uvicorn.Config(served, **options)).run(sockets=sockets)
        return
    settings = processes.share(collection.settings, workers)
    collection.close()
    worker = processes.WorkerApp(settings, keyed=needs_keys, rate=rate, verbose=app.verbose)
    processes.serve(worker, workers, sockets, options)


def _is_loopback(host: str) -> bool:
    """Whether only this machine can connect to the address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@pass_app
def report(app: App, file: Path) -> None:
    """Write FILE, a web page about the topics of the collection.

    It has a map, a table, and the phrases and representative documents of each topic: a single, self-contained file to
    share. It contains titles and beginnings of texts.

    \b
    Example:
      indexer report topics.html
    """
    from indexer.export.tables import save
    from indexer.web.report import report

    with app.collection() as collection:
        content = report(collection).encode("utf-8", "replace")
    save(file, [content])
    say(f"{file}: {size(len(content))}")


@click.group(cls=Group, default="list")
def keys() -> None:
    """Make and remove keys for the page and the API.

    They are needed when indexer serve listens to other machines. The home keeps only hashes, in keys.json.

    \b
    Examples:
      indexer keys
      indexer keys add reading-room --scope read
      indexer keys remove reading-room
    """


@keys.command("list")
@json_option
@pass_app
def list_(app: App, as_json: bool) -> None:
    """List the keys: name, scope, creation date.

    \b
    Examples:
      indexer keys
      indexer keys list --json
    """
    from indexer.web.api_keys import Keys

    found = Keys(app.settings().home).all()
    value = [{"name": key.name, "scope": key.scope, "made": key.made} for key in found]
    text = table([(key.name, key.scope, key.made) for key in found], head=("name", "scope", "made"))
    show_result(value, text or "no keys", as_json=as_json)


@keys.command()
@click.argument("name")
@click.option("--scope", type=click.Choice(["read", "write", "admin"]), default="read", show_default=True,
              help="read: search and browse; write: also index, rename and retry; admin: also retrain.")  # fmt: skip
@pass_app
def add(app: App, name: str, scope: Any) -> None:
    """Make a key called NAME, and print it.

    It is printed only once. Programs send it as "Authorization: Bearer KEY"; users type it on the page.

    \b
    Example:
      indexer keys add nightly-import --scope write
    """
    from indexer.web.api_keys import Keys

    settings = app.settings()
    settings.make_home()
    say(Keys(settings.home).add(name, scope))


@keys.command()
@click.argument("name")
@pass_app
def remove(app: App, name: str) -> None:
    """Remove the key NAME: a running server refuses it from now on.

    \b
    Example:
      indexer keys remove nightly-import
    """
    from indexer.web.api_keys import Keys

    Keys(app.settings().home).remove(name)
    say(f"key {name} removed")
