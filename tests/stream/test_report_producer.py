"""Agents report to a real Kafka, and to a service while it is away."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest
from msgspec.structs import replace

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import Unavailable
from gantt.model.needs import Needs
from gantt.model.reports import Delivery, Report, ReportOutcome
from gantt.stream.broker_connection import ensure
from gantt.stream.options import StreamOptions
from gantt.stream.report_producer import EVERYTHING, ReportStream
from gantt.stream.topics import reports_topic
from tests.kafka_broker import Kafka
from tests.stream.streams import (
    Agents,
    a_report,
    now_us,
    read_all,
    stream_options,
    taking_in,
    vcpus,
)
from tests.waiting import until

pytestmark = pytest.mark.server("kafka")


class Service:
    """Over HTTP this would be; ``is_away``: it does not answer."""

    def __init__(self, books: Gantt) -> None:
        self.books = books
        self.is_away = False
        self.said: list[Report | bytes] = []

    def needs(self) -> Needs:
        if self.is_away:
            raise Unavailable("away")
        return self.books.needs()

    def report_hosts(
        self, reports: Iterable[Report | bytes]
    ) -> tuple[ReportOutcome, ...]:
        if self.is_away:
            raise Unavailable("away")
        said = list(reports)
        self.said += said
        return self.books.report_hosts(said)


def made(broker: Kafka) -> StreamOptions:
    options = stream_options(broker)
    ensure(options, [reports_topic(options)])
    return options


def records(options: StreamOptions, count: int) -> list[Report]:
    found = read_all(options, options.reports_topic, count)
    return [msgspec.json.decode(one.value() or b"", type=Report) for one in found]


def test_every_report_is_taken_at_once_while_kafka_answers(kafka: Kafka) -> None:
    stream = ReportStream(made(kafka))
    try:
        for number in range(1, 41):
            stream.report_hosts([a_report("a", number)])
        assert stream.counts()["stream_undelivered"] == 0
        assert stream.counts()["stream_delivered"] == 40
    finally:
        stream.close()


def test_a_report_is_known_once_kafka_has_it(kafka: Kafka) -> None:
    options = made(kafka)
    stream = ReportStream(options)
    said = a_report("a")
    nothing = replace(said, full=False, fields=type(said.fields)())
    (outcome,) = stream.report_hosts([said])
    (unchanged,) = stream.report_hosts([nothing])
    stream.close()
    (found,) = read_all(options, options.reports_topic, 1)
    assert (outcome.outcome, unchanged.outcome) == ("applied", "unchanged")
    assert found.key() == b"a"
    assert msgspec.json.decode(found.value() or b"", type=Report) == said
    counts = stream.counts()
    assert (counts["stream_delivered"], counts["stream_waiting"]) == (1, 0)


def test_without_a_service_everything_is_needed(kafka: Kafka) -> None:
    stream = ReportStream(made(kafka))
    assert stream.needs() is EVERYTHING
    stream.close()


def test_needs_are_asked_again_and_stay_while_the_service_is_away(
    kafka: Kafka,
) -> None:
    now = [0.0]
    with taking_in(stream_options(kafka)) as books:
        service = Service(books)
        service.is_away = True
        stream = ReportStream(made(kafka), service, clock=lambda: now[0])
        assert stream.needs().everything
        service.is_away = False
        now[0] += 1000
        unchanged = a_report("a", fields=type(a_report("a").fields)())
        (outcome,) = stream.report_hosts([unchanged])
        assert outcome.needs == books.needs().digest
        service.is_away = True
        assert stream.needs() == books.needs()
        stream.close()


def test_while_kafka_is_away_the_newest_waits_and_nothing_is_lost(
    own_kafka: Kafka,
) -> None:
    options = made(own_kafka)
    stream = ReportStream(options, delivery_s=3)
    stream.report_hosts([a_report("a")])
    own_kafka.kill()
    for number in (2, 3, 4):
        with pytest.raises(Unavailable, match="--url"):
            stream.report_hosts([a_report("a", number)])
        assert stream.counts()["stream_waiting"] == 1
    own_kafka.start()
    (outcome,) = _until_delivered(stream, a_report("a", 5))
    stream.close()
    assert outcome.outcome == "applied"
    found = [one.sequence for one in records(options, 2)]
    assert found[0] == 1
    assert records(options, len(found))[-1].sequence in (4, 5)
    assert stream.counts()["stream_waiting"] == 0


def _until_delivered(stream: ReportStream, report: Report) -> tuple[ReportOutcome, ...]:
    found: list[tuple[ReportOutcome, ...]] = []

    def is_delivered() -> bool:
        try:
            found.append(stream.report_hosts([report]))
        except Unavailable:
            return False
        return True

    until(is_delivered, tell=stream.counts)
    return found[0]


def test_while_kafka_is_away_the_service_has_the_reports(own_kafka: Kafka) -> None:
    options = made(own_kafka)
    with taking_in(options) as books:
        service = Service(books)
        stream = ReportStream(options, service, delivery_s=3)
        stream.report_hosts([a_report("a")])
        until(lambda: vcpus(books) == {"a": 1}, tell=lambda: vcpus(books))
        assert not service.said
        own_kafka.kill()
        (outcome,) = stream.report_hosts([a_report("a", 2)])
        assert outcome.outcome == "applied"
        assert vcpus(books) == {"a": 2}
        until(lambda: "Kafka" in books.notice(), tell=books.notice)
        assert books.counts()["stream_silence_seconds"] > 0
        assert books.unready() == ""
        service.is_away = True
        with pytest.raises(Unavailable):
            stream.report_hosts([a_report("a", 3)])
        own_kafka.start()
        _until_delivered(stream, a_report("a", 4))
        until(lambda: vcpus(books) == {"a": 4}, tell=lambda: vcpus(books))
        until(lambda: books.notice() == "", tell=books.notice)
        stream.close()
        counts = stream.counts()
        assert (counts["stream_fallbacks"], counts["stream_waiting"]) == (1, 0)
    # What the service had first is in the topic as well, for those who begin there.
    assert max(one.sequence for one in records(options, 2)) >= 2


def beats(report: Report) -> Report:
    """Its agent says that there is no news, and that it is there."""
    return replace(report, full=False, fields=type(report.fields)(), beats=True)


def test_heartbeats_come_after_the_report_and_leave_it_in_the_topic(
    kafka: Kafka,
) -> None:
    options = made(kafka)
    now = [0.0]
    stream = ReportStream(options, clock=lambda: now[0])
    said = replace(a_report("a"), beats=True)
    stream.report_hosts([said])
    for second in (1, 10, 11, 20):  # the second and the last are due
        now[0] = second
        (outcome,) = stream.report_hosts([beats(said)])
        assert (outcome.outcome, outcome.beat_s) == ("unchanged", options.heartbeat_s)
    stream.close()
    found = read_all(options, options.reports_topic, 3)
    assert [one.key() for one in found] == [b"a", b"a#heartbeat", b"a#heartbeat"]
    assert len({one.partition() for one in found}) == 1
    with taking_in(options) as books:
        until(lambda: books.counts()["stream_records"] == 3, tell=books.counts)
        counts = books.counts()
    assert (counts["reports_applied"], counts["reports_unchanged"]) == (1, 2)
    assert counts["stream_dead_letters"] == 0


def test_a_heartbeat_to_a_report_that_was_compacted_away_is_no_dead_letter(
    kafka: Kafka,
) -> None:
    options = stream_options(kafka, partitions=1)
    ensure(options, [reports_topic(options)])
    first, second = a_report("a"), a_report("a", 2)
    Agents(options).say(beats(first), second, beats(second))
    with taking_in(options) as books:
        until(lambda: books.counts()["stream_records"] == 3, tell=books.counts)
        assert vcpus(books) == {"a": 2}
        assert books.counts()["stream_dead_letters"] == 0
        assert books.counts()["reports_unchanged"] == 1


def test_what_waited_for_long_is_no_sign_of_life() -> None:
    with open_gantt("memory://") as books:
        now = now_us()
        hour = 3_600_000_000
        for host, at in (("late", now - hour), ("there", now)):
            said = replace(a_report(host, taken_at=at), beats=True)
            delivery = Delivery(msgspec.json.encode(said), host, at)
            (outcome,) = books.take_deliveries([delivery])
            assert outcome.outcome == "applied"
        assert books.counts()["heartbeats_heard"] == 1


def test_a_heartbeat_that_kafka_cannot_take_does_not_stop_the_next_ones(
    kafka: Kafka,
) -> None:
    options = made(kafka)
    now = [0.0]
    stream = ReportStream(options, clock=lambda: now[0])
    said = replace(a_report("a"), beats=True)
    stream.report_hosts([said])
    stream._partition = 99  # there are fewer since the topic was made anew
    now[0] = 20.0
    with pytest.raises(Unavailable):
        stream.report_hosts([beats(said)])
    _until_delivered(stream, beats(said))
    counts = stream.counts()
    stream.close()
    assert (counts["stream_delivered"], counts["stream_waiting"]) == (2, 0)


def test_while_kafka_is_away_the_service_has_the_heartbeats(kafka: Kafka) -> None:
    options = made(kafka)
    with open_gantt("memory://") as books:
        service = Service(books)
        stream = ReportStream(
            replace(options, bootstrap_servers=("127.0.0.1:9",)), service, delivery_s=1
        )
        said = replace(a_report("a"), beats=True)
        (outcome,) = stream.report_hosts([said])
        assert outcome.outcome == "applied"
        (outcome,) = stream.report_hosts([beats(said)])
        assert outcome.outcome == "unchanged"
        assert len(service.said) == 2
        assert stream.counts()["stream_waiting"] == 1
        stream.close()
