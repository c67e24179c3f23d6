"""What a query that is being typed may become."""

import numpy as np
import pytest

from indexer.errors import QueryError
from indexer.records import Topic
from indexer.search.completion import Completion, completions


class Engine:
    def topics(self):
        return [
            self.topic("t-2", "Solar wind", 9),
            self.topic("t-1", "The sun", 7),
            self.topic("t-3", "Big solar arrays", 2),
        ]

    @staticmethod
    def topic(id_, label, size):
        return Topic(id_, label, (), size, np.zeros(2, np.float32))

    def keyphrases_with(self, beginning, *, limit):
        assert beginning == "solar w"
        return [(f"solar w{number}", 9 - number) for number in range(limit)]

    def titles_with(self, beginning, *, limit):
        return [("d1", "Solar Waves"), ("d2", "Solar wind")][:limit]


def test_topics_come_first_and_keyphrases_fill_the_list():
    found = completions(Engine(), " solar   w", limit=5)
    assert found == [
        Completion("topic", "Solar wind", "t-2", 9),
        Completion("keyphrase", "solar w0", "", 9),
        Completion("keyphrase", "solar w1", "", 8),
        Completion("title", "Solar Waves", "d1", 1),
        Completion("title", "Solar wind", "d2", 1),
    ]


def test_one_character_says_nothing_yet():
    assert completions(Engine(), " s ") == []


@pytest.mark.parametrize(("beginning", "limit"), [("x" * 201, 5), ("solar", 0), ("solar", 21)])
def test_limits(beginning, limit):
    with pytest.raises(QueryError):
        completions(Engine(), beginning, limit)


def test_a_topic_is_completed_by_any_of_its_words(monkeypatch):
    monkeypatch.setattr(Engine, "keyphrases_with", lambda *_, **__: [])
    monkeypatch.setattr(Engine, "titles_with", lambda *_, **__: [])
    assert [one.text for one in completions(Engine(), "Solar")] == ["Solar wind", "Big solar arrays"]
