"""Several processes share the reports; one may die anywhere, and so may the broker."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Consumer, TopicPartition

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import Unavailable
from gantt.model.reports import Report
from gantt.store import schema
from gantt.stream.broker_connection import Topic, ensure
from gantt.stream.options import StreamOptions
from gantt.stream.report_consumer import Intake
from gantt.stream.report_producer import ReportStream
from gantt.stream.topics import reports_topic
from tests.kafka_broker import Kafka
from tests.stream.streams import (
    WAIT_S,
    Agents,
    a_report,
    becomes,
    stream_options,
    taking_in,
    vcpus,
)
from tests.waiting import until

pytestmark = pytest.mark.server("kafka")

# Dies where the books are durable and the offsets are not committed.
KILLED = """
import os, signal, sys, threading
import msgspec
from gantt.connection import open_gantt
from gantt.stream import report_consumer
from gantt.stream.options import StreamOptions

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

report_consumer._commit = die
options = msgspec.json.decode(sys.argv[2], type=StreamOptions)
with open_gantt(sys.argv[1]) as books:
    report_consumer.Intake(options, books).start()
    threading.Event().wait()
"""


@pytest.fixture
def database(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'gantt.db'}"
    schema.sync(url)
    return url


def started(options: StreamOptions, books: Gantt) -> Intake:
    intake = Intake(options, books)
    books.accompany(intake)
    intake.start()
    return intake


def counted(*all_books: Gantt) -> Counter[str]:
    found: Counter[str] = Counter()
    for books in all_books:
        found.update(Counter(books.counts()))
    return found


def test_processes_share_the_reports_and_give_them_over(
    kafka: Kafka, database: str
) -> None:
    options = stream_options(kafka, batch=7)
    ensure(options, [reports_topic(options)])
    agents, hosts, said = Agents(options), [f"h{i}" for i in range(20)], 0

    def flows_until_taken_by(books: Gantt) -> None:
        """Reports come on and on, until this process has taken some."""
        before = books.counts()["stream_records"]

        def has_more() -> bool:
            nonlocal said
            said += 1
            agents.say(*(a_report(host, said) for host in hosts))
            return books.counts()["stream_records"] > before

        until(has_more, tell=books.counts)

    with open_gantt(database) as first, open_gantt(database) as second:
        first_intake = started(options, first)
        flows_until_taken_by(first)
        second_intake = started(options, second)
        flows_until_taken_by(second)
        first_intake.close()
        flows_until_taken_by(second)
        becomes(second, **dict.fromkeys(hosts, said))
        second_intake.close()
        counts = counted(first, second)
    assert counts["reports_applied"] == said * len(hosts)
    assert counts["stream_dead_letters"] == 0


def test_a_process_killed_before_it_commits_offsets(
    kafka: Kafka, database: str
) -> None:
    options = stream_options(kafka, partitions=1)
    ensure(options, [reports_topic(options)])
    hosts = [f"h{i}" for i in range(30)]
    Agents(options).say(*(a_report(host, n) for n in (1, 2) for host in hosts))
    given = msgspec.json.encode(options).decode()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, database, given], check=False, timeout=WAIT_S
    )
    assert killed.returncode == -9
    with taking_in(options, database) as books:
        durable = {one.host: one.stats["vcpus"] for one in books.list_hosts()}
        assert set(durable) == set(hosts)
        becomes(books, **dict.fromkeys(hosts, 2))
        until(lambda: books.counts()["stream_records"] == 60, tell=books.counts)
        counts = books.counts()
    twice = sum(durable.values())
    assert counts["reports_duplicate"] == twice
    assert counts["reports_applied"] == 60 - twice


def test_the_broker_is_killed_in_the_middle(own_kafka: Kafka, database: str) -> None:
    options = stream_options(own_kafka)
    ensure(options, [reports_topic(options)])
    rounds, hosts = 40, ["a", "b", "c"]
    half = threading.Barrier(len(hosts) + 1)
    given_up: list[str] = []

    def report(host: str) -> None:
        stream = ReportStream(options, delivery_s=2)
        for number in range(1, rounds + 1):
            if number == rounds // 2:
                half.wait(WAIT_S)
            said = a_report(host, number)
            until(partial(_is_known, stream, said), tell=stream.counts)
        stream.close()
        if stream.counts()["stream_waiting"]:
            given_up.append(host)

    with open_gantt(database) as books:
        intake = started(options, books)
        threads = [threading.Thread(target=report, args=(host,)) for host in hosts]
        for thread in threads:
            thread.start()
        half.wait(WAIT_S)
        own_kafka.kill()
        until(lambda: books.counts()["stream_silence_seconds"] > 0, tell=books.counts)
        own_kafka.start()
        for thread in threads:
            thread.join(WAIT_S)
        becomes(books, **dict.fromkeys(hosts, rounds))
        intake.close()
        counts = books.counts()
    assert given_up == []
    assert counts["reports_applied"] == rounds * len(hosts)
    assert counts["stream_dead_letters"] == 0


def _is_known(stream: ReportStream, report: Report) -> bool:
    try:
        stream.report_hosts([report])
    except Unavailable:
        return False
    return True


def test_new_books_catch_up_from_the_compacted_topic_alone(kafka: Kafka) -> None:
    options = stream_options(kafka, partitions=1)
    wanted = reports_topic(options)
    often = {"segment.ms": "200", "min.cleanable.dirty.ratio": "0.01"}
    ensure(options, [Topic(wanted.name, 1, {**wanted.settings, **often})])
    hosts = [f"h{i}" for i in range(40)]
    agents, written = Agents(options), 0
    with taking_in(options) as early:

        def is_compacted() -> bool:
            nonlocal written
            written += 1
            agents.say(*(a_report(host, written) for host in hosts))
            becomes(early, **dict.fromkeys(hosts, written))
            return _held(options) < written * len(hosts) // 2

        until(is_compacted, tell=lambda: written)
        with taking_in(options) as late:
            becomes(late, **dict.fromkeys(hosts, written))
            until(lambda: late.counts()["stream_lag"] == 0, tell=late.counts)
            assert vcpus(late) == vcpus(early)
            assert late.counts()["stream_records"] < written * len(hosts)
            assert late.counts()["stream_dead_letters"] == 0


def _held(options: StreamOptions) -> int:
    """Records that a topic with one partition still has."""
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(options.bootstrap_servers),
            "group.id": "count",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(options.reports_topic, 0, 0)])
    count = 0
    while True:
        message = consumer.poll(10)
        assert message is not None
        if message.error() is not None:
            break
        count += 1
    consumer.close()
    return count
