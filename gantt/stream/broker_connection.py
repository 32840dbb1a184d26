"""From options to what librdkafka is told, and the topics as Gantt needs them.

Separate because agents, consumers and the publisher of changes connect in the same way.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from msgspec import Struct

from gantt.errors import Refused, Unavailable
from gantt.stream.options import StreamOptions

LOG = logging.getLogger(__name__)
Properties: TypeAlias = dict[str, str | int | float | bool]

ANSWER_S: Final = 10.0
"""Seconds to wait for an answer about topics."""
_CRITICAL: Final = 2
_SECURITY: Final = {
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_username",
    "sasl.password": "sasl_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_client_cert_file",
    "ssl.key.location": "ssl_client_key_file",
    "ssl.key.password": "ssl_client_key_password",
}


class _Demoted(logging.LoggerAdapter[logging.Logger]):
    """At DEBUG level, whatever it is told."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """See LoggerAdapter."""
        del level
        super().log(logging.DEBUG, msg, *args, **kwargs)


LIBRARY_LOG: Final = _Demoted(LOG)
"""For what librdkafka says of each attempt, many times a second while a broker is away:
what fails is raised, and logged once."""


class Topic(Struct, frozen=True):
    """``settings``: those that it must have, as Kafka names them; ``partitions`` and
    ``settings`` are what it gets when it is made."""

    name: str
    partitions: int
    settings: Mapping[str, str]


def properties(
    options: StreamOptions, client_id: str, **own: str | int | float | bool
) -> Properties:
    """For a client of librdkafka; ``own``: with _ in place of dots. What
    ``client_properties`` says goes before."""
    found: Properties = {
        "bootstrap.servers": ",".join(options.bootstrap_servers),
        "client.id": client_id,
        "security.protocol": options.security_protocol,
        # A broker that is away is told once by us, not every second by the library.
        "log_level": _CRITICAL,
    }
    for name, option in _SECURITY.items():
        if value := getattr(options, option):
            found[name] = value
    found.update((name.replace("_", "."), value) for name, value in own.items())
    found.update(options.client_properties)
    return found


def ensure(options: StreamOptions, topics: list[Topic]) -> None:
    """Have ``topics`` there, with their settings. Raises Unavailable where no broker
    answers, Refused where one is missing and may not be made, or is set otherwise."""
    heard: list[KafkaError] = []
    settings: dict[str, Any] = {**properties(options, "gantt-topics")}
    settings["error_cb"] = heard.append
    admin = AdminClient(settings, logger=LIBRARY_LOG)
    try:
        there = admin.list_topics(timeout=ANSWER_S).topics
        missing = [one for one in topics if one.name not in there]
        if missing and not options.create_topics:
            raise Refused(
                f"Kafka has no topic {missing[0].name}, and create_topics of [stream] "
                f"is off: make it with {_wanted(missing[0])}."
            )
        _create(admin, options, missing)
        _check(admin, [one for one in topics if one.name in there])
    except KafkaException as error:
        admin.poll(0)  # lets ``heard`` hear
        # That no broker is there, or why not: a refused password, an unknown CA.
        causes = [one for one in heard if one.code() != KafkaError._ALL_BROKERS_DOWN]
        raise unavailable(options, causes[-1] if causes else error) from error


def unavailable(
    options: StreamOptions, error: KafkaException | KafkaError
) -> Unavailable:
    """``error`` as one of ours."""
    servers = ", ".join(options.bootstrap_servers)
    return Unavailable(f"Kafka at {servers} does not answer: {reason(error)}")


def reason(error: KafkaException | KafkaError) -> str:
    """What librdkafka says, without its frame."""
    inner = error.args[0] if isinstance(error, KafkaException) else error
    return inner.str() if isinstance(inner, KafkaError) else str(inner)


def _create(admin: AdminClient, options: StreamOptions, topics: list[Topic]) -> None:
    if not topics:
        return
    new = [
        NewTopic(
            one.name,
            num_partitions=one.partitions,
            replication_factor=options.replication_factor,
            config=dict(one.settings),
        )
        for one in topics
    ]
    for name, made in admin.create_topics(new, request_timeout=ANSWER_S).items():
        try:
            made.result(ANSWER_S)
            LOG.info("Made the topic %s.", name)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise Refused(
                    f"The topic {name} cannot be made: {reason(error)}. Make it "
                    f"yourself, or correct [stream]."
                ) from error


def _check(admin: AdminClient, topics: list[Topic]) -> None:
    """Raises Refused."""
    if not topics:
        return
    named = {ConfigResource(ConfigResource.Type.TOPIC, one.name): one for one in topics}
    for resource, told in admin.describe_configs(list(named)).items():
        try:
            found = told.result(ANSWER_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise
            LOG.warning("The settings of %s may not be read.", resource.name)
            continue
        topic = named[resource]
        for name, value in topic.settings.items():
            if not set(value.split(",")) <= set(found[name].value.split(",")):
                raise Refused(
                    f"The topic {topic.name} has {name}={found[name].value}, and Gantt "
                    f"needs {name}={value}: change it with kafka-configs."
                )


def _wanted(topic: Topic) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in topic.settings.items())
    return f"{topic.partitions} partitions, {settings or 'no settings of its own'}"
