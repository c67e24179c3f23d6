"""What a probe is made of, and that it is the same after it was written down."""

from __future__ import annotations

import pytest

from indexer.errors import NotEnoughData
from indexer.records import Document
from trainer.retrain.probe import MIN_DOCUMENTS, Probe, load_probe, make_probe, save_probe

TEXTS = (
    "Heat pumps and solar panels warm the house.",
    "They bought a heat pump and a battery bank.",
    "The solar panel feeds the battery bank.",
)


@pytest.fixture(scope="module")
def probe() -> Probe:
    documents = [Document(f"d{i:03d}", TEXTS[i % 3], meta={"year": 1999}) for i in range(MIN_DOCUMENTS + 1)]
    return make_probe(documents, "auto")


def test_phrases_of_many_texts_are_no_sign_of_anything(probe: Probe) -> None:
    # Each stands in two thirds of the texts, more than a tenth.
    assert probe.queries == ()
    assert probe.contexts == ()


def test_siblings_are_named_side_by_side(probe: Probe) -> None:
    assert probe.siblings == (("heat pump", "solar panel"),)


def test_the_pool_has_each_phrase_of_a_text_once(probe: Probe) -> None:
    assert len(set(probe.pool)) == len(probe.pool)
    assert {phrase for row, phrase in probe.pool if row == 0} >= {"heat pump", "solar panel"}


def test_contexts_are_of_phrases_that_another_text_has() -> None:
    fillers = [Document(f"f{i:03d}", f"The copper wire carries {i} volts.") for i in range(2 * MIN_DOCUMENTS)]
    found = make_probe([Document("a", TEXTS[0]), Document("b", TEXTS[1]), *fillers], "auto")
    assert "heat pump" in found.queries
    assert "solar panel" not in found.queries  # one text alone has it
    pumps = [one for one in found.contexts if one.phrase == "heat pump"]
    assert {(one.document, one.sentence[one.start : one.end]) for one in pumps} == {
        ("a", "Heat pumps"),
        ("b", "heat pump"),
    }


def test_a_probe_is_the_same_after_it_was_written_down(probe: Probe, tmp_path) -> None:
    save_probe(probe, tmp_path / "new" / "probe.json.gz")
    again = load_probe(tmp_path / "new" / "probe.json.gz")
    assert again.documents == tuple(Document(d.id, d.text, d.title) for d in probe.documents)
    assert (again.prepared, again.queries, again.pool) == (probe.prepared, probe.queries, probe.pool)
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["probe.json.gz"]


def test_too_few_documents_judge_nothing() -> None:
    with pytest.raises(NotEnoughData, match="1 documents have phrases; 50 are needed"):
        make_probe([Document("a", TEXTS[0]), Document("b", "...")], "auto")


def test_a_probe_of_another_format_is_not_read(probe: Probe, tmp_path, monkeypatch) -> None:
    file = tmp_path / "probe.json.gz"
    monkeypatch.setattr("trainer.retrain.probe.VERSION", 0)
    save_probe(probe, file)
    assert load_probe(file) is not None
    monkeypatch.undo()
    assert load_probe(file) is None


def test_a_deleted_document_leaves_no_trace() -> None:
    fillers = [Document(f"f{i:03d}", f"The copper wire carries {i} volts.") for i in range(MIN_DOCUMENTS)]
    probe = make_probe([Document("a", TEXTS[0]), Document("b", TEXTS[1]), *fillers], "auto")
    assert "heat pump" in probe.queries
    ids = {document.id for document in probe.documents}
    assert probe.without_missing(ids) is probe
    left = probe.without_missing(ids - {"a"})
    assert ids - {document.id for document in left.documents} == {"a"}
    assert "heat pump" not in left.queries  # one text alone has it now
    assert left.is_enough
    assert not probe.without_missing({"a", "b"}).is_enough
