"""Generations that the catalog can go back to, names in the lineage of topics, and who started a run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

BEFORE = "kind IN ('kept', 'split', 'merged', 'born', 'retired', 'hand')"
AFTER = "kind IN ('kept', 'split', 'merged', 'born', 'retired', 'hand', 'renamed')"


def upgrade() -> None:
    op.create_table(
        "generations",
        sa.Column("collection", key, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("fit", key, nullable=False),
        sa.Column("replaced", sa.Integer(), nullable=False),
        sa.Column("run", key, nullable=False),
        sa.PrimaryKeyConstraint("collection", "number", name=op.f("pk_generations")),
    )
    op.create_index(
        "uq_generations_live",
        "generations",
        ["collection"],
        unique=True,
        sqlite_where=sa.text("live"),
        postgresql_where=sa.text("live"),
    )
    op.add_column("runs", sa.Column("started_by", sa.Text(), nullable=False, server_default=""))
    with op.batch_alter_table("lineage") as lineage:
        lineage.add_column(sa.Column("label", sa.Text(), nullable=False, server_default=""))
        lineage.drop_constraint(op.f("ck_lineage_kind"), type_="check")
        lineage.create_check_constraint(op.f("ck_lineage_kind"), AFTER)


def downgrade() -> None:
    op.execute("DELETE FROM lineage WHERE kind = 'renamed'")
    with op.batch_alter_table("lineage") as lineage:
        lineage.drop_constraint(op.f("ck_lineage_kind"), type_="check")
        lineage.create_check_constraint(op.f("ck_lineage_kind"), BEFORE)
        lineage.drop_column("label")
    op.drop_column("runs", "started_by")
    op.drop_table("generations")
