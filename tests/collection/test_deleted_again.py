"""Documents that are deleted and indexed again leave the collection as it was."""

from __future__ import annotations

from small_reports import made, opened, state, write


def test_deleting_documents_and_indexing_them_again_changes_nothing(tmp_path):
    source = write(tmp_path / "a.jsonl", made(60))
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics=3)
        before = state(collection)
        collection.delete([f"d{i:02}" for i in range(0, 60, 3)])
        assert state(collection) != before
        collection.index([source])
        assert state(collection) == before
