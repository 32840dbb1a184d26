"""Readers of the topic of changes, and what they are to find."""

from __future__ import annotations

import time
import uuid
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from gantt.engine.gantt import Gantt
from gantt.stream.changes.copy import Copy, Tables
from gantt.stream.changes.messages import End, Revision, decode
from gantt.stream.options import StreamOptions
from tests.kafka_broker import Kafka

WAIT_S: Final = 120.0


def change_options(broker: Kafka, **given: Any) -> StreamOptions:
    """With a topic that no other test has; nothing is waited for that is not there."""
    return StreamOptions(
        (broker.servers,),
        changes_topic=f"changes-{uuid.uuid4().hex[:8]}",
        client_properties={"reconnect.backoff.max.ms": "500"},
        **given,
    )


class Reader:
    """Reads the topic from its beginning; ``values`` has what it has read."""

    def __init__(self, options: StreamOptions, isolation: str = "committed") -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": ",".join(options.bootstrap_servers),
                "group.id": f"reader-{uuid.uuid4()}",
                "isolation.level": f"read_{isolation}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(options.changes_topic, 0, 0)])
        self.values: list[bytes] = []

    def read(self, wait_s: float = 0.2) -> bool:
        """Read one more, if there is one in time; whether the end is reached."""
        message = self._consumer.poll(wait_s)
        if message is None:
            return False
        error = message.error()
        if error is None:
            value = message.value()
            assert isinstance(value, bytes)
            self.values.append(value)
        elif error.code() == KafkaError._PARTITION_EOF:
            return True
        elif not error.retriable() and error.code() not in {
            KafkaError._ALL_BROKERS_DOWN,
            KafkaError._TRANSPORT,
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            KafkaError._UNKNOWN_PARTITION,
        }:
            raise KafkaException(error)
        return False

    def read_to_end(self) -> list[bytes]:
        deadline = time.monotonic() + WAIT_S
        while not self.read():
            assert time.monotonic() < deadline, f"{len(self.values)} messages"
        return self.values

    def read_until(self, revision: int) -> list[bytes]:
        """Until the topic has ``revision``."""
        deadline = time.monotonic() + WAIT_S
        while not self.values or reached(self.values[-1]) < revision:
            self.read()
            assert time.monotonic() < deadline, f"{len(self.values)} messages"
        return self.values

    def close(self) -> None:
        self._consumer.close()


def reached(value: bytes) -> int:
    """The revision that a reader has after ``value``; 0: in the midst of one."""
    match decode(value):
        case Revision(part=part, parts=parts, revision=revision) if part == parts:
            return revision
        case End(revision=revision):
            return revision
    return 0


def read_all(
    options: StreamOptions, until: int | None = None, isolation: str = "committed"
) -> list[bytes]:
    """All messages, or once there are those up to a revision."""
    reader = Reader(options, isolation)
    try:
        return reader.read_to_end() if until is None else reader.read_until(until)
    finally:
        reader.close()


def revisions(values: list[bytes]) -> list[int]:
    """Those that are complete, a revision in parts with its last one."""
    return [
        one.revision
        for one in map(decode, values)
        if isinstance(one, Revision) and one.part == one.parts
    ]


def copy_of(values: list[bytes]) -> Copy:
    copy = Copy()
    for one in values:
        copy.take(one)
    return copy


def tables(copy: Tables) -> Tables:
    """Without tables that have no rows."""
    return {name: rows for name, rows in copy.items() if rows}


def kept(books: Gantt) -> Tables:
    """The rows of the database itself."""
    found: Tables = {}
    for page in books.snapshot().pages:
        for one in page:
            assert one.row is not None
            found.setdefault(one.table, {})[one.key] = one.row
    return found
