"""Messages over a broker in memory: what stands in them, how many there are, and which are sent again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from celery import Celery
from kombu.transport.memory import Transport
from services.ports import wait_until

from indexer.catalog import Catalog, LedgerEntry
from indexer.errors import BrokerUnavailable
from indexer.settings import load_settings
from workers import messages as module
from workers.maintenance import ticking
from workers.messages import Sender, messages


@pytest.fixture
def catalog(tmp_path):
    with Catalog.open(f"sqlite:///{tmp_path}/catalog.sqlite") as opened:
        yield opened


@pytest.fixture
def sender(tmp_path):
    settings = load_settings(home=tmp_path, broker="memory://", index_prefix=tmp_path.name.replace("_", "-"))
    yield Sender(settings)
    Transport.global_state.clear()


def cut(catalog, number):
    run = catalog.start_run("main", "index", {}, detached=True)
    catalog.record("main", [LedgerEntry(f"d{n}", "h") for n in range(number)])
    return catalog.create_batches(run, 1, max_open=number)


def test_a_message_names_a_batch_and_nothing_else(catalog, sender, tmp_path):
    (id_,) = cut(catalog, 1)
    assert sender.send(catalog, messages("prepare", "main", [id_])) == 1
    assert sender.depth("prepare") == 1
    assert sender.depth("encode") == 0
    with Celery(broker="memory://").connection() as connection:
        message = connection.default_channel.basic_get(
            f"{tmp_path.name.replace('_', '-')}.prepare", no_ack=True
        )
    assert message.content_type == "application/json"
    arguments, named, _ = json.loads(message.body)
    assert (arguments, named) == (["main", id_], {})
    assert message.headers["task"] == "indexer.prepare"


def test_what_was_never_sent_is_sent_and_what_is_underway_is_not(catalog, sender):
    cut(catalog, 3)
    assert sender.sweep(catalog) == 3
    assert sender.sweep(catalog) == 0
    assert sender.depth("prepare") == 3


def test_as_many_are_sent_again_as_were_lost(catalog, sender, monkeypatch):
    cut(catalog, 5)
    sender.sweep(catalog)
    monkeypatch.setattr(module, "UNDERWAY", -1.0)
    monkeypatch.setattr(sender, "depth", lambda queue: 3)
    assert sender.sweep(catalog) == 2
    monkeypatch.setattr(sender, "depth", lambda queue: None)  # the broker is away
    assert sender.sweep(catalog) == 0


def test_a_batch_that_somebody_works_on_needs_no_message(catalog, sender):
    first, *_ = cut(catalog, 2)
    catalog.claim(first, "prepare")
    assert sender.sweep(catalog) == 1


@pytest.mark.slow
def test_what_the_broker_does_not_take_is_sent_later(catalog, tmp_path, capsys):
    away = Sender(load_settings(home=tmp_path, broker="redis://:secret@127.0.0.1:9/0"))
    (id_,) = cut(catalog, 1)
    assert away.send(catalog, messages("prepare", "main", [id_])) == 0
    assert catalog.waiting()[0].sent_ago is None
    assert "secret" not in capsys.readouterr().err
    with pytest.raises(BrokerUnavailable, match=r"redis://:\*\*\*@127\.0\.0\.1:9/0") as caught:
        away.check()
    assert "secret" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("broker", ["redis://127.0.0.1:9/0", "amqp://127.0.0.1:9//"])
def test_a_broker_that_is_away_is_no_error_however_often_it_is_asked(catalog, tmp_path, broker):
    away = Sender(load_settings(home=tmp_path, broker=broker))
    cut(catalog, 1)
    for _ in range(2):
        assert away.depths() == {"prepare": None, "encode": None, "maintain": None, "train": None}
        assert away.sweep(catalog) == 0
        away.send_maintain(5.0)
    assert catalog.waiting()[0].sent_ago is None


def test_asking_to_maintain_goes_on_after_an_error():
    asked = []

    class Failing:
        def send_maintain(self, every):
            asked.append(every)
            raise RuntimeError("What nobody thought of.")

    with ticking(Failing(), every=0.01):
        wait_until(lambda: len(asked) > 2, 20, "a third try")


def test_one_message_at_a_time_asks_to_maintain(sender):
    for _ in range(3):
        sender.send_maintain(5.0)
    assert sender.depth("maintain") == 1


@pytest.mark.slow
def test_the_worker_side_forks_nothing_and_loads_no_model_at_start() -> None:
    import subprocess
    import sys

    heavy = {"torch", "spacy", "transformers", "sklearn"}
    code = f"import workers.process, workers.supervisor, sys; print(sorted({heavy} & set(sys.modules)))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.strip() == "[]"
