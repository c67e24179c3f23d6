"""Sends messages, counts them, and sends lost ones again.

A message only names a batch. The batch itself is a row of the catalog; see `indexer.catalog.batches`.
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
from indexer.errors import BrokerUnavailable, SettingsError
from indexer.log import get_logger, masked
from indexer.pipeline.steps import CHUNK
from indexer.settings import Settings
from workers.app import make_app
from workers.queues import QUEUES, Queue, name_of

UNDERWAY = 10.0  # seconds that a message may take from the broker to a claim
ANSWER = 1.0  # seconds in which idle workers answer
RETRIES = {"max_retries": 2, "interval_start": 0.1, "interval_step": 0.3, "interval_max": 1.0}

logger = get_logger(__name__)


@dataclass(frozen=True)
class Message:
    """A batch of a collection, and the step that is due for it."""

    state: BatchState
    collection: str
    batch: str


class Sender:
    """Sends messages. A message that cannot be sent is not an error: `sweep` sends it later, from the catalog."""

    def __init__(self, settings: Settings, app: Celery | None = None) -> None:
        self._settings = settings
        self._app = app or make_app(settings)

    def check(self) -> None:
        """Check that the broker answers.

        Raises:
            BrokerUnavailable: It does not.
            SettingsError: There is no such kind of broker.
        """
        where = masked(self._settings.broker)
        try:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, interval_start=0.1, timeout=10)
        except (KeyError, ImportError) as error:
            raise SettingsError(
                f"The broker's URL {where} cannot be used: {masked(str(error))}.",
                hint="Set INDEXER_BROKER to redis://HOST:PORT/NUMBER or amqp://USER:PASSWORD@HOST:PORT//.",
            ) from error
        except (OperationalError, OSError) as error:
            reason = masked(str(error)).rstrip(".")
            raise BrokerUnavailable(
                f"The broker at {where} does not answer: {reason}.",
                hint="Check INDEXER_BROKER, and that it is up. Without workers: add --no-workers.",
            ) from error

    def send(self, catalog: Catalog, messages: Sequence[Message]) -> int:
        """Send messages; returns how many the broker accepted."""
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

    def send_maintain(self, every: float) -> None:
        """Send a message for maintenance, unless one is waiting; it expires after `every` seconds."""
        if not self.depth("maintain"):
            with suppress(OperationalError, OSError):
                self._send("maintain", expires=every)

    def send_train(self, run: str) -> None:
        """Send the message for a slice of a retrain. One that cannot be sent is treated as lost, and sent later."""
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
        """Number of messages in a queue that no worker has taken; None when the broker does not answer."""
        with self._app.pool.acquire(block=True, timeout=10) as connection:
            try:
                connection.ensure_connection(**RETRIES)
                return _count(connection, name_of(queue, self._settings))
            except (OperationalError, *connection.connection_errors):  # the second: it was lost in between
                return None

    def depths(self) -> dict[str, int | None]:
        """Number of messages that no worker has taken, by queue."""
        found: dict[str, int | None] = dict.fromkeys(QUEUES)
        for queue in QUEUES:
            found[queue] = self.depth(queue)
            if found[queue] is None:  # no answer: the others would time out too
                break
        return found

    def attended(self) -> set[str]:
        """Queues whose worker answers within a second. A busy worker does not answer."""
        try:
            answers = self._app.control.inspect(timeout=ANSWER).active_queues() or {}
        except (OperationalError, OSError):  # the broker does not
            return set()
        names = {queue["name"] for queues in answers.values() for queue in queues}
        return {queue for queue in QUEUES if name_of(queue, self._settings) in names}

    def sweep(self, catalog: Catalog) -> int:
        """Send lost messages again, where more batches wait for a worker than there are messages.

        A message may have been lost by the broker, with a worker that died, or never been sent. The catalog does not know
        which; those that were sent longest ago are likely, and one message too many does no harm.

        Returns:
            How many messages were sent.
        """
        waiting = catalog.waiting()
        messages: list[Message] = []
        for state in BATCH_STATES:
            own = [batch for batch in waiting if batch.state == state]
            depth = self.depth(state) if own else 0
            if depth is None:
                return 0
            never = sum(batch.sent_ago is None for batch in own)
            overdue = [batch for batch in own if batch.sent_ago is None or batch.sent_ago > UNDERWAY]
            lost = max(never, len(own) - depth)
            messages += [Message(state, batch.collection, batch.id) for batch in overdue[:lost]]
        if messages:
            logger.info("swept", messages=len(messages))
        return self.send(catalog, messages)


def _count(connection: Any, queue: str) -> int:
    try:
        with connection.channel() as channel:  # a separate one: some brokers close it with the error
            return int(channel.queue_declare(queue=queue, passive=True).message_count)
    except connection.channel_errors:  # no message was ever sent to it, or all were taken
        return 0


def messages(state: BatchState, collection: str, batches: Iterable[str]) -> list[Message]:
    """Return one message for each batch."""
    return [Message(state, collection, batch) for batch in batches]


def feed(catalog: Catalog, sender: Sender, run: str, collection: str, most: int) -> None:
    """Create batches until `most` are open, and send their messages."""
    sender.send(catalog, messages("prepare", collection, catalog.create_batches(run, CHUNK, most)))
