"""The whole way through one collection: real tagger, catalog and engine; an encoder without a model."""

import json

import pytest
from lock_theft import steal_locks
from small_reports import SUBJECTS, made, opened, state, write

from indexer.collection import Collection
from indexer.engines.local import LocalEngine
from indexer.errors import CatalogError, NotFound, QueryError
from indexer.records import Document
from indexer.search.query import parse_filter


@pytest.mark.slow
def test_index_mines_topics_keyphrases_and_phrases(tmp_path):
    source = write(tmp_path / "a.jsonl", made())
    with opened(tmp_path / "home") as collection:
        report = collection.index([source], topics=3)
        assert (report.read, report.new, report.mined, report.failed) == (30, 30, 30, 0)
        kinds = {
            topic.id: {s.document.meta["kind"] for s in collection.topic(topic.id, documents=30).documents}
            for topic in collection.topics()
        }
        assert sorted(map(len, kinds.values())) == [1, 1, 1]
        stored = collection.document("d00")
        assert all(k.present for k in stored.keyphrases)
        for keyphrase in stored.keyphrases:
            for place in keyphrase.places:
                field = getattr(stored.document, place.field)
                assert field[place.start : place.end].lower().split()[-1][:3] in keyphrase.text.lower()


def test_places_are_exact(tmp_path):
    source = write(tmp_path / "a.jsonl", made(3))
    with opened(tmp_path / "home") as collection:
        collection.index([source])
        stored = collection.document("d00")
        first = {k.text: k.places[0] for k in stored.keyphrases}
        for text, place in first.items():
            assert getattr(stored.document, place.field)[place.start : place.end] == text


@pytest.mark.slow
def test_the_same_again_changes_nothing_and_encodes_nothing(tmp_path, encoder):
    source = write(tmp_path / "a.jsonl", made())
    with opened(tmp_path / "home", encoder) as collection:
        collection.index([source])
        before, windows = state(collection), len(encoder.windows)
        again = collection.index([source])
        assert again.nothing_changed
        assert again.unchanged == 30
        assert len(encoder.windows) == windows
        assert state(collection) == before


@pytest.mark.slow
def test_only_what_changed_is_done_again(tmp_path, encoder):
    records = made()
    source = write(tmp_path / "a.jsonl", records)
    with opened(tmp_path / "home", encoder) as collection:
        collection.index([source])
        windows = len(encoder.windows)
        records[0]["text"] = "A tax court decides about tax law."
        del records[1]
        records.append({"id": "new", "text": "Solar wind and solar corona."})
        write(source, records)
        report = collection.index([source])
        assert (report.new, report.changed, report.unchanged, report.deleted, report.mined) == (
            1,
            1,
            28,
            0,
            2,
        )
        assert len(encoder.windows) == windows + 2
        assert collection.document("d01")  # nothing is removed without being asked
        assert collection.index([source], delete_missing=True).deleted == 1
        with pytest.raises(NotFound):
            collection.document("d01")


@pytest.mark.slow
def test_texts_that_are_replaced_again_and_again_take_no_more_room(tmp_path):
    def room():
        return sum(file.stat().st_size for file in collection.engine.path.glob("*.f16"))

    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made())], topics=3)
        first = room()
        for time in range(3):
            records = [record | {"text": f"{record['text']} Once more, {time}."} for record in made()]
            assert collection.index([write(tmp_path / "a.jsonl", records)]).changed == 30
        assert not collection.engine.wasteful()
        assert room() < 1.5 * first
        assert collection.search("solar wind", mode="meaning").hits


def test_a_record_that_moved_to_another_file_is_not_missing(tmp_path):
    """Regression: it was still counted to the old file, and removed with it."""
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    with opened(tmp_path / "home") as collection:
        collection.index([write(a, made(4))])
        write(a, made(4)[:3])
        collection.index([write(b, made(4)[3:])])
        assert collection.index([a], delete_missing=True).deleted == 0
        assert collection.document("d03")


def test_a_record_that_replaces_one_of_another_file_is_told(tmp_path):
    """Regression: two tables numbered from 1 overwrote each other without a word."""
    a, b = write(tmp_path / "a.jsonl", made(8)), tmp_path / "b.jsonl"
    others = [{"id": f"d{i:02}", "text": f"A loaf of bread, number {i}."} for i in range(6)]
    with opened(tmp_path / "home") as collection:
        assert collection.index([a]).notes == []
        write(b, [others[0], *made(2)[1:]])  # d01 has only moved
        assert collection.index([b]).notes == [f"1 document came from another file before: d00 ({a})."]
        write(b, [others[0] | {"kind": "bread"}, *made(2)[1:]])  # it is this file's now
        assert collection.index([b]).notes == []
        write(tmp_path / "c.jsonl", others)
        assert collection.index([tmp_path / "c.jsonl"]).notes == [
            f"6 documents came from another file before: d00, d01 ({b}), d02, d03, d04 ({a}) and 1 more."
        ]


@pytest.mark.slow
def test_phrases_follow_their_documents(tmp_path):
    records = made()
    source = write(tmp_path / "a.jsonl", records)
    with opened(tmp_path / "home") as collection:
        collection.index([source])
        found = {p.phrase: p.documents for p, _ in collection.phrases("solar wind", limit=1)}
        assert found == {"solar wind": 10}
        records[0]["text"] = "Nothing of that kind any more, only dry land."
        write(source, records[:-3])  # d27, another one about space, goes
        collection.index([source], delete_missing=True)
        found = {p.phrase: p.documents for p, _ in collection.phrases("solar wind", limit=1)}
        assert found == {"solar wind": 8}


def test_a_keyphrase_of_one_document_has_a_phrase_row(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made())], topics=3)
        chosen = {
            row.phrase_id for rows in collection.engine.mentions_by_phrase() for row in rows if row.keyphrase
        }
        alone = {rows[0].phrase_id for rows in collection.engine.mentions_by_phrase() if len(rows) == 1}
        assert chosen & alone
        assert chosen <= set(collection.engine.phrase_ids())
        assert not (alone - chosen) & set(collection.engine.phrase_ids())


def broken_off(*_):
    raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["write_mined", "refine", "write_phrases", "write_topics"])
def test_a_run_that_broke_off_ends_as_an_undisturbed_one(tmp_path, monkeypatch, broken):
    source = write(tmp_path / "a.jsonl", made(150))
    with opened(tmp_path / "whole") as collection:
        collection.index([source])
        expected = state(collection)

    calls = []
    real = getattr(LocalEngine, broken)

    def once(self, *arguments):
        calls.append(1)
        if len(calls) == (2 if broken == "write_mined" else 1):
            raise KeyboardInterrupt
        return real(self, *arguments)

    monkeypatch.setattr(LocalEngine, broken, once)
    with opened(tmp_path / "broken") as collection:
        with pytest.raises(KeyboardInterrupt):
            collection.index([source])
        report = collection.index([source])
        assert report.unchanged == 150
        assert state(collection) == expected


@pytest.mark.parametrize(
    ("stage", "written"),
    [("read", (8, 0, 0)), ("mine", (30, 0, 0)), ("fit topics", (30, 30, 0)), ("assign", (30, 30, 0))],
)
def test_who_loses_the_lock_writes_no_more(tmp_path, monkeypatch, stage, written):
    monkeypatch.setattr("indexer.pipeline.run.STORE_CHUNK", 8)

    def sleep(now, done, total):
        if now == stage:
            steal_locks(collection.settings.database, monkeypatch)

    source = write(tmp_path / "a.jsonl", made())
    with opened(tmp_path / "home") as collection:
        with pytest.raises(CatalogError, match="was lost"):
            collection.index([source], topics=3, progress=sleep)
        info = collection.engine.info()
        assert (info.documents, info.mined, len(collection.topics())) == written
        assert collection.catalog.runs("main")[0].state == "failed"
        assert collection.catalog.lock_holder("main").owner == "somebody else"


def test_bad_lines_go_to_the_dead_letters_and_retry_takes_them_out(tmp_path):
    source = tmp_path / "a.jsonl"
    good = [json.dumps(r) for r in made(5)]
    source.write_text("\n".join([*good, "{broken", '{"id": "no text"}']) + "\n", encoding="utf-8")
    with opened(tmp_path / "home") as collection:
        report = collection.index([source])
        assert (report.new, report.failed) == (5, 2)
        assert [line.split(": ")[0].rsplit(":", 1)[1] for line in report.problems] == ["6", "7"]
        assert len(collection.dead_letters()) == 2
        source.write_text(
            "\n".join([*good, '{"id": "x", "text": "Mended tax law."}']) + "\n", encoding="utf-8"
        )
        again = collection.retry()
        assert (again.new, again.failed) == (1, 0)
        assert collection.dead_letters() == []


def test_a_document_that_the_encoder_fails_on_does_not_take_others_with_it(tmp_path, encoder, monkeypatch):
    real = encoder.encode

    def choke(windows):
        if any("poison" in window.text for window in windows):
            raise RuntimeError("out of memory")
        return real(windows)

    monkeypatch.setattr(encoder, "encode", choke)
    records = [*made(4), {"id": "bad", "text": "A poison pill."}]
    with opened(tmp_path / "home", encoder) as collection:
        report = collection.index([write(tmp_path / "a.jsonl", records)])
        assert (report.mined, report.failed) == (4, 1)
        (letter,) = collection.dead_letters()
        assert (letter.document_id, letter.stage) == ("bad", "encode")
        assert "out of memory" in letter.reason
        monkeypatch.setattr(encoder, "encode", real)
        assert collection.retry().mined == 1
        assert collection.dead_letters() == []
        assert collection.document("bad").keyphrases


def test_phrases_in_context_need_one_mark(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made())])
        rows = collection.phrases_in("The [[solar wind]] is strong.", limit=3)
        assert rows[0][0].phrase == "solar wind"
        assert rows[0][0].sentence.startswith("The solar wind")
        for text in ("no mark", "[[two]] [[marks]]", "[[ ]]", "the [[cell [[membrane]] is thin"):
            with pytest.raises(QueryError, match="Exactly one phrase"):
                collection.phrases_in(text)


def test_keyphrases_of_one_text_store_nothing(tmp_path):
    with opened(tmp_path / "home") as collection:
        found = collection.keyphrases(Document("", SUBJECTS["space"]), limit=3)
        assert len(found) == 3
        assert collection.status().engine.documents == 0


def test_plan_counts_and_writes_nothing(tmp_path):
    records = made()
    source = write(tmp_path / "a.jsonl", records)
    with opened(tmp_path / "home") as collection:
        collection.index([source])
        records[0]["text"] = "Other words."
        write(source, [*records[:-1], {"id": "x", "text": "New words."}])
        before = state(collection)
        plan = collection.plan([source])
        assert (plan.documents, plan.new, plan.changed, plan.unchanged, plan.missing) == (30, 1, 1, 28, 1)
        assert plan.megabytes == 0.1  # two documents, .03 for the rows of each
        write(source, [*records[:-1], {"id": "x", "text": "x" * 1_000_000}])
        assert collection.plan([source]).megabytes == 3.1  # and the text with its index, thrice its length
        assert state(collection) == before


def test_an_empty_collection_answers_everything(tmp_path):
    with opened(tmp_path / "home") as collection:
        assert collection.index([write(tmp_path / "a.jsonl", [])]).nothing_changed
        assert collection.topics() == []
        assert collection.search("anything").hits == ()
        assert collection.phrases("anything") == []
        assert collection.phrases_in("[[anything]]") == []
        assert collection.status().topics == 0


def test_a_collection_that_is_not_there_is_not_made_when_only_looked_for(tmp_path):
    with pytest.raises(NotFound, match="There is no collection 'main'"):
        Collection.open(home=tmp_path / "typo", create=False)
    assert not (tmp_path / "typo").exists()


def test_retry_keeps_what_is_not_there_to_be_tried_again(tmp_path):
    broken = tmp_path / "away.jsonl"
    broken.write_text("{", encoding="utf-8")
    with opened(tmp_path / "home") as collection:
        collection.index([broken])
        broken.rename(tmp_path / "elsewhere.jsonl")
        report = collection.retry()
        assert len(collection.catalog.dead("main")) == 1
        assert "away.jsonl" in report.notes[0]


def test_a_condition_finds_text_that_looks_like_a_number(tmp_path):
    records = [{"id": "d1", "text": "A heat pump.", "code": "007", "year": 2007}]
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "docs.jsonl", records)])
        for condition in ("code=007", "year=2007", "year>=2006.5"):
            assert collection.search("", filters=[parse_filter(condition)]).total == 1, condition
