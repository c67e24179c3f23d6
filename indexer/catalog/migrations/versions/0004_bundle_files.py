"""The files of bundles that retrains have made, for machines with another home."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("bundles", sa.Column("files", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("bundles", "files")
