"""Messages: sending them, counting them, and sending them again when they were lost.

A message says only which batch there is. The batch itself is a row of the catalog; see `indexer.catalog.batches`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from celery import Celery
from celery.exceptions import OperationalError

from indexer.catalog import Catalog
from indexer.catalog.entries import BATCH_STATES, BatchState
from indexer.errors import BrokerUnavailable
from indexer.log import get_logger, masked
from indexer.pipeline.steps import CHUNK
from indexer.settings import Settings
from workers.app import make_app
from workers.queues import QUEUES, Queue, name_of

UNDERWAY = 10.0  # seconds that a message may be on its way from the broker to a claim
ANSWER = 1.0  # seconds that idle workers have to answer
RETRIES = {"max_retries": 2, "interval_start": 0.1, "interval_step": 0.3, "interval_max": 1.0}

logger = get_logger(__name__)


@dataclass(frozen=True)
class Message:
    """There is a batch of a collection for which this is to be done."""

    state: BatchState
    collection: str
    batch: str


class Sender:
    """Sends messages. What cannot be sent is no error: the catalog knows of it, and `sweep` sends it later."""

    def __init__(self, settings: Settings, app: Celery | None = None) -> None:
        self._settings = settings
        self._app = app or make_app(settings)

    def check(self) -> None:
        """See whether the broker answers.

        Raises:
            BrokerUnavailable: It does not.
        """
        where = masked(self._settings.broker)
        try:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, interval_start=0.1, timeout=10)
        except (OperationalError, OSError, KeyError, ImportError) as error:
            reason = masked(str(error)).rstrip(".")
            raise BrokerUnavailable(
                f"There is no answer from the broker at {where}: {reason}.",
                hint="Check INDEXER_BROKER, and that it is up. Without workers: add --no-workers.",
            ) from error

    def send(self, catalog: Catalog, messages: Sequence[Message]) -> int:
        """Send messages; returns how many the broker took."""
        sent: list[str] = []
        try:
            for message in messages:
                self._send(message.state, message.collection, message.batch)
                sent.append(message.batch)
        except (OperationalError, OSError) as error:
            logger.warning("message_not_sent", batch=messages[len(sent)].batch, reason=masked(str(error)))
        if sent:
            catalog.mark_sent(sent)
        return len(sent)

    def ask_to_maintain(self, every: float) -> None:
        """Send the message that makes a worker look after everything; nobody reads it later than `every` seconds."""
        if not self.depth("maintain"):
            with suppress(OperationalError, OSError):
                self._send("maintain", expires=every)

    def ask_to_train(self, run: str) -> None:
        """Send the message for a slice of a retrain. One that cannot be sent is sent later, as one that was lost."""
        with suppress(OperationalError, OSError):
            self._send("train", run)

    def _send(self, queue: Queue, *arguments: str, expires: float | None = None) -> None:
        self._app.send_task(
            f"indexer.{queue}",
            arguments,
            queue=name_of(queue, self._settings),
            expires=expires,
            retry=True,
            retry_policy=RETRIES,
        )

    def depth(self, queue: Queue) -> int | None:
        """Messages that nobody has taken yet; None when the broker does not answer."""
        with self._app.pool.acquire(block=True, timeout=10) as connection:
            try:
                connection.ensure_connection(**RETRIES)
                return _count(connection, name_of(queue, self._settings))
            except (OperationalError, *connection.connection_errors):  # the second: it was lost since
                return None

    def depths(self) -> dict[str, int | None]:
        """Messages that nobody has taken yet, by queue."""
        found: dict[str, int | None] = dict.fromkeys(QUEUES)
        for queue in QUEUES:
            found[queue] = self.depth(queue)
            if found[queue] is None:  # no answer: the others would only take their time, too
                break
        return found

    def attended(self) -> set[str]:
        """Queues of which a worker answers, within a second. One that has something in hand does not answer."""
        try:
            answers = self._app.control.inspect(timeout=ANSWER).active_queues() or {}
        except (OperationalError, OSError):  # the broker does not
            return set()
        names = {queue["name"] for queues in answers.values() for queue in queues}
        return {queue for queue in QUEUES if name_of(queue, self._settings) in names}

    def sweep(self, catalog: Catalog) -> int:
        """Send again what was lost: there are batches that nobody works on, and fewer messages than batches.

        A message may have been lost by the broker, with a worker that died, or never been sent. Which ones these are
        nobody knows; those that were sent longest ago are likely, and one message too many does no harm.

        Returns:
            How many messages were sent.
        """
        waiting = catalog.waiting()
        messages: list[Message] = []
        for state in BATCH_STATES:
            mine = [batch for batch in waiting if batch.state == state]
            depth = self.depth(state) if mine else 0
            if depth is None:
                return 0
            never = sum(batch.sent_ago is None for batch in mine)
            settled = [batch for batch in mine if batch.sent_ago is None or batch.sent_ago > UNDERWAY]
            lost = max(never, len(mine) - depth)
            messages += [Message(state, batch.collection, batch.id) for batch in settled[:lost]]
        if messages:
            logger.info("swept", messages=len(messages))
        return self.send(catalog, messages)


def _count(connection: Any, queue: str) -> int:
    try:
        with connection.channel() as channel:  # of its own: some brokers close it with the error
            return int(channel.queue_declare(queue=queue, passive=True).message_count)
    except connection.channel_errors:  # nothing was ever sent to it, or all of it was taken
        return 0


def messages(state: BatchState, collection: str, batches: Iterable[str]) -> list[Message]:
    """One for each batch."""
    return [Message(state, collection, batch) for batch in batches]


def feed(catalog: Catalog, sender: Sender, run: str, collection: str, most: int) -> None:
    """Cut as many batches as there is room for, and send their messages."""
    sender.send(catalog, messages("prepare", collection, catalog.create_batches(run, CHUNK, most)))
