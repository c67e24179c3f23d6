"""Batches of documents for workers, which hold their candidates too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "batches",
        sa.Column("id", key, nullable=False),
        sa.Column("collection", key, nullable=False),
        sa.Column("run", key, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("ids", sa.JSON(), nullable=False),
        sa.Column("candidates", sa.LargeBinary()),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("not_before", moment),
        sa.Column("sent_at", moment),
        sa.Column("deaths", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("boot", sa.Text(), nullable=False),
        sa.Column("birth", sa.Text(), nullable=False),
        sa.Column("expires_at", moment),
        sa.CheckConstraint("state IN ('prepare', 'encode')", name=op.f("ck_batches_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
    )
    op.create_index(op.f("ix_batches_collection"), "batches", ["collection"])
    op.create_index(op.f("ix_batches_run"), "batches", ["run"])
    op.add_column("runs", sa.Column("cut_to", key, nullable=False, server_default=""))
    op.drop_table("prepared")  # nothing has written to it yet


def downgrade() -> None:
    op.create_table(
        "prepared",
        sa.Column("collection", key, nullable=False),
        sa.Column("id", key, nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("collection", "id", name=op.f("pk_prepared")),
        sqlite_with_rowid=False,
    )
    op.drop_column("runs", "cut_to")
    op.drop_table("batches")
