"""Starts what an entry point needs for streams, where Kafka is configured.

Separate so that confluent-kafka is loaded only then: it is in the extra ``kafka``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gantt.engine.protocol import Engine
from gantt.errors import Refused, how_to_install
from gantt.stream.options import StreamOptions

if TYPE_CHECKING:
    from gantt.stream.producing import ReportStream, Service


@contextlib.contextmanager
def taking_in(options: StreamOptions, books: Engine) -> Iterator[None]:
    """Apply reports from Kafka meanwhile. Raises Refused."""
    if not options.is_on:
        yield
        return
    with _extra():
        from gantt.stream.consuming import Intake
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
    with _extra():
        from gantt.stream.changes.keeping import Publishing
        from gantt.stream.changes.topic import KafkaChanges
    thread = Publishing(options, books, KafkaChanges(options))
    books.accompany(thread)
    thread.start()
    try:
        yield
    finally:
        thread.close()


@contextlib.contextmanager
def reporting(
    options: StreamOptions, service: Service | None
) -> Iterator[ReportStream]:
    """Reports go to Kafka, and to ``service`` while it does not answer. Raises
    Refused."""
    with _extra():
        from gantt.stream.producing import ReportStream
    with contextlib.closing(ReportStream(options, service)) as stream:
        yield stream


@contextlib.contextmanager
def _extra() -> Iterator[None]:
    """Raises Refused where what is imported within is not installed."""
    try:
        yield
    except ImportError as error:
        raise Refused(
            f"bootstrap_servers of [stream] is set, but {error.name} is not installed: "
            f"{how_to_install('kafka')}; or leave it unset."
        ) from None
