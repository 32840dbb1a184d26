"""Reports over Kafka, whose broker is killed in the midst of them."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from tests.fleet.fleet import HOSTS, SLACK_S, Fleet, fleet
from tests.kafka_broker import Kafka, start_kafka

pytestmark = [pytest.mark.slow, pytest.mark.server("kafka")]
STREAM = (
    "[stream]\nbootstrap_servers = {servers}\npartitions = 4\n"
    "client_properties = reconnect.backoff.max.ms:500\n"
)
TOPIC = "gantt-reports"
# The agent of the second host may also report to the service.
OVER_KAFKA, OVER_BOTH = HOSTS
DOWN_S = 6
Said = tuple[str, str, int]


@contextmanager
def growing(two: Fleet) -> Iterator[list[int]]:
    """Both machines get memory all the time: every report has news. The sizes in MB."""
    sizes = [5000]
    is_over = threading.Event()

    def grow() -> None:
        while not is_over.wait(0.2):
            sizes.append(sizes[-1] + 1)
            for host in HOSTS:
                two.resize(host, sizes[-1])

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        yield sizes
    finally:
        is_over.set()
        thread.join()


def test_a_broker_that_is_killed_costs_no_report(tmp_path: Path) -> None:
    """What it has taken is applied, each report once; what it could not take waits, or
    goes to the service, and what is true in the end is known."""
    with start_kafka() as broker:
        settings = STREAM.format(servers=broker.servers)
        with fleet(tmp_path, settings, stream=broker.servers) as two:
            with growing(two) as sizes:
                launched = two.launch("--host", OVER_KAFKA)
                two.reaches(lambda: two.is_seen(launched), tell="not seen by Kafka")
                before = len(sizes)
                knows_more(two, sizes[-1], *HOSTS)
                broker.kill()
                knows_more(two, sizes[-1], OVER_BOTH)
                other = two.launch("--host", OVER_BOTH)
                two.reaches(lambda: two.is_seen(other), tell="not seen by the service")
                two.reaches(lambda: "Kafka" in readiness(two), tell=readiness(two))
                stale = size_of(two, OVER_KAFKA)
                broker.start()
                knows_more(two, sizes[-1], *HOSTS)
                assert stale < sizes[-1] and before < len(sizes)
            two.reaches(lambda: {size_of(two, one) for one in HOSTS} == {sizes[-1]})
            two.reaches(lambda: readiness(two) == "OK", tell=readiness(two))

            applied = applied_reports(two)
            assert [one for one, times in Counter(applied).items() if times > 1] == []
            written = {one for one in written_reports(broker) if one[0] == OVER_KAFKA}
            assert written and written - set(applied) == set()
            for host in HOSTS:
                numbers = [number for at, _, number in applied if at == host]
                assert numbers == sorted(numbers)
            assert metric(two, "gantt_stream_dead_letters_total") == 0
            for one in (launched, other):
                one.end()


def test_an_agent_over_kafka_that_falls_silent_is_noticed(tmp_path: Path) -> None:
    """By its heartbeats in the topic; a broker that is away takes no host down."""
    with start_kafka() as broker:
        settings = STREAM.format(servers=broker.servers)
        settings += f"[DEFAULT]\nservice_down_time = {DOWN_S}\n"
        with fleet(tmp_path, settings, stream=broker.servers) as two:

            def has_state(state: str) -> bool:
                return two.state(OVER_KAFKA) == state

            two.reaches(lambda: has_state("enabled"), 3 * DOWN_S, "no heartbeat")
            broker.kill()
            silent_s = 2 * DOWN_S
            two.reaches(lambda: silence_s(two) > silent_s, silent_s + SLACK_S)
            assert has_state("enabled")
            broker.start()
            two.reaches(lambda: readiness(two) == "OK", tell=readiness(two))
            two.agents[OVER_KAFKA].kill()
            two.reaches(lambda: has_state("agent down"), 4 * DOWN_S, "not noticed")
            assert two.state(OVER_BOTH) == "enabled"
            two.start_agent(OVER_KAFKA)
            two.reaches(lambda: has_state("enabled"), DOWN_S, "not back")


def silence_s(two: Fleet) -> float:
    """For how long Kafka has not answered the service."""
    return metric(two, "gantt_stream_silence_seconds")


def size_of(two: Fleet, host: str) -> int:
    size: int = two.host(host).stats["memory_mb"]
    return size


def knows_more(two: Fleet, size: int, *hosts: str) -> None:
    """Wait until the books know that these hosts have more than ``size``."""
    two.reaches(
        lambda: all(size_of(two, host) > size for host in hosts),
        within=10.0,
        tell=f"{hosts}: not more than {size}",
    )


def readiness(two: Fleet) -> str:
    with urlopen(f"{two.service.url}/readyz") as answer:
        text: str = answer.read().decode()
    return text


def metric(two: Fleet, name: str) -> float:
    with urlopen(f"{two.service.url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    (value,) = (one.split()[1] for one in lines if one.split()[0] == name)
    return float(value)


def applied_reports(two: Fleet) -> list[Said]:
    """Host, agent and number of each report, as the change log has them."""
    lines = two.do("watch", "--since", "0", "--no-follow", "-o", "json").splitlines()
    events = [json.loads(line) for line in lines]
    return [
        (row["host"], row["stats"]["_report"]["incarnation"], _number(row))
        for event in events
        if event["kind"] == "ReportHost"
        for row in (change["row"] for change in event["changes"])
        if row is not None and "node" in row
    ]


def _number(row: dict[str, Any]) -> int:
    number: int = row["stats"]["_report"]["sequence"]
    return number


def written_reports(broker: Kafka) -> set[Said]:
    """The same of what the topic holds."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.servers,
            "group.id": "reader",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    partitions = consumer.list_topics(TOPIC).topics[TOPIC].partitions
    consumer.assign([TopicPartition(TOPIC, one, 0) for one in partitions])
    found: set[Said] = set()
    open_ones = set(partitions)
    while open_ones:
        message = consumer.poll(30.0)
        assert message is not None, "the topic cannot be read"
        if (error := message.error()) is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            open_ones.discard(message.partition())
            continue
        report = json.loads(message.value() or b"{}")
        found.add((report["host"], report["incarnation"], report["sequence"]))
    consumer.close()
    return found
