from __future__ import annotations

from models.tokens import TokenizerFile


def test_nothing_is_cut_or_padded(base):
    words = TokenizerFile(base / "tokenizer.json")
    assert words.count(["the heat pump is safe and thin", "a", ""]) == [7, 1, 0]
    assert [len(ids) for ids in words.ids(["the heat pump is safe", ""])] == [5, 0]


def test_special_tokens_stand_around(base):
    words = TokenizerFile(base / "tokenizer.json")
    assert (words.prefix, words.suffix, words.specials, words.padding) == ([2], [3], 2, 0)


def test_offsets_count_characters_of_the_text_as_given(base):
    text = "Thé 🔥 Heat pumps"
    [pieces] = TokenizerFile(base / "tokenizer.json").split([text])
    found = [text[start:end] for start, end in zip(pieces.starts, pieces.ends, strict=True)]
    assert found == ["Thé", "🔥", "Heat", "pump", "s"]


def test_lone_surrogates_keep_the_offsets(base):
    text = "a \ud83d\ude00 \udc00 heat"
    words = TokenizerFile(base / "tokenizer.json")
    [pieces] = words.split([text])
    assert text[pieces.starts[-1] : pieces.ends[-1]] == "heat"
    assert words.count([text]) == [len(pieces)]
    assert words.ids([text])[0].tolist() == pieces.ids.tolist()


def test_empty_text_has_empty_arrays(base):
    [pieces] = TokenizerFile(base / "tokenizer.json").split([""])
    assert len(pieces) == 0
    assert pieces.starts.shape == pieces.ends.shape == (0,)


def test_no_texts(base):
    words = TokenizerFile(base / "tokenizer.json")
    assert (words.split([]), words.ids([]), words.count([])) == ([], [], [])
