"""The thread that publishes outlives clients of Kafka that fail."""

from __future__ import annotations

from typing import Any, cast

from gantt.engine.engine_protocol import Engine
from gantt.stream.changes.publisher_thread import Publishing
from gantt.stream.options import StreamOptions
from tests.stream.change_fakes import Books, Broker, Producer
from tests.waiting import until


class Unclosable(Producer):
    """Cannot be closed the first times."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.failures = 2

    def close(self) -> None:
        super().close()
        if self.failures:
            self.failures -= 1
            raise RuntimeError("Local: Purge failed")


def test_a_topic_that_cannot_be_closed_does_not_end_the_thread() -> None:
    broker, books = Broker(), Books()
    books.write(3)
    broker.failing = 0
    topic = Unclosable(broker)
    engine: Any = books
    engine.is_logged = lambda _: False
    thread = Publishing(StreamOptions(), cast(Engine, engine), topic)
    thread.start()
    try:
        until(lambda: thread.counts()["stream_changes"] == 3, tell=thread.counts)
    finally:
        thread.close()
    assert topic.failures < 2
    assert thread.counts()["stream_changes_failures"] == 1
