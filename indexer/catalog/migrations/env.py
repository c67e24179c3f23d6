"""What Alembic runs: the migrations, over the connection, in the transaction that the caller opened."""

from __future__ import annotations

from alembic import context

from indexer.catalog.database import VERSION_TABLE
from indexer.catalog.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite cannot alter a column; a batch copies the table
)
with context.begin_transaction():
    context.run_migrations()
