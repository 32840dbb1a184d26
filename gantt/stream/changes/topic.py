"""The topic of changes in Kafka: one partition, written in transactions.

The id of the transactions is that of the books: Kafka lets only the process write that
opened the topic last, and ends what the one before had begun. The end of the topic is
read after that, so that nothing is added meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from gantt.errors import Refused, Unavailable
from gantt.stream.broker_connection import LIBRARY_LOG, ensure, properties, unavailable
from gantt.stream.changes.change_topic import Fenced
from gantt.stream.options import StreamOptions
from gantt.stream.topics import changes_topic

ANSWER_S: Final = 10.0
"""Seconds to wait for one answer."""
# Kafka ends a transaction of a process that is gone after so long; nothing waits for
# it, because the next process ends it first.
_TRANSACTION_S: Final = 300.0
# The slowest that a large transaction may be written at.
_BYTES_A_SECOND: Final = 500_000
# Offsets that are looked back for the last message, at first: transactions that failed
# and the marks of Kafka take offsets too.
_LOOK_BACK: Final = 16
_FENCED: Final = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.PRODUCER_FENCED,
    }
)
_TOO_LARGE: Final = frozenset(
    {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE}
)


class KafkaChanges:
    """Implements ChangeTopic."""

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._producer: Producer | None = None

    def open(self, identity: str) -> bytes | None:
        self.close()
        options = self._options
        ensure(options, [changes_topic(options)])
        try:
            self._producer = Producer(
                properties(
                    options,
                    "gantt-changes",
                    transactional_id=f"gantt-changes-{identity}",
                    transaction_timeout_ms=int(_TRANSACTION_S * 1000),
                    # One row may be larger than a message is meant to be.
                    message_max_bytes=100_000_000,
                    # The topic's limit is for what is sent together.
                    batch_size=options.changes_message_bytes,
                    compression_type="lz4",
                ),
                logger=LIBRARY_LOG,
            )
            self._producer.init_transactions(ANSWER_S)
            return self._last()
        except KafkaException as error:
            raise self._failure(error) from error

    def publish(self, messages: Sequence[bytes]) -> None:
        producer = self._producer
        if producer is None:
            raise Unavailable("The topic of changes is not open.")
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failed.append(error)

        topic = self._options.changes_topic
        try:
            producer.begin_transaction()
            for message in messages:
                producer.produce(topic, message, partition=0, on_delivery=delivered)
            self.commit(producer, ANSWER_S + sum(map(len, messages)) / _BYTES_A_SECOND)
        except KafkaException as error:
            raise self._failure(error, failed) from error

    def commit(self, producer: Producer, wait_s: float) -> None:
        """End the transaction. Raises KafkaException, also if that takes longer."""
        producer.commit_transaction(wait_s)

    def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()  # else its end would wait for what is not sent

    def _last(self) -> bytes | None:
        """The last committed message."""
        consumer = Consumer(
            properties(
                self._options,
                "gantt-changes",
                group_id="gantt-changes",  # it joins none, and commits nothing
                isolation_level="read_committed",
                enable_auto_commit=False,
                enable_partition_eof=True,
                auto_offset_reset="error",
            ),
            logger=LIBRARY_LOG,
        )
        try:
            return last_message(consumer, self._options.changes_topic)
        finally:
            consumer.close()

    def _failure(
        self, error: KafkaException, failed: Sequence[KafkaError] = ()
    ) -> Exception:
        causes = [error.args[0], *failed]
        if any(one.code() in _FENCED for one in causes):
            return Fenced()
        # Why a message was refused says more than that its transaction was.
        cause = causes[-1]
        if cause.code() in _TOO_LARGE:
            topic = self._options.changes_topic
            return Refused(
                f"A message about changes is larger than the topic {topic} takes: "
                "raise its max.message.bytes, or lower changes_message_bytes of "
                "[stream]; a single row is never divided."
            )
        return unavailable(self._options, cause)


def last_message(consumer: Consumer, topic: str) -> bytes | None:
    """The last committed message of the one partition of ``topic``; None, or b"" if
    others were deleted. Raises KafkaException."""
    place = TopicPartition(topic, 0)
    low, high = consumer.get_watermark_offsets(place, ANSWER_S)
    back = _LOOK_BACK
    while True:
        start = max(low, high - back)
        found = _last_from(consumer, TopicPartition(topic, 0, start))
        if found is not None:
            return found
        if start <= low:
            return b"" if low else None
        back *= 8


def _last_from(consumer: Consumer, start: TopicPartition) -> bytes | None:
    """The last message at ``start`` or behind it."""
    consumer.assign([start])
    found: bytes | None = None
    deadline = time.monotonic() + ANSWER_S
    while time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is None:
            continue
        error = message.error()
        if error is None:
            found = message.value()
            deadline = time.monotonic() + ANSWER_S
        elif error.code() == KafkaError._PARTITION_EOF:
            return found
        elif not error.retriable():
            raise KafkaException(error)
    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
