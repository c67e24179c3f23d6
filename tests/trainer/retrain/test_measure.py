"""What is measured, with encoders whose answers are known."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hash_encoder import WORD, HashEncoder

from indexer.common import Floats
from indexer.errors import LossDiverged
from indexer.protocols import Encoding, Window
from indexer.records import Document
from trainer.retrain.measure import _nearest, measure, speed
from trainer.retrain.probe import Probe, make_probe

SUBJECTS = (
    ("solar panel", "heat pump", "Many roofs in the south carry one {} beside the chimney."),
    ("cell wall", "blood vessel", "Doctors saw under the microscope that each {} was damaged."),
)


@pytest.fixture(scope="module")
def probe() -> Probe:
    """Sixty texts: two subjects, in each two phrases whose sentences are alike, and a phrase of every text's own."""
    texts = []
    for number in range(60):
        one, other, frame = SUBJECTS[number % 2]
        own = f"The copper {'abcdefghij'[number % 10]}{number} is a thing. " if number < 50 else ""
        rare = frame.format(one if number % 4 < 2 else other) if number < 10 else ""
        both = f"They have {one}s and {other}s. " if number in (0, 1) else ""
        texts.append(Document(f"d{number:02d}", f"{both}{rare} {own}The {frame[:20]} story goes on."))
    return make_probe(texts, "auto")


class ByContext(HashEncoder):
    """A mention is what stands around it: masked or not, it is the same."""

    window_tokens = 200

    def _encode(self, window: Window) -> Encoding:
        plain = super()._encode(window)
        around = [f"{window.text[:start]} {window.text[end:]}" for start, end in window.spans]
        vectors = np.stack([self._mean(text) for text in around]) if around else plain.mentions
        return Encoding(plain.document, plain.tokens, vectors, plain.attention)


class Blind(HashEncoder):
    """Everything is the same."""

    window_tokens = 200

    def _mean(self, text: str) -> Floats:
        return self.vector("all")


class Roomy(HashEncoder):
    window_tokens = 200


@pytest.mark.slow
def test_an_encoder_that_reads_contexts_finds_masked_phrases(probe: Probe) -> None:
    assert {one.phrase for one in probe.contexts} >= {"solar panel", "cell wall"}
    reader = measure(ByContext(), probe, topics=2, mask="[MASK]")
    deaf = measure(Roomy(), probe, topics=2, mask="[MASK]")  # the mask is one word to it, whatever it hides
    assert np.nanmean(reader.context) > np.nanmean(deaf.context)
    assert reader.context.shape == deaf.context.shape == (len(probe.contexts),)


@pytest.mark.slow
def test_shapes_and_ranges(probe: Probe) -> None:
    found = measure(Roomy(), probe, topics=2, mask="[MASK]")
    texts = len(probe.documents)
    assert found.topic.shape == (texts,)
    assert found.documents.shape == (texts, 10)
    assert found.mentions.shape == (len(probe.pool), 10)
    assert found.answers.shape == (len(probe.queries), 10)
    assert not any(
        row in near for row, near in enumerate(found.documents.tolist())
    )  # no text is its own neighbour
    assert ((found.siblings >= 0) & (found.siblings <= 1)).all()
    known = found.context[~np.isnan(found.context)]
    assert ((known >= 0) & (known <= 1)).all()
    assert len(known) > 0


@pytest.mark.slow
def test_sentences_that_do_not_fit_are_not_measured(probe: Probe) -> None:
    class Narrow(Roomy):
        window_tokens = 8

    assert np.isnan(measure(Narrow(), probe, topics=2, mask="[MASK]").context).any()


def test_vectors_that_are_no_numbers_are_refused(probe: Probe) -> None:
    class Diverged(Roomy):
        def _mean(self, text: str) -> Floats:
            return np.full(self.dims, np.nan, np.float32)

    with pytest.raises(
        LossDiverged, match=r"vectors of 'hash@.*' are not numbers: its training has diverged"
    ):
        measure(Diverged(), probe, topics=2, mask="[MASK]")


@pytest.mark.slow
def test_speed_is_that_of_the_new_one_by_that_of_the_old(probe: Probe, monkeypatch) -> None:
    monkeypatch.setattr("trainer.retrain.measure.ROUNDS", 2)
    # Two chunks (60 texts, 32 at once), two rounds, old and new in turns: seconds of each.
    spent = [2, 9, 5, 1, 4, 2, 4, 3]  # fastest: 2 and 1, then 4 and 2
    times = iter([moment for at, seconds in enumerate(spent) for moment in (100 * at, 100 * at + seconds)])
    monkeypatch.setattr("trainer.retrain.measure.time.perf_counter", lambda: next(times))
    assert speed(Roomy(), Roomy(), probe) == 2.0


@pytest.mark.slow
def test_a_collapsed_space_is_seen(probe: Probe) -> None:
    assert measure(Blind(), probe, topics=2, mask="[MASK]").similarity == pytest.approx(1.0)
    assert measure(Roomy(), probe, topics=2, mask="[MASK]").similarity < 0.7


@pytest.mark.slow
def test_the_same_again_is_the_same(probe: Probe) -> None:
    one, two = (measure(Roomy(), probe, topics=3, mask="[MASK]") for _ in range(2))
    assert (one.topic == two.topic).all()
    assert (one.mentions == two.mentions).all()
    assert one.silhouette == two.silhouette


def test_the_nearest_are_found_without_sorting_all() -> None:
    similarity = np.random.default_rng(0).integers(0, 50, (1_500, 1_500)).astype(np.float32)  # with many ties
    tracemalloc.start()
    found = _nearest(similarity)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < similarity.nbytes / 2
    assert (found == np.argsort(-similarity, axis=1, kind="stable")[:, :10]).all()
    assert _nearest(np.array([[0.1, 0.3, np.nan], [0.2, 0.2, 0.4]], np.float32)).tolist() == [
        [1, 0, 2],
        [2, 0, 1],
    ]


def test_siblings_are_ranked_among_all_phrases(probe: Probe) -> None:
    class Kinds(Roomy):
        """Phrases of one subject are one vector, the others as they are."""

        def _mean(self, text: str) -> Floats:
            for number, (one, other, _) in enumerate(SUBJECTS):
                if text in (one, other):
                    return self.vector(f"kind{number}")
            return self.vector(" ".join(WORD.findall(text)))

    assert probe.siblings == (("blood vessel", "cell wall"), ("heat pump", "solar panel"))
    assert (measure(Kinds(), probe, topics=2, mask="[MASK]").siblings == 1.0).all()
