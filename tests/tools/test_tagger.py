import gzip
import json
import random

import numpy as np
import pytest
from click.testing import CliRunner

from indexer.errors import InputError, NotEnoughData
from indexer.records import Document
from indexer.text import Preparer
from indexer.text.pool import without_torch
from tools.tagger.__main__ import main
from tools.tagger.model import TaggerConfig, evaluate, new_pipeline, train
from tools.tagger.treebank import Word, example, passages, read_conllu, rewrite
from tools.tagger.vectors import word_vectors

CONLLU = """\
# newdoc id = one
# text = I don't like (old) cars.
1	I	I	PRON	PRP	_	4	nsubj	_	_
2-3	don't	_	_	_	_	_	_	_	_
2	do	do	AUX	VBP	_	4	aux	_	_
3	n't	not	PART	RB	_	4	advmod	_	_
4	like	like	VERB	VB	_	0	root	_	_
5	(	(	PUNCT	-LRB-	_	6	punct	_	SpaceAfter=No
6	old	old	ADJ	JJ	_	8	amod	_	SpaceAfter=No
7	)	)	PUNCT	-RRB-	_	6	punct	_	_
7.1	big	big	ADJ	JJ	_	_	_	_	_
8	cars	car	NOUN	NNS	_	4	obj	_	SpaceAfter=No
9	.	.	PUNCT	.	_	4	punct	_	_

# newpar
1	Dogs	dog	NOUN	NNS	_	2	nsubj	_	_
2	bark	bark	VERB	VBP	_	0	root	_	SpaceAfter=No
3	!	!	PUNCT	.	_	2	punct	_	SpaceAfter=No

"""
SMALL = TaggerConfig(
    width=16, depth=1, pieces=2, rows=(200, 50, 100, 50), dropout=0.0, learning_rate=0.02, warmup_steps=1, batch_words=60,
    minutes=0.02, eval_every=20,
)  # fmt: skip


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "ewt-train.conllu.gz"
    path.write_bytes(gzip.compress(CONLLU.encode()))
    return path


@pytest.fixture(scope="module", autouse=True)
def light_spacy():
    """spaCy, imported without torch: the tests start seconds earlier."""
    with without_torch():
        import spacy

        return spacy


@pytest.fixture(scope="module")
def nlp():
    return new_pipeline(SMALL)


def test_read_conllu_keeps_spacing_of_contractions_and_skips_elided_words(treebank):
    first, second = read_conllu(treebank)
    assert "".join(word.form + " " * word.space_after for word in first.words) == "I don't like (old) cars. "
    assert [word.tag for word in first.words[1:3]] == ["VBP", "RB"]
    assert first.paragraph != second.paragraph


def test_read_conllu_names_the_line_that_is_wrong(tmp_path):
    path = tmp_path / "bad.conllu"
    path.write_text("1\tDogs\tdog\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.conllu:1: 3 columns instead of 10"):
        read_conllu(path)


def test_rewrite_changes_spelling_but_never_a_tag(treebank):
    words = read_conllu(treebank)[0].words
    rewritten = [rewrite(words, random.Random(seed)) for seed in range(200)]
    for found in rewritten:
        assert [word.tag for word in found] in (
            [word.tag for word in words],
            [word.tag for word in words[:-1]],
        )
        assert [word.form.lower() for word in found] == [word.form.lower() for word in words[: len(found)]]
    assert any(found[0].form == "i" for found in rewritten)
    assert any(found[-1].form == "cars" and found[-1].space_after for found in rewritten)
    assert sum(found == words for found in rewritten) > 100


def test_passages_do_not_leave_their_paragraph(treebank):
    sentences = read_conllu(treebank) * 3
    for passage in passages(sentences, random.Random(1)):
        assert len({words == sentences[0].words for words in passage}) == 1


def test_example_has_a_space_between_sentences(nlp, treebank):
    dogs = read_conllu(treebank)[1].words
    eg = example(nlp, [dogs, dogs])
    assert eg.text == "Dogs bark! Dogs bark!"
    assert [token.is_sent_start for token in eg.reference] == [True, False, False] * 2


@pytest.mark.slow
def test_train_learns_a_few_sentences_by_heart(treebank):
    sentences = read_conllu(treebank)
    nlp = new_pipeline(SMALL)
    steps = list(train(nlp, sentences, sentences, SMALL))
    assert steps[-1].loss < 0.2 * steps[0].loss
    assert steps[-1].scores["tag_acc"] == 1.0
    assert max(step.scores.get("tag_acc", 0) for step in steps) == max(
        s.scores["tag_acc"] for s in steps if s.is_best
    )


def test_train_without_sentences(nlp):
    with pytest.raises(NotEnoughData):
        next(train(nlp, [], [], SMALL))


def test_evaluate_counts_what_is_right(nlp):
    words = (Word("Dogs", "NNS", True), Word("bark", "VBP", False))
    eg = example(nlp, [words])

    class Tagger:
        def pipe(self, texts, batch_size):
            for text in texts:
                doc = nlp.make_doc(text)
                doc[0].tag_, doc[1].tag_ = "NN", "VBP"
                doc[1].is_sent_start = False
                yield doc

        def get_pipe(self, name):
            return nlp.get_pipe(name)

    scores = evaluate(Tagger(), [eg])
    assert scores["tag_acc"] == 0.5  # NN for NNS is wrong
    assert scores["nominal_acc"] == 1.0  # but both are nouns


@pytest.mark.slow
def test_the_command_writes_a_pipeline_that_the_preparer_can_use(treebank, tmp_path):
    for part in ("dev", "test"):
        (tmp_path / f"ewt-{part}.conllu.gz").write_bytes(treebank.read_bytes())
    raw = tmp_path / "raw.jsonl"
    words = " ".join(first + second for first in "abcdefghij" for second in "klmnop")
    raw.write_text(json.dumps({"title": "Sixty words", "text": words}) + "\n", encoding="utf-8")
    out = tmp_path / "tagger"
    arguments = ["--treebank", str(tmp_path), "--out", str(out), "--minutes", "0.01"]
    arguments += ["--raw", str(raw), "--source", "Sixty words, CC0"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    preparer = Preparer(str(out))
    meta = json.loads((out / "meta.json").read_text())
    assert meta["license"] == "CC BY-SA 4.0"
    assert "EWT" in meta["sources"][0]["name"]
    assert meta["sources"][1] == {"name": "Sixty words, CC0"}
    assert set(meta["performance"]) == {"dev", "test"}
    assert "CC BY-SA 4.0" in (out / "README.md").read_text()
    assert json.loads((out / "vocab" / "strings.json").read_text()) == sorted(
        ["PRP", "VBP", "RB", "VB", "-LRB-", "JJ", "-RRB-", "NNS", "."]
    )
    assert len(preparer.prepare([Document("d", "Dogs bark.")])) == 1


def test_word_vectors_put_words_with_the_same_neighbours_together():
    frames = (["the", "{}", "sleeps"], ["a", "{}", "eats"], ["they", "{}", "it"], ["we", "{}", "them"])
    nouns, verbs = ("cat", "dog"), ("see", "hear")
    texts = [
        [word.format(filler) for word in frame]
        for frame, fillers in zip(frames, (nouns, nouns, verbs, verbs), strict=True)
        for filler in fillers
    ] * 10
    words, vectors = word_vectors(lambda: iter(texts), words=100, dims=4)
    similarity = vectors @ vectors.T
    at = words.index
    assert np.allclose(np.diag(similarity), 1)
    assert similarity[at("cat"), at("dog")] > 0.99
    assert similarity[at("see"), at("hear")] > 0.99
    assert similarity[at("cat"), at("see")] < 0.5


def test_word_vectors_need_more_words_than_dimensions():
    with pytest.raises(NotEnoughData, match="2 different words"):
        word_vectors(lambda: iter([["a", "b"]]), words=10, dims=8)
