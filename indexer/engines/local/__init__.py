"""The embedded engine: one SQLite file and three files of vectors in one folder."""

from indexer.engines.local.engine import LocalEngine

__all__ = ["LocalEngine"]
