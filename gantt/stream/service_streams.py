"""Starts what a service needs for streams, where Kafka is configured.

Separate so that confluent-kafka is loaded only then: it is in the extra ``kafka``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from gantt.engine.engine_protocol import Engine
from gantt.errors import needed_extra
from gantt.stream.options import StreamOptions

_SETTING: Final = "bootstrap_servers of [stream]"


@contextlib.contextmanager
def taking_in(options: StreamOptions, books: Engine) -> Iterator[None]:
    """Apply reports from Kafka meanwhile. Raises Refused."""
    if not options.is_on:
        yield
        return
    with needed_extra("kafka", by=_SETTING):
        from gantt.stream.report_consumer import Intake
    intake = Intake(options, books)
    books.accompany(intake)
    intake.start()
    try:
        yield
    finally:
        intake.close()


@contextlib.contextmanager
def publishing(options: StreamOptions, books: Engine) -> Iterator[None]:
    """Publish changes of the books to Kafka meanwhile. Raises Refused."""
    if not options.is_on or not options.changes_topic:
        yield
        return
    with needed_extra("kafka", by=_SETTING):
        from gantt.stream.changes.publisher_thread import Publishing
        from gantt.stream.changes.topic import KafkaChanges
    thread = Publishing(options, books, KafkaChanges(options))
    books.accompany(thread)
    thread.start()
    try:
        yield
    finally:
        thread.close()
