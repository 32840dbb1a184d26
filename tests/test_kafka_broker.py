"""The private broker keeps what it holds, ends with its folder, and comes back on its
port."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Message, Producer

from gantt.stream.broker_connection import Topic, ensure
from gantt.stream.options import StreamOptions
from tests.guarded import Missing
from tests.kafka_broker import Kafka, start_kafka


def test_a_missing_program_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Kafka, "programs", (("no-such-program", "some-package"),))
    with pytest.raises(Missing, match="install some-package"):
        Kafka.find()


def read(broker: Kafka, topic: str) -> Message:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.servers,
            "group.id": "test",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    found = consumer.poll(30)
    consumer.close()
    assert found is not None
    return found


@pytest.mark.server("kafka")
def test_it_starts_again_with_what_it_holds_and_leaves_nothing() -> None:
    running = []
    with start_kafka() as broker:
        options = StreamOptions((broker.servers,))
        ensure(options, [Topic("things", 1, {"cleanup.policy": "compact"})])
        producer = Producer({"bootstrap.servers": broker.servers, "acks": "all"})
        producer.produce("things", b"one", b"key")
        assert producer.flush(30) == 0
        broker.kill()
        running.append(broker.is_running)
        broker.start()
        running.append(broker.is_running)
        found = read(broker, "things")
        assert (found.key(), found.value()) == (b"key", b"one")
    running.append(broker.is_running)
    assert running == [False, True, False]
    assert not broker.folder.exists()
