"""Reports from Kafka into the books: a thread of each process of a scheduler.

All processes over the same books are one consumer group, named by the identity of the
books: new books, whatever their URL, begin with the oldest record of each host that the
compacted topic has. Offsets are committed once the books are durable; a record that
comes twice, or late, is told by its sequence number.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
)

from gantt.engine.engine_protocol import Engine
from gantt.errors import GanttError, Unavailable
from gantt.model.reports import HEARTBEAT, Delivery, ReportOutcome
from gantt.stream.broker_connection import LIBRARY_LOG, ensure, properties, reason
from gantt.stream.client_status import ClientStatus
from gantt.stream.dead_letters import DeadLetters
from gantt.stream.options import StreamOptions
from gantt.stream.topic_watch import TopicWatch
from gantt.stream.topics import dead_letters_topic, reports_topic

LOG = logging.getLogger(__name__)

POLL_S: Final = 0.5
# For more records once there is one: several agents report at about the same time.
LINGER_S: Final = 0.05
RETRY_S: Final = 1.0
LONGEST_RETRY_S: Final = 15.0
JOIN_S: Final = 5.0
_SESSION_MS: Final = 10_000
# How soon the topic of a new host is found.
_TOPICS_MS: Final = 30_000
_FETCH_KB: Final = 16_384


class Intake:
    """Applies reports of ``options.reports_topic`` to ``books`` until it is closed."""

    def __init__(self, options: StreamOptions, books: Engine) -> None:
        self._options = options
        self._books = books
        self._standing = ClientStatus()
        self._counts: Counter[str] = Counter()
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="gantt-intake", daemon=True
        )

    def start(self) -> None:
        """Apply from now on, as soon as Kafka answers."""
        self._thread.start()

    def close(self) -> None:
        """Leave the group, and wait until that is done; not for long, where Kafka
        does not answer."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(JOIN_S)

    def counts(self) -> dict[str, float]:
        """See Companion."""
        names = ("records", "dead_letters", "dead_letters_lost", "retries")
        return {
            **{f"stream_{name}": self._counts[name] for name in names},
            "stream_lag": self._standing.lag,
            "stream_silence_seconds": self._standing.silence_s(),
            "stream_batch_limit": self._options.batch,
        }

    def notice(self) -> str:
        """See Companion."""
        return self._standing.notice()

    def withholds_reports(self) -> bool:
        """See Companion."""
        return self._standing.silence_s() > 0

    # -- the thread --------------------------------------------------------------------

    def _run(self) -> None:
        pause_s = RETRY_S
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self._consume()
            except GanttError as error:
                self._standing.failed(error.message)
            except KafkaException as error:
                self._standing.failed(reason(error))
            except Exception:  # a bug must not end the thread
                LOG.exception("Reports from Kafka: begins again")
            if time.monotonic() - began > LONGEST_RETRY_S:
                pause_s = RETRY_S
            self._stop.wait(pause_s)
            pause_s = min(2 * pause_s, LONGEST_RETRY_S)

    def _consume(self) -> None:
        """Until it is closed, or nothing goes on. Raises KafkaException, GanttError."""
        topics = [reports_topic(self._options), dead_letters_topic(self._options)]
        ensure(self._options, topics)
        consumer = Consumer(self._settings(), logger=LIBRARY_LOG)
        letters = DeadLetters(self._options)
        watch = TopicWatch(self._options)
        try:
            consumer.subscribe(_wanted(self._options))
            while not self._stop.is_set():
                if watch.is_another():
                    _begin_again(consumer, self._options.reports_topic)
                if messages := _next(consumer, self._options.batch):
                    self._take_in(consumer, letters, messages)
        finally:
            letters.close()
            consumer.close()

    def _settings(self) -> dict[str, Any]:
        group = f"{self._options.group_id}-{self._books.identity()}"
        found = properties(
            self._options,
            self._books.name,
            group_id=group,
            enable_auto_commit=False,
            enable_auto_offset_store=False,
            auto_offset_reset="earliest",
            partition_assignment_strategy="cooperative-sticky",
            session_timeout_ms=_SESSION_MS,
            queued_max_messages_kbytes=_FETCH_KB,
            statistics_interval_ms=1000,
            topic_metadata_refresh_interval_ms=_TOPICS_MS,
        )
        callbacks: dict[str, Any] = {
            "stats_cb": self._standing.told,
            "error_cb": self._standing.noted,
        }
        return {**found, **callbacks}

    def _take_in(
        self, consumer: Consumer, letters: DeadLetters, messages: Sequence[Message]
    ) -> None:
        """Apply them; where the books cannot be written, have them come again."""
        records = [one for one in messages if one.error() is None]
        for one in messages:
            if (error := one.error()) is not None:
                LOG.warning("Kafka: %s", reason(error))
        # A record without a value says that the operator has deleted its key.
        said = [one for one in records if one.value() is not None]
        try:
            outcomes = self._apply(said)
        except Unavailable as error:
            self._counts["retries"] += 1
            if not self._books.is_logged(error):
                LOG.warning("Reports from Kafka wait: %s", error)
            _seek_back(consumer, records)
            self._stop.wait(RETRY_S)
            return
        for message, outcome in zip(said, outcomes, strict=True):
            if outcome.outcome == "refused" and not _is_early(message, outcome):
                letters.put(message, outcome)
        self._counts["records"] += len(records)
        written, lost = letters.flush()
        self._counts["dead_letters"] += written
        self._counts["dead_letters_lost"] += lost
        _commit(consumer, records)

    def _apply(self, said: Sequence[Message]) -> tuple[ReportOutcome, ...]:
        """Raises Unavailable."""
        deliveries = [_delivery(self._options, one) for one in said]
        try:
            return self._books.take_deliveries(deliveries)
        except GanttError:
            raise
        except Exception:
            if len(said) == 1:
                LOG.exception("A report from Kafka cannot be applied")
                return (_broken(deliveries[0]),)
        # One of them meets a bug: the others must not wait for its correction.
        return tuple(outcome for one in said for outcome in self._apply([one]))


def _broken(delivery: Delivery) -> ReportOutcome:
    message = "Gantt failed on this report; the log of the scheduler says how."
    return ReportOutcome(delivery.key, "", "refused", "internal", message)


def _is_early(message: Message, outcome: ReportOutcome) -> bool:
    """Whether this is a heartbeat to a report that was compacted away: a newer one
    follows."""
    return outcome.wants_full and _key(message).endswith(HEARTBEAT)


def _wanted(options: StreamOptions) -> list[str]:
    """Names of topics; those that begin with ^ are patterns."""
    if not options.topic_per_host:
        return [options.reports_topic]
    name = options.reports_topic.replace(".", "[.]")
    return [options.reports_topic, f"^{name}[.].+"]


def _next(consumer: Consumer, most: int) -> list[Message]:
    first = consumer.poll(POLL_S)
    if first is None:
        return []
    more = consumer.consume(most - 1, LINGER_S) if most > 1 else []
    return [first, *more]


def _delivery(options: StreamOptions, message: Message) -> Delivery:
    raw = message.value()
    _, at_ms = message.timestamp()
    value = raw if isinstance(raw, bytes) else str(raw).encode()
    host = options.host_of(str(message.topic()))
    source = f"{message.topic()}/{message.partition()}"
    return Delivery(value, _key(message), at_ms * 1000, host, source)


def _key(message: Message) -> str:
    key = message.key()
    return key.decode(errors="replace") if isinstance(key, bytes) else str(key or "")


def _places(records: Sequence[Message], *, first: bool) -> list[TopicPartition]:
    """The offset of the first record of each partition, or that after its last."""
    found: dict[tuple[str, int], int] = {}
    for one in records:
        where = str(one.topic()), int(one.partition() or 0)
        offset = int(one.offset() or 0)
        if first:
            found.setdefault(where, offset)
        else:
            found[where] = offset + 1
    return [TopicPartition(*where, offset) for where, offset in found.items()]


def _seek_back(consumer: Consumer, records: Sequence[Message]) -> None:
    for place in _places(records, first=True):
        try:
            consumer.seek(place)
        except KafkaException as error:  # another process has the partition now
            LOG.debug("Not back to %s: %s", place, reason(error))


def _begin_again(consumer: Consumer, topic: str) -> None:
    """What was read before comes twice, which does no harm."""
    LOG.warning("The topic %s was made again: it is read from its beginning.", topic)
    for place in consumer.assignment():
        if place.topic == topic:
            place.offset = OFFSET_BEGINNING
            try:
                consumer.seek(place)
            except KafkaException as error:  # another process has the partition now
                LOG.debug("Not back to %s: %s", place, reason(error))


def _commit(consumer: Consumer, records: Sequence[Message]) -> None:
    """A commit that fails does no harm: the records come again."""
    if not records:
        return
    try:
        # Not waited for: while Kafka is away that would take long.
        consumer.commit(offsets=_places(records, first=False), asynchronous=True)
    except KafkaException as error:
        LOG.debug("No offsets committed: %s", reason(error))
