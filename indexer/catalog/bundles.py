"""Bundles that a collection has used or tried, with their scores: what `indexer history` shows."""

from __future__ import annotations

from dataclasses import fields

from sqlalchemy import select

from indexer.catalog.database import Database, now
from indexer.catalog.entries import BundleEntry
from indexer.catalog.tables import BundleRow as B


class Bundles(Database):
    def save_bundle(self, collection: str, bundle: BundleEntry) -> None:
        """Write or overwrite what is known of a bundle; the time of the first writing stays."""
        row = {
            "collection": collection,
            **{f.name: getattr(bundle, f.name) for f in fields(bundle)},
            "scores": dict(bundle.scores),
            "created_at": bundle.created_at or now(),
        }
        with self._writing() as connection:
            connection.execute(self._upsert(B, update=("fingerprint", "path", "parent", "scores")), row)

    def bundles(self, collection: str) -> list[BundleEntry]:
        """Bundles, newest first."""
        columns = [getattr(B, f.name) for f in fields(BundleEntry)]
        query = select(*columns).where(B.collection == collection).order_by(B.created_at.desc(), B.name)
        with self._reading() as connection:
            return [BundleEntry(*row) for row in connection.execute(query)]
