"""What cannot be applied goes to a topic of its own, with the reason in its headers.

Separate from the intake, which goes on whatever becomes of a letter.
"""

from __future__ import annotations

import logging
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from gantt.errors import shortened
from gantt.model.reports import ReportOutcome
from gantt.stream.broker_connection import LIBRARY_LOG, properties, reason
from gantt.stream.options import StreamOptions

LOG = logging.getLogger(__name__)

FLUSH_S: Final = 10.0
# Less, so that the flush sees what became of each, and none is counted with later ones.
_DELIVERY_S: Final = 8.0
MOST_BYTES: Final = 262_144
"""Of a value that is kept: what is too long may be longer than the topic takes."""
_LONGEST_REASON: Final = 1000


class DeadLetters:
    """Writes to ``options.dead_letters_topic``; used by one thread."""

    def __init__(self, options: StreamOptions) -> None:
        self._topic = options.dead_letters_topic
        self._producer = Producer(
            properties(
                options,
                "gantt-dead-letters",
                enable_idempotence=True,
                acks="all",
                message_timeout_ms=int(_DELIVERY_S * 1000),
            ),
            logger=LIBRARY_LOG,
        )
        self._put = 0
        self._written = 0

    def put(self, message: Message, outcome: ReportOutcome) -> None:
        """Queue ``message``, of which ``outcome`` says why it was refused."""
        value = message.value() or b""
        LOG.warning(
            "Report refused (%s), to %s: topic %s, partition %s, offset %s: %s",
            outcome.code,
            self._topic,
            message.topic(),
            message.partition(),
            message.offset(),
            outcome.message,
        )
        headers: dict[str, str | bytes | None] = {
            "gantt-code": outcome.code,
            "gantt-reason": shortened(outcome.message, _LONGEST_REASON),
            "gantt-topic": str(message.topic()),
            "gantt-partition": str(message.partition()),
            "gantt-offset": str(message.offset()),
            "gantt-bytes": str(len(value)),
        }
        self._put += 1
        try:
            self._producer.produce(
                self._topic,
                value[:MOST_BYTES],
                message.key(),
                headers=headers,
                on_delivery=self._delivered,
            )
        except (KafkaException, BufferError) as error:
            LOG.error("No dead letter: %s", error)

    def flush(self) -> tuple[int, int]:
        """Wait until the queued ones are durable; how many are, and how many are lost
        but for the log."""
        if not self._put:
            return 0, 0
        self._producer.flush(FLUSH_S)
        written, lost = self._written, self._put - self._written
        self._put = self._written = 0
        return written, lost

    def close(self) -> None:
        """Drop what is still queued."""
        self._producer.purge()
        self._producer.flush(0)

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self._written += 1
        else:
            LOG.error("No dead letter: %s", reason(error))
