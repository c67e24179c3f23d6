"""The schema of version 0.1.0, from which catalogs are brought up to date. A new catalog is made by `Base.metadata`."""

revision = "0004"
down_revision = None
branch_labels = None
depends_on = None
