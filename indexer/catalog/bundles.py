"""Bundles that a collection has used or tried, with their scores: what `indexer history` shows."""

from __future__ import annotations

from dataclasses import fields

from sqlalchemy import select, update

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

    def keep_bundle_files(self, collection: str, name: str, files: bytes | None) -> None:
        """Keep the files of a bundle that was saved, for machines that have not got it; None forgets them."""
        this = update(B).where(B.collection == collection, B.name == name)
        with self._writing() as connection:
            connection.execute(this.values(files=files))

    def bundle_files(self, name: str) -> bytes | None:
        """The files of a bundle, of whatever collection; None where they were not kept."""
        query = select(B.files).where(B.name == name, B.files.is_not(None)).limit(1)
        with self._reading() as connection:
            return connection.scalar(query)

    def bundles_with_files(self, collection: str) -> set[str]:
        """Names of the bundles whose files are kept."""
        query = select(B.name).where(B.collection == collection, B.files.is_not(None))
        with self._reading() as connection:
            return set(connection.scalars(query))
