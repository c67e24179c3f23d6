"""The sketches of documents, by which near duplicates are found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("documents", sa.Column("sketch", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("documents", "sketch")
