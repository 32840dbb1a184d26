"""What tests of streams share: topics of their own, and agents that write to them."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer, Message, Producer
from msgspec.structs import replace

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.model.hosts import HostStats
from gantt.model.reports import Report
from gantt.stream.options import StreamOptions
from gantt.stream.report_consumer import Intake
from tests.kafka_broker import Kafka
from tests.reported import report_of
from tests.waiting import until

WAIT_S: Final = 60.0


def stream_options(broker: Kafka, **given: Any) -> StreamOptions:
    """With topics that no other test has."""
    name = uuid.uuid4().hex[:8]
    options = StreamOptions(
        (broker.servers,),
        reports_topic=f"reports-{name}",
        dead_letters_topic=f"dead-{name}",
        changes_topic=f"changes-{name}",
        group_id=f"group-{name}",
        partitions=4,
        # A process that is killed is missed soon, and a broker that is back is found.
        client_properties={
            "reconnect.backoff.max.ms": "500",
            "session.timeout.ms": "2000",
            "heartbeat.interval.ms": "500",
        },
    )
    return replace(options, **given)


def now_us() -> int:
    return time.time_ns() // 1000


def a_report(host: str, sequence: int = 1, **given: Any) -> Report:
    """A full report of ``host`` with ``sequence`` VCPUs; ``given``: other values."""
    return replace(
        report_of(
            host,
            sequence,
            HostStats(vcpus=sequence, memory_mb=1024, local_gb=10),
            incarnation=f"agent-of-{host}",
        ),
        **given,
    )


class Agents:
    """Write reports as agents do; ``say`` returns once they are in Kafka."""

    def __init__(self, options: StreamOptions) -> None:
        self._topic = options.reports_topic
        servers = ",".join(options.bootstrap_servers)
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "linger.ms": 5,
                "partitioner": "murmur2_random",
                "log_level": 2,
            }
        )

    def say(self, *reports: Report) -> None:
        for one in reports:
            self.write(one.key, msgspec.json.encode(one))
        self.flush()

    def write(self, key: str | None, value: bytes | None) -> None:
        """Without waiting."""
        while True:
            try:
                self._producer.produce(self._topic, value, key)
                return
            except BufferError:
                self._producer.poll(0.1)

    def flush(self) -> None:
        assert self._producer.flush(WAIT_S) == 0


@contextlib.contextmanager
def taking_in(options: StreamOptions, url: str = "memory://") -> Iterator[Gantt]:
    """Books to which reports come from Kafka."""
    with open_gantt(url) as books:
        intake = Intake(options, books)
        books.accompany(intake)
        intake.start()
        try:
            yield books
        finally:
            intake.close()


def vcpus(books: Gantt) -> dict[str, Any]:
    """Of each host that is known."""
    return {one.host: one.stats.get("vcpus") for one in books.list_hosts()}


def becomes(books: Gantt, **wanted: int) -> None:
    """Wait until these are the VCPUs of all hosts; - stands for _."""
    until(lambda: vcpus(books) == wanted, tell=lambda: vcpus(books))


def headers(message: Message) -> dict[str, str]:
    """Those of ``message`` by name."""
    found = dict(message.headers() or ())
    return {
        name: value.decode() if isinstance(value, bytes) else str(value)
        for name, value in found.items()
    }


def read_all(options: StreamOptions, topic: str, count: int) -> list[Message]:
    """The first ``count`` records of a topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(options.bootstrap_servers),
            "group.id": f"test-{uuid.uuid4()}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    found: list[Message] = []
    give_up = time.monotonic() + WAIT_S
    while len(found) < count:
        assert time.monotonic() < give_up, f"{len(found)} of {count} records"
        found += consumer.consume(count - len(found), 0.2)
    consumer.close()
    return found
