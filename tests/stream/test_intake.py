"""Reports from a real Kafka into the books, each once, whatever is in the topic."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from gantt.stream.broker_connection import ensure
from gantt.stream.report_producer import ReportStream
from gantt.stream.topics import reports_topic
from tests.kafka_broker import Kafka
from tests.stream.streams import (
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

pytestmark = pytest.mark.server("kafka")


def test_reports_reach_the_books(kafka: Kafka) -> None:
    options = stream_options(kafka)
    with taking_in(options) as books:
        ensure(options, [reports_topic(options)])
        agents = Agents(options)
        agents.say(a_report("a"), a_report("b"))
        becomes(books, a=1, b=1)
        agents.say(a_report("a", 2))
        becomes(books, a=2, b=1)
        until(lambda: books.counts()["stream_records"] == 3, tell=books.counts)
        until(lambda: books.counts()["stream_lag"] == 0, tell=books.counts)
        assert books.counts()["reports_applied"] == 3
        assert books.notice() == ""


def test_duplicates_and_reordering_do_no_harm(kafka: Kafka) -> None:
    options = stream_options(kafka)
    ensure(options, [reports_topic(options)])
    first, second, third = (a_report("a", number) for number in (1, 2, 3))
    Agents(options).say(first, third, second, third, first, a_report("b"))
    with taking_in(options) as books:
        becomes(books, a=3, b=1)
        until(lambda: books.counts()["stream_records"] == 6, tell=books.counts)
        counts = books.counts()
        assert vcpus(books) == {"a": 3, "b": 1}
        assert (counts["reports_applied"], counts["reports_duplicate"]) == (3, 3)
        assert counts["stream_dead_letters"] == 0


def poison() -> dict[str, tuple[str, bytes]]:
    """The code with which each is refused -> key and value."""
    late = now_us() + 3_600_000_000
    far = a_report("c", taken_at=late)
    wrong = msgspec.to_builtins(a_report("d"))
    wrong["fields"]["running_vms"] = -5
    long = msgspec.to_builtins(a_report("e"))
    long["fields"]["host_ip"] = "1" * 300_000
    return {
        "bad JSON": ("a", b'{"host": '),
        "no report": ("a", b"[1, 2]"),
        "of another host": ("a", msgspec.json.encode(a_report("b"))),
        "from the future": ("c", msgspec.json.encode(far)),
        "impossible numbers": ("d", msgspec.json.encode(wrong)),
        "too large": ("e", msgspec.json.encode(long)),
        "no full report": ("f", msgspec.json.encode(a_report("f", full=False))),
    }


CODES = {
    "bad JSON": "bad_report",
    "no report": "bad_report",
    "of another host": "bad_report",
    "from the future": "report_time",
    "impossible numbers": "bad_report",
    "too large": "bad_report",
    "no full report": "unknown_incarnation",
}


def test_poison_goes_to_the_dead_letters_and_nothing_stops(kafka: Kafka) -> None:
    options = stream_options(kafka, partitions=1)
    ensure(options, [reports_topic(options)])
    agents = Agents(options)
    agents.say(a_report("a"))
    for key, value in poison().values():
        agents.write(key, value)
    agents.say(a_report("z", 7))
    with taking_in(options) as books:
        becomes(books, a=1, z=7)
        count = len(CODES)
        until(lambda: books.counts()["stream_dead_letters"] == count, tell=books.counts)
        assert books.counts()["reports_refused"] == count
        found = read_all(options, options.dead_letters_topic, count)
    assert [headers(one)["gantt-code"] for one in found] == list(CODES.values())
    told = headers(found[0])
    assert told["gantt-topic"] == options.reports_topic
    assert told["gantt-offset"] == "1"
    assert "truncated" in told["gantt-reason"]
    assert (found[0].key(), found[0].value()) == (b"a", b'{"host": ')


def test_a_deletion_says_nothing(kafka: Kafka) -> None:
    options = stream_options(kafka, partitions=1)
    ensure(options, [reports_topic(options)])
    agents = Agents(options)
    agents.say(a_report("a"))
    agents.write("a", None)
    agents.say(a_report("b"))
    with taking_in(options) as books:
        becomes(books, a=1, b=1)
        until(lambda: books.counts()["stream_records"] == 3, tell=books.counts)
        assert books.counts()["stream_dead_letters"] == 0


def test_in_the_topic_of_a_host_nothing_else_is_believed(kafka: Kafka) -> None:
    options = stream_options(
        kafka,
        topic_per_host=True,
        client_properties={"topic.metadata.refresh.interval.ms": "500"},
    )
    with taking_in(options) as books:
        own = replace(reports_topic(options), name=options.topic_of("a"))
        ensure(options, [own])
        stream = ReportStream(options)
        (outcome,) = stream.report_hosts([a_report("a", 3)])
        stream.close()
        forger = Agents(replace(options, reports_topic=own.name))
        forger.say(a_report("b"), a_report("a", 4))
        becomes(books, a=4)
        (letter,) = read_all(options, options.dead_letters_topic, 1)
        # The common topic is for those who may report any host.
        Agents(options).say(a_report("c"))
        becomes(books, a=4, c=1)
    assert outcome.outcome == "applied"
    assert headers(letter)["gantt-code"] == "forbidden"
    assert headers(letter)["gantt-topic"] == own.name
    assert letter.key() == b"b"
