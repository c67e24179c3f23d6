"""The topics that users have given to documents, or taken away; terms that a field of the documents names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "corrections",
        sa.Column("collection", key, nullable=False),
        sa.Column("document", key, nullable=False),
        sa.Column("topic", key, nullable=False),
        sa.Column("belongs", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("collection", "document", "topic", name=op.f("pk_corrections")),
    )
    with op.batch_alter_table("terms") as terms:
        terms.add_column(sa.Column("field", key, nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("terms") as terms:
        terms.drop_column("field")
    op.drop_table("corrections")
