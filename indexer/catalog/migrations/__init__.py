"""Changes of the schema, one file each in versions/, run by Alembic from inside the program."""

from __future__ import annotations

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

FOLDER = Path(__file__).parent

_one_at_a_time = threading.Lock()  # Alembic's `op` and `context` belong to the whole process


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def known() -> set[str]:
    """The versions that this program has a file for."""
    return {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


def upgrade(connection: Connection) -> None:
    """Run what is missing, inside the transaction of `connection`."""
    config = _config()
    config.attributes["connection"] = connection
    with _one_at_a_time:
        command.upgrade(config, "head")
