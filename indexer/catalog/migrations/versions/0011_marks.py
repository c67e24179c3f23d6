"""Topics that users pin or hide, and the names that were mined for topics with other names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

BEFORE = ("kept", "split", "merged", "born", "retired", "hand", "renamed")
MARKS = ("pinned", "hidden", "unmarked")


def upgrade() -> None:
    op.add_column("topics", sa.Column("mark", sa.Text(), nullable=False, server_default=""))
    op.add_column("topics", sa.Column("mined", sa.Text(), nullable=False, server_default=""))
    _allow((*BEFORE, *MARKS))


def downgrade() -> None:
    op.execute(f"DELETE FROM lineage WHERE {_one_of(MARKS)}")
    _allow(BEFORE)
    op.drop_column("topics", "mark")
    op.drop_column("topics", "mined")


def _allow(kinds: tuple[str, ...]) -> None:
    with op.batch_alter_table("lineage") as batch:
        batch.drop_constraint(op.f("ck_lineage_kind"), type_="check")
        batch.create_check_constraint(op.f("ck_lineage_kind"), _one_of(kinds))


def _one_of(kinds: tuple[str, ...]) -> str:
    return f"kind IN ({', '.join(repr(kind) for kind in kinds)})"
