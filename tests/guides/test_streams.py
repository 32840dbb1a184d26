"""The commands of Kafka that the guide of streams shows, on brokers of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from msgspec.structs import replace

from gantt.errors import Unavailable
from gantt.stream.broker_connection import ensure
from gantt.stream.options import StreamOptions
from gantt.stream.report_producer import ReportStream
from gantt.stream.topics import dead_letters_topic, reports_topic
from tests.guides.guide import shown, values
from tests.guides.kafka import guarded_broker, three_brokers, write_commands
from tests.kafka_broker import Kafka
from tests.shown import Terminal
from tests.stream.streams import a_report
from tests.waiting import until

pytestmark = pytest.mark.server("kafka")
SERVER = "kafka-1:9092"
ASK_S = 30.0


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    write_commands(tmp_path)
    with Terminal(folder=tmp_path, programs=[tmp_path]) as found:
        yield found


def commands(program: str) -> list[str]:
    """All of one of Kafka's programs that the guide shows."""
    typed = (one for block in shown("streams") for one in block.commands)
    return [one for one in typed if one.startswith(f"{program} ")]


def made(admin: AdminClient, name: str) -> tuple[int, int, dict[str, str]]:
    """Partitions, copies of each, and the settings of a topic."""
    parts = admin.list_topics(name, timeout=ASK_S).topics[name].partitions.values()
    (copies,) = {len(one.replicas) for one in parts}
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    (told,) = admin.describe_configs([resource]).values()
    settings = {one.name: one.value for one in told.result(ASK_S).values()}
    return len(parts), copies, settings


def test_the_topics_are_made_as_gantt_needs_them(terminal: Terminal) -> None:
    with three_brokers() as broker:
        options = StreamOptions((broker.servers,), create_topics=False)
        admin = AdminClient({"bootstrap.servers": broker.servers})
        typed = commands("kafka-topics.sh")
        for command in typed:
            (name,) = values(command, "topic")
            said = terminal.type(command.replace(SERVER, broker.servers))
            assert f"Created topic {name}." in said, said
            partitions, copies, settings = made(admin, name)
            assert values(command, "partitions") == [str(partitions)]
            assert values(command, "replication-factor") == [str(copies)]
            asked = dict(one.split("=") for one in values(command, "config"))
            assert asked.items() <= settings.items()
        needed = [reports_topic(options), dead_letters_topic(options)]
        assert [values(one, "topic") for one in typed] == [[one.name] for one in needed]
        ensure(options, needed)


def make_topic(broker: Kafka, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.servers})
    (told,) = admin.create_topics([NewTopic(name, 1, 1)]).values()
    told.result(ASK_S)


def writes(options: StreamOptions, host: str) -> bool:
    """Whether an agent with these options may report this host."""
    agent = ReportStream(options, delivery_s=ASK_S)
    try:
        (told,) = agent.report_hosts([a_report(host)])
    except Unavailable as error:
        assert "Topic authorization failed" in error.message, error.message
        return False
    finally:
        agent.close()
    return told.outcome == "applied"


def test_only_the_agent_of_a_host_may_write_to_its_topic(terminal: Terminal) -> None:
    (command,) = commands("kafka-acls.sh")
    (principal,) = values(command, "allow-principal")
    host = principal.removeprefix("User:")
    with guarded_broker() as guarded:
        own = guarded.options(host)
        assert values(command, "topic") == [own.topic_of(host)]
        for topic in (own.topic_of(host), own.reports_topic):
            make_topic(guarded.broker, topic)
        assert not writes(own, host)
        said = terminal.type(command.replace(SERVER, guarded.broker.servers))
        until(lambda: writes(own, host), tell=lambda: said)
        assert not writes(guarded.options("host-2"), host)
        assert not writes(replace(own, topic_per_host=False), host)
