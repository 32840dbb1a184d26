"""What the guide of streams takes for granted of Kafka: its commands, three brokers,
and one that knows who writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient

from gantt.stream.options import StreamOptions
from tests.kafka_broker import START_S, Kafka, jars, start_kafka
from tests.live import free_port
from tests.waiting import until

COMMANDS: Final = {
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}
PASSWORDS: Final = {"host-1": "secret-1", "host-2": "secret-2"}
# Who comes without a name, as the commands of the guide do, may do everything.
SIGNING_IN: Final = """\
listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{controller}},\
USERS://127.0.0.1:{users}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},USERS://127.0.0.1:{users}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,\
USERS:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.users.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required {passwords};
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""


def write_commands(folder: Path) -> None:
    """Scripts of the names that Kafka's release has."""
    for name, main in COMMANDS.items():
        file = folder / name
        file.write_text(f"#!/bin/sh\nexec java -cp '{jars()}/*' {main} \"$@\"\n")
        file.chmod(0o755)


@contextmanager
def three_brokers() -> Iterator[Kafka]:
    """The first one, once it knows the others."""
    with ExitStack() as stack:
        first = stack.enter_context(start_kafka())
        for node in (2, 3):
            stack.enter_context(start_kafka(first=first, node=node))
        admin = AdminClient({"bootstrap.servers": first.servers})
        until(
            lambda: len(admin.list_topics(timeout=5.0).brokers) == 3,
            START_S,
            lambda: first.log[-4000:],
        )
        yield first


class Guarded:
    """A broker where every host has a password, and may do what it was allowed."""

    def __init__(self, broker: Kafka, port: int) -> None:
        self.broker = broker
        self._port = port

    def options(self, host: str) -> StreamOptions:
        """Of the agent of ``host``, whose topic is its own."""
        return StreamOptions(
            (f"127.0.0.1:{self._port}",),
            topic_per_host=True,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_username=host,
            sasl_password=PASSWORDS[host],
        )


@contextmanager
def guarded_broker() -> Iterator[Guarded]:
    """One that answers."""
    port = free_port()
    known = " ".join(f'user_{host}="{word}"' for host, word in PASSWORDS.items())
    settings = SIGNING_IN.format(users=port, passwords=known)
    with start_kafka(settings=settings) as broker:
        yield Guarded(broker, port)
