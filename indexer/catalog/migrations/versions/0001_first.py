"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "documents",
        sa.Column("collection", key, nullable=False),
        sa.Column("id", key, nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("source", key, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("bundle", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("topic_fit", sa.Text(), nullable=False),
        sa.Column("seen_run", sa.Text(), nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.CheckConstraint("state IN ('stored', 'mined', 'done')", name=op.f("ck_documents_state")),
        sa.PrimaryKeyConstraint("collection", "id", name=op.f("pk_documents")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_documents_collection_state_id"), "documents", ["collection", "state", "id"])

    op.create_table(
        "runs",
        sa.Column("id", key, nullable=False),
        sa.Column("collection", key, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("started_at", moment, nullable=False),
        sa.Column("finished_at", moment),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("boot", sa.Text(), nullable=False),
        sa.Column("birth", sa.Text(), nullable=False),
        sa.Column("lock_token", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "state IN ('running', 'finished', 'failed', 'interrupted')", name=op.f("ck_runs_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_collection_id"), "runs", ["collection", "id"])

    op.create_table(
        "bundles",
        sa.Column("collection", key, nullable=False),
        sa.Column("name", key, nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("parent", sa.Text(), nullable=False),
        sa.Column("scores", sa.JSON(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("collection", "name", name=op.f("pk_bundles")),
    )

    op.create_table(
        "topics",
        sa.Column("collection", key, nullable=False),
        sa.Column("id", key, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("named_by_hand", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("born_run", sa.Text(), nullable=False),
        sa.Column("retired_run", sa.Text(), nullable=False),
        sa.Column("phrases", sa.JSON(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('live', 'retired')", name=op.f("ck_topics_state")),
        sa.PrimaryKeyConstraint("collection", "id", name=op.f("pk_topics")),
    )

    op.create_table(
        "lineage",
        sa.Column("row", row_number, nullable=False, autoincrement=True),
        sa.Column("collection", key, nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("old_id", key),
        sa.Column("new_id", key),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("score", sa.Float(53), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.CheckConstraint(
            "kind IN ('kept', 'split', 'merged', 'born', 'retired', 'hand')", name=op.f("ck_lineage_kind")
        ),
        sa.ForeignKeyConstraint(
            ["collection", "old_id"],
            ["topics.collection", "topics.id"],
            name=op.f("fk_lineage_collection_old_id"),
        ),
        sa.ForeignKeyConstraint(
            ["collection", "new_id"],
            ["topics.collection", "topics.id"],
            name=op.f("fk_lineage_collection_new_id"),
        ),
        sa.PrimaryKeyConstraint("row", name=op.f("pk_lineage")),
    )
    op.create_index(op.f("ix_lineage_collection_old_id"), "lineage", ["collection", "old_id"])
    op.create_index(op.f("ix_lineage_collection_new_id"), "lineage", ["collection", "new_id"])

    op.create_table(
        "fits",
        sa.Column("collection", key, nullable=False),
        sa.Column("run", key, nullable=False),
        sa.Column("bundle", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("arrays", sa.LargeBinary(), nullable=False),
        sa.Column("info", sa.JSON(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("collection", "run", name=op.f("pk_fits")),
    )
    op.create_index(
        "uq_fits_live",
        "fits",
        ["collection"],
        unique=True,
        sqlite_where=sa.text("live"),
        postgresql_where=sa.text("live"),
    )

    op.create_table(
        "dead_letters",
        sa.Column("row", row_number, nullable=False, autoincrement=True),
        sa.Column("collection", key, nullable=False),
        sa.Column("source", key, nullable=False),
        sa.Column("document_id", key, nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("first_at", moment, nullable=False),
        sa.Column("last_at", moment, nullable=False),
        sa.Column("resolved_at", moment),
        sa.CheckConstraint(
            "stage IN ('read', 'store', 'prepare', 'encode', 'write')", name=op.f("ck_dead_letters_stage")
        ),
        sa.PrimaryKeyConstraint("row", name=op.f("pk_dead_letters")),
    )
    op.create_index(
        "uq_dead_letters_open",
        "dead_letters",
        ["collection", "source", "document_id", "stage"],
        unique=True,
        sqlite_where=sa.text("resolved_at IS NULL"),
        postgresql_where=sa.text("resolved_at IS NULL"),
    )
    op.create_index(
        op.f("ix_dead_letters_collection_document_id"), "dead_letters", ["collection", "document_id"]
    )

    op.create_table(
        "counters",
        sa.Column("collection", key, nullable=False),
        sa.Column("name", key, nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("collection", "name", name=op.f("pk_counters")),
    )

    op.create_table(
        "locks",
        sa.Column("collection", key, nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("boot", sa.Text(), nullable=False),
        sa.Column("birth", sa.Text(), nullable=False),
        sa.Column("since", moment, nullable=False),
        sa.Column("expires_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("collection", name=op.f("pk_locks")),
    )

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


def downgrade() -> None:
    raise NotImplementedError("There is nothing before the first schema.")
