"""What goes wrong around the intake: nothing is lost, nothing stops, and it is told."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import GanttError, Refused, StoreFailed
from gantt.model.reports import Delivery, ReportOutcome
from gantt.stream import service_streams, topic_watch
from gantt.stream.broker_connection import Topic, ensure, properties
from gantt.stream.client_status import ClientStatus
from gantt.stream.options import StreamOptions
from gantt.stream.report_consumer import Intake
from gantt.stream.topics import dead_letters_topic, reports_topic
from tests.kafka_broker import Kafka
from tests.live import free_port
from tests.stream.streams import (
    WAIT_S,
    Agents,
    a_report,
    becomes,
    headers,
    now_us,
    read_all,
    stream_options,
    taking_in,
    vcpus,
)
from tests.waiting import until

on_kafka = pytest.mark.server("kafka")


class Faulty:
    """Books that fail as a test says; else those of ``books``."""

    def __init__(self, books: Gantt) -> None:
        self._books = books
        self.outages = 0
        self.hated = ""
        self.asked: list[int] = []

    def take_deliveries(
        self, deliveries: Sequence[Delivery]
    ) -> tuple[ReportOutcome, ...]:
        self.asked.append(len(deliveries))
        if self.outages:
            self.outages -= 1
            raise StoreFailed("The database is away.")
        if any(one.key == self.hated for one in deliveries):
            raise ZeroDivisionError("a bug")
        return self._books.take_deliveries(deliveries)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._books, name)


@pytest.fixture
def books() -> Iterator[Faulty]:
    with open_gantt("memory://") as inner:
        yield Faulty(inner)


def started(options: StreamOptions, books: Any) -> Intake:
    intake = Intake(options, books)
    intake.start()
    return intake


@on_kafka
def test_while_the_database_is_away_reports_come_again(
    kafka: Kafka, books: Faulty
) -> None:
    options = stream_options(kafka, partitions=1)
    ensure(options, [reports_topic(options)])
    Agents(options).say(*(a_report(host) for host in "abcd"))
    books.outages = 2
    intake = started(options, books)
    becomes(books._books, a=1, b=1, c=1, d=1)
    intake.close()
    counts = intake.counts()
    assert (counts["stream_retries"], counts["stream_records"]) == (2, 4)
    assert books._books.counts()["reports_duplicate"] == 0


@on_kafka
def test_a_report_that_meets_a_bug_keeps_none_out(kafka: Kafka, books: Faulty) -> None:
    options = stream_options(kafka, partitions=1)
    ensure(options, [reports_topic(options)])
    Agents(options).say(*(a_report(host) for host in "abcd"))
    books.hated = "b"
    intake = started(options, books)
    becomes(books._books, a=1, c=1, d=1)
    (letter,) = read_all(options, options.dead_letters_topic, 1)
    intake.close()
    assert letter.key() == b"b"
    assert headers(letter)["gantt-code"] == "internal"
    assert intake.counts()["stream_dead_letters"] == 1


@on_kafka
def test_a_topic_that_is_missing_is_named_and_awaited(
    kafka: Kafka, books: Faulty
) -> None:
    options = stream_options(kafka, create_topics=False)
    intake = started(options, books)
    until(lambda: options.reports_topic in intake.notice(), tell=intake.notice)
    assert "create_topics" in intake.notice()
    made = stream_options(
        kafka,
        reports_topic=options.reports_topic,
        dead_letters_topic=options.dead_letters_topic,
    )
    letters = Topic(options.dead_letters_topic, 1, {})
    ensure(made, [reports_topic(options), letters])
    Agents(options).say(a_report("a"))
    becomes(books._books, a=1)
    until(lambda: not intake.notice(), tell=intake.notice)
    intake.close()


@on_kafka
def test_a_topic_that_would_lose_reports_is_refused(kafka: Kafka) -> None:
    options = stream_options(kafka)
    wrong = Topic(options.reports_topic, 1, {"cleanup.policy": "delete"})
    ensure(options, [wrong])
    with pytest.raises(Refused, match=r"cleanup.policy=delete, and Gantt needs"):
        ensure(options, [reports_topic(options)])


@on_kafka
def test_a_topic_may_also_be_limited_in_time(kafka: Kafka) -> None:
    options = stream_options(kafka)
    wanted = reports_topic(options)
    both = {**wanted.settings, "cleanup.policy": "compact,delete"}
    ensure(options, [Topic(wanted.name, 1, both)])
    ensure(options, [wanted])


@on_kafka
def test_what_arrived_in_time_may_wait_for_long(kafka: Kafka) -> None:
    """The clock of a host is judged by when Kafka had its report."""
    options = stream_options(kafka)
    ensure(options, [reports_topic(options)])
    Agents(options).say(a_report("a"))
    with open_gantt("memory://") as books:
        hours = 3_600_000_000 * 20
        books._reporting._clock = _Later(books._reporting._clock, hours)
        intake = started(options, books)
        becomes(books, a=1)
        assert vcpus(books) == {"a": 1}
        intake.close()


class _Later:
    def __init__(self, clock: Any, by: int) -> None:
        self._clock, self._by = clock, by

    def now(self) -> int:
        return int(self._clock.now()) + self._by

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)


def test_without_a_broker_the_books_open_and_close_and_say_so() -> None:
    options = StreamOptions((f"127.0.0.1:{free_port()}",))
    with open_gantt("memory://") as books, service_streams.taking_in(options, books):
        until(lambda: "Kafka" in books.notice(), tell=books.notice)
        assert books.unready() == ""
        assert books.counts()["stream_silence_seconds"] >= 0
        assert books._health.withholds_reports()
        began = time.monotonic()
    assert time.monotonic() - began < 30


def test_without_options_nothing_is_started() -> None:
    with (
        open_gantt("memory://") as books,
        service_streams.taking_in(StreamOptions(), books),
    ):
        assert "stream_lag" not in books.counts()


def test_options_become_properties_of_the_client() -> None:
    options = StreamOptions(
        ("a:1", "b:2"),
        security_protocol="SASL_SSL",
        sasl_mechanism="PLAIN",
        sasl_username="me",
        sasl_password="secret",
        ssl_cafile="/ca",
        client_properties={"client.id": "mine", "socket.timeout.ms": "5"},
    )
    found = properties(options, "x", group_id="g")
    assert found.pop("log_level") == 2
    assert found == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "secret",
        "ssl.ca.location": "/ca",
        "group.id": "g",
        "client.id": "mine",
        "socket.timeout.ms": "5",
    }


UP = '{"brokers": {"a": {"state": "UP"}, "b": {"state": "INIT"}}, "topics": %s}'
DOWN = '{"brokers": {"a": {"state": "TRY_CONNECT"}}}'
LAG = (
    '{"t": {"partitions": {"0": {"fetch_state": "active", "consumer_lag": 3}, '
    '"1": {"fetch_state": "active", "consumer_lag": -1}, '
    '"2": {"fetch_state": "none", "consumer_lag": 7}}}}'
)


def test_the_standing_tells_lag_and_silence() -> None:
    now = [10.0]
    standing = ClientStatus(lambda: now[0])
    standing.told(UP % LAG)
    assert (standing.lag, standing.silence_s(), standing.notice()) == (3, 0, "")
    standing.noted(KafkaError(KafkaError._TRANSPORT, "refused"))
    standing.noted(KafkaError(KafkaError._ALL_BROKERS_DOWN, "all"))
    standing.told(DOWN)
    now[0] += 5
    standing.told(DOWN)
    assert standing.silence_s() == 5
    assert standing.notice() == "reports from Kafka have waited for 5 s: refused"
    standing.told(UP % "{}")
    assert (standing.silence_s(), standing.notice()) == (0, "")


@on_kafka
def test_a_topic_that_is_made_again_is_read_from_its_beginning(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_watch, "LOOK_S", 0.5)
    options = stream_options(kafka, partitions=1)
    hosts = [f"h{number}" for number in range(20)]
    with taking_in(options) as books:
        ensure(options, [reports_topic(options)])
        Agents(options).say(*(a_report(host, 1) for host in hosts))
        becomes(books, **dict.fromkeys(hosts, 1))
        admin = AdminClient({"bootstrap.servers": kafka.servers})
        for done in admin.delete_topics([options.reports_topic]).values():
            done.result(WAIT_S)
        until(lambda: _is_there_again(options), tell=lambda: options.reports_topic)
        # The new topic is soon longer than the old one was.
        said = [a_report(host, 2) for host in hosts]
        Agents(options).say(*said, *(a_report("busy", at) for at in range(1, 50)))
        becomes(books, busy=49, **dict.fromkeys(hosts, 2))
        assert books.counts()["stream_dead_letters"] == 0


def _is_there_again(options: StreamOptions) -> bool:
    try:
        ensure(options, [reports_topic(options)])
    except (KafkaException, GanttError):  # the old one is not yet gone
        return False
    return True


@on_kafka
def test_a_topic_of_the_same_name_is_told_from_the_one_before(kafka: Kafka) -> None:
    options, times = stream_options(kafka), count(0.0, 100.0)
    topics = [reports_topic(options), dead_letters_topic(options)]
    ensure(options, topics)
    watch = topic_watch.TopicWatch(options, lambda: next(times))
    assert [watch.is_another(), watch.is_another()] == [False, False]
    admin = AdminClient({"bootstrap.servers": kafka.servers})
    for done in admin.delete_topics([options.reports_topic]).values():
        done.result(WAIT_S)
    until(lambda: _is_another(watch, options), tell=lambda: options.reports_topic)
    assert not watch.is_another()


def _is_another(watch: topic_watch.TopicWatch, options: StreamOptions) -> bool:
    """Made again as often as a broker still tells of the old one."""
    try:
        return _is_there_again(options) and watch.is_another()
    except KafkaException:  # its broker has not heard of the new one yet
        return False


def test_a_topic_is_gone_once_two_looks_have_missed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    answers: list[str | KafkaException] = ["a", gone, "b", gone, gone]

    def look(_: topic_watch.TopicWatch) -> str:
        answer = answers.pop(0)
        if isinstance(answer, KafkaException):
            raise answer
        return answer

    monkeypatch.setattr(topic_watch.TopicWatch, "_id", look)
    times = count(0.0, 100.0)
    watch = topic_watch.TopicWatch(StreamOptions(), lambda: next(times))
    assert [watch.is_another() for _ in range(4)] == [False, False, True, False]
    with pytest.raises(KafkaException):
        watch.is_another()


@on_kafka
def test_a_topic_of_dead_letters_that_was_deleted_is_made_again(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_watch, "LOOK_S", 0.5)
    options = stream_options(kafka, partitions=1)
    with taking_in(options) as books:
        ensure(options, [reports_topic(options)])
        agents = Agents(options)
        agents.say(a_report("a"))
        becomes(books, a=1)
        admin = AdminClient({"bootstrap.servers": kafka.servers})
        for done in admin.delete_topics([options.dead_letters_topic]).values():
            done.result(WAIT_S)

        def is_kept() -> bool:
            agents.write("a", b"{")
            agents.flush()
            return books.counts()["stream_dead_letters"] > 0

        until(is_kept, tell=books.counts)
        agents.say(a_report("a", 2))
        becomes(books, a=2)


def test_a_clock_that_dates_records_itself_is_not_believed() -> None:
    with open_gantt("memory://") as books:
        far = now_us() + 365 * 86_400_000_000
        said = msgspec.json.encode(a_report("a", taken_at=far))
        (outcome,) = books.take_deliveries([Delivery(said, "a", far)])
        assert (outcome.outcome, outcome.code) == ("refused", "report_time")
        assert books.list_hosts() == ()
