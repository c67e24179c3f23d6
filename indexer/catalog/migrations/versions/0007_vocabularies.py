"""The vocabularies of users, whose terms are topics."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "terms",
        sa.Column("collection", key, nullable=False),
        sa.Column("key", key, nullable=False),
        sa.Column("topic", key, nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("synonyms", sa.JSON(), nullable=False),
        sa.Column("broader", key, nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("collection", "key", name=op.f("pk_terms")),
    )


def downgrade() -> None:
    op.drop_table("terms")
