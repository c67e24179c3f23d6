"""RabbitMQ: a server of one's own, which forgets everything when it is removed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from services.asking import missing
from services.guarded import Guarded
from services.ports import free_port

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # that in the path is for root only


def started_rabbitmq() -> Guarded:
    """A server of one's own, which may be stopped; remove it in the end."""
    if not PROGRAM.exists() or shutil.which("epmd") is None:
        missing("There is no RabbitMQ here: apt-get install rabbitmq-server.")
    server = Guarded("rabbitmq", _command, user="nobody" if os.geteuid() == 0 else "")
    server.start()
    return server


def url_of(server: Guarded) -> str:
    return f"amqp://guest:guest@127.0.0.1:{server.port}//"


def _command(folder: Path, port: int) -> list[str]:
    """Starts its name service beside it, on a port of its own: the one that Erlang starts would outlive the tests."""
    names, nodes = free_port(), free_port()
    environment = {
        "HOME": folder,
        "ERL_EPMD_PORT": names,
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODENAME": f"tests{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": port,
        "RABBITMQ_DIST_PORT": nodes,
        "RABBITMQ_MNESIA_BASE": folder / "mnesia",
        "RABBITMQ_LOG_BASE": folder,
        "RABBITMQ_PID_FILE": folder / "pid",
        "RABBITMQ_CONFIG_FILE": folder / "none",
        "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "plugins",
    }
    settings = [f"{name}={value}" for name, value in environment.items()]
    return ["env", *settings, "sh", "-c", f"epmd & exec {PROGRAM}"]
