"""One name for it everywhere: a label that a user has set is locked."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE topics RENAME COLUMN named_by_hand TO label_locked")


def downgrade() -> None:
    op.execute("ALTER TABLE topics RENAME COLUMN label_locked TO named_by_hand")
