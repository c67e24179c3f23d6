"""What language models were shown of topics, and said."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "namings",
        sa.Column("collection", key, nullable=False),
        sa.Column("topic", key, nullable=False),
        sa.Column("mined", key, nullable=False),
        sa.Column("model", key, nullable=False),
        sa.Column("shown", sa.JSON(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("refused", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("collection", "topic", "mined", "model", name=op.f("pk_namings")),
    )


def downgrade() -> None:
    op.drop_table("namings")
