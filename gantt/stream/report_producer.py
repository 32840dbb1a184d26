"""Reports of an agent to Kafka, and where that does not answer, to a service.

What an agent sees as a service. A report is kept until Kafka has it, or there is a
newer one; a host has one at a time, so that nothing grows while Kafka is away. What was
told to a service meanwhile goes to Kafka as well, for those that begin there.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from gantt.errors import GanttError, Unavailable
from gantt.model.needs import Needs, needs_of
from gantt.model.reports import Report, ReportOutcome
from gantt.model.scheduling import ReportService
from gantt.stream.broker_connection import LIBRARY_LOG, properties, reason
from gantt.stream.options import StreamOptions

LOG = logging.getLogger(__name__)

DELIVERY_S: Final = 10.0
"""Seconds to wait until Kafka has a report, the metadata asked first included."""
AWAY_S: Final = 0.5
"""The same while it is known to be away."""
NEEDS_S: Final = 300.0
"""Seconds after which the service is asked again what is needed."""
_TURN_S: Final = 0.1
_QUEUE: Final = 100
EVERYTHING: Final = needs_of({"a scheduler that was not asked": None})


class ReportStream:
    """Writes reports to ``options.reports_topic``. ``service``: where Kafka does not
    answer, and for what is needed; None: reports wait, and say everything."""

    def __init__(
        self,
        options: StreamOptions,
        service: ReportService | None = None,
        *,
        delivery_s: float = DELIVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._delivery_s = delivery_s
        self._options = options
        self._service = service
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._producer = self._connected()
        # What Kafka does not have yet, by key.
        self._waiting: dict[str, bytes] = {}
        # Where the last report with fields is, and since when nothing came after it.
        self._partition = -1
        self._beat_at = 0.0
        self._trouble = self._noted = ""
        self._needs = EVERYTHING
        self._asked_at = -NEEDS_S

    def needs(self) -> Needs:
        """What the service needs; everything where it was never reached."""
        self._asked_at = self._clock()
        if self._service is not None:
            try:
                self._needs = self._service.needs()
            except GanttError as error:
                LOG.info("What is needed is not known now: %s", error.message)
        return self._needs

    def report_hosts(
        self, reports: Iterable[Report | bytes]
    ) -> tuple[ReportOutcome, ...]:
        """Returns once Kafka has them, or the service: ``applied`` means that they will
        be. Raises Unavailable where neither has; the newest then waits here."""
        said = [one for one in reports if isinstance(one, Report)]
        return tuple(self._taken(one) for one in said)

    def counts(self) -> dict[str, float]:
        """What happened so far, by name; for metrics."""
        names = ("delivered", "undelivered", "fallbacks")
        return {
            **{f"stream_{name}": self._counts[name] for name in names},
            "stream_waiting": len(self._waiting),
        }

    def close(self) -> None:
        """Give what waits a last chance."""
        if self._waiting:
            self._producer.flush(AWAY_S if self._trouble else self._delivery_s)
        self._producer.purge()
        self._producer.flush(AWAY_S)

    def _taken(self, report: Report) -> ReportOutcome:
        self._producer.poll(0)
        if (report.has_fields or self._is_beat_due(report)) and (
            not self._deliver(report)
        ):
            return self._fall_back(report)
        return ReportOutcome(
            report.host,
            report.node,
            "applied" if report.has_fields else "unchanged",
            needs=self._digest(),
            beat_s=self._options.heartbeat_s if report.beats else None,
        )

    def _is_beat_due(self, report: Report) -> bool:
        # An agent looks when it likes: a little early is better than late.
        pause_s = self._options.heartbeat_s / 2
        return report.beats and self._clock() - self._beat_at >= pause_s

    def _digest(self) -> str:
        """The digest of what is needed, which is asked again now and then."""
        if self._clock() - self._asked_at >= NEEDS_S:
            self.needs()
        return self._needs.digest

    def _fall_back(self, report: Report) -> ReportOutcome:
        """Raises Unavailable."""
        if self._service is None:
            servers = ", ".join(self._options.bootstrap_servers)
            raise Unavailable(
                f"Kafka at {servers} has not taken the report: {self._trouble}. The "
                "newest one waits; give --url to send it to a service meanwhile."
            )
        (outcome,) = self._service.report_hosts([report])
        self._counts["fallbacks"] += 1
        return outcome

    def _deliver(self, report: Report) -> bool:
        """Whether Kafka has it now."""
        if self._trouble and self._waiting and not report.has_fields:
            return False  # what waits says more
        key, value = report.key, msgspec.json.encode(report)
        deadline = self._clock() + (AWAY_S if self._trouble else self._delivery_s)
        if self._waiting.get(key) != value and not self._put(report, value):
            return False
        while self._waiting.get(key) == value:
            if self._clock() >= deadline:
                self._failed(self._noted or "no broker has confirmed it in time")
                return False
            self._producer.poll(_TURN_S)
        self._beat_at = self._clock()
        return not self._trouble

    def _put(self, report: Report, value: bytes) -> bool:
        """In the place of what waits: the newest report of a host says all. A heartbeat
        goes where that report is, to come after it."""
        key, is_beat = report.key, not report.has_fields
        self._waiting[key] = value
        # "blocking" is inverted in this library: by default it does not wait, and the
        # report that follows is thrown away as well.
        self._producer.purge(in_queue=True, in_flight=False, blocking=False)
        self._producer.poll(0)
        try:
            self._producer.produce(
                self._options.topic_of(report.host),
                value,
                key,
                partition=self._partition if is_beat else -1,
                on_delivery=self._delivered,
            )
        except (KafkaException, BufferError) as error:
            del self._waiting[key]
            self._partition = -1  # the topic may have been made anew with fewer
            self._failed(str(error))
            self._producer = self._connected()
            return False
        return True

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        raw = message.key()
        key = raw.decode() if isinstance(raw, bytes) else str(raw)
        is_newest = self._waiting.get(key) == message.value()
        if is_newest:
            del self._waiting[key]
        if error is None:
            self._counts["delivered"] += 1
            self._partition = int(message.partition() or 0)
            if self._trouble:
                LOG.warning("Kafka takes reports again.")
            self._trouble = self._noted = ""
        elif is_newest:
            self._failed(reason(error))

    def _failed(self, trouble: str) -> None:
        self._counts["undelivered"] += 1
        if not self._trouble:
            LOG.warning("Kafka does not take reports: %s", trouble)
        self._trouble = trouble

    def _connected(self) -> Producer:
        settings = properties(
            self._options,
            "gantt-agent",
            acks="all",
            enable_idempotence=True,
            partitioner="murmur2_random",
            queue_buffering_max_messages=_QUEUE,
            # It waits here for as long as nothing newer is to be said.
            message_timeout_ms=0,
            linger_ms=0,
        )
        callbacks: dict[str, Any] = {"error_cb": self._note}
        return Producer({**settings, **callbacks}, logger=LIBRARY_LOG)

    def _note(self, error: KafkaError) -> None:
        """What librdkafka met; it goes on by itself."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._noted = error.str()
