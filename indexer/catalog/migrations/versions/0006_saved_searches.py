"""Searches that are repeated after each run, for what is new."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "saved_searches",
        sa.Column("collection", key, nullable=False),
        sa.Column("name", key, nullable=False),
        sa.Column("search", sa.JSON(), nullable=False),
        sa.Column("after_run", key, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("new", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("collection", "name", name=op.f("pk_saved_searches")),
    )


def downgrade() -> None:
    op.drop_table("saved_searches")
