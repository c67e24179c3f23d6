"""What falls due, and who sends it."""

from __future__ import annotations

import json
import time

import pytest
from celery import Celery
from celery.schedules import schedule
from kombu.transport.memory import Transport

from indexer.errors import SettingsError
from indexer.settings import load_settings
from workers.app import make_app
from workers.schedule import beating, schedule_of


@pytest.fixture
def settings(tmp_path):
    yield load_settings(
        home=tmp_path, broker="memory://", collection="news", index_prefix="due", retrain_at="2:15"
    )
    Transport.global_state.clear()


def test_a_retrain_falls_due_once_a_day(settings):
    (entry,) = schedule_of(settings).values()
    assert (entry["task"], entry["args"]) == ("indexer.retrain", ["news"])
    assert (entry["schedule"].hour, entry["schedule"].minute) == ({2}, {15})
    assert entry["options"]["queue"] == "due.train"


def test_without_a_time_nothing_does(tmp_path):
    app = make_app(load_settings(home=tmp_path, broker="memory://"))
    assert app.conf.beat_schedule == {}
    with beating(app):
        pass


def test_a_time_that_is_none(tmp_path):
    with pytest.raises(
        SettingsError, match=r"'retrain_at' is '25:00'; it must be empty or a time such as 02:15"
    ):
        load_settings(home=tmp_path, retrain_at="25:00")


def test_beat_sends_it_to_the_queue_for_training(settings):
    app = make_app(settings)
    app.conf.beat_schedule = {"retrain": {**schedule_of(settings)["retrain"], "schedule": schedule(0.1)}}
    with beating(app), Celery(broker="memory://").connection() as connection:
        until = time.monotonic() + 20
        message = None
        while message is None and time.monotonic() < until:
            message = connection.default_channel.basic_get("due.train", no_ack=True)
            time.sleep(0.05)
    assert message is not None
    assert message.headers["task"] == "indexer.retrain"
    assert json.loads(message.body)[0] == ["news"]
