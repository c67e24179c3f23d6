"""indexer serve"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import click

from indexer.cli.app import App, command, pass_app

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="Address to listen on; another one than this machine's own needs keys.")  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--keys", is_flag=True, help="Ask for keys on this machine's own address, too: behind a proxy.")
@click.option("--rate", type=click.FloatRange(0.1), default=20.0, show_default=True, metavar="N",
              help="Requests a second for each key.")  # fmt: skip
@click.option("--certificate", type=FILE, metavar="FILE", help="PEM file, for https.")
@click.option("--certificate-key", type=FILE, metavar="FILE", help="PEM file with its private key.")
@pass_app
def serve(
    app: App,
    host: str,
    port: int,
    keys: bool,
    rate: float,
    certificate: Path | None,
    certificate_key: Path | None,
) -> None:
    """Show the collection as a page, and as an API for programs.

    The page is at /, the API at /api, described at /openapi.json, figures for Prometheus at /metrics. Who is on
    this machine needs no key. To listen to others, make keys first (indexer keys add), and use https.

    \b
    Examples:
      indexer serve
      indexer serve --port 8080
      indexer serve --host 0.0.0.0 --certificate server.pem --certificate-key server.key
    """
    import uvicorn

    from indexer.errors import SettingsError
    from indexer.web.api_keys import Keys
    from indexer.web.app import make_app
    from indexer.web.shared import ServedCollection

    settings = app.existing()
    needed = keys or not _is_own(host)
    known = Keys(settings.home)
    if needed and not known.all():
        raise SettingsError(
            f"To listen on {host}, keys are needed, and there is none." if not keys else "There is no key.",
            hint=f"Make one: {app.again('keys add NAME --scope read')}",
        )
    if needed and not certificate and not keys:
        click.echo("Warning: without --certificate, keys and texts can be read on the way.", err=True)
    collection = ServedCollection.open(settings, create=False)
    served = make_app(collection, keys=known if needed else None, rate=rate)
    server = uvicorn.Server(
        uvicorn.Config(
            served,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # anybody could say who he is
            ssl_certfile=certificate,
            ssl_keyfile=certificate_key,
            timeout_graceful_shutdown=10,
        )
    )
    click.echo(f"http{'s' if certificate else ''}://{host}:{port}  (Ctrl-C ends it)", err=True)
    server.run()


def _is_own(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
