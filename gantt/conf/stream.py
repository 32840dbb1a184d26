"""The options of streams over Kafka, in ``[stream]``.

Separate from the other options because agents read them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from gantt.conf.option_table import rows, values_of
from gantt.errors import Refused
from gantt.stream.options import StreamOptions

OPTIONS: Sequence[cfg.Opt] = [
    *rows(
        StreamOptions(),
        {
            "bootstrap_servers": "HOST:PORT of some of Kafka's brokers, with commas "
            "between. Unset: no streams.",
            "reports_topic": "Compacted topic to which agents send reports of hosts.",
            "dead_letters_topic": "Topic for reports that cannot be applied, each with "
            "the reason.",
            "changes_topic": "Topic to which changes of the books are published; "
            "empty: they are not.",
            "changes_batch 1..10000": "Messages about changes in one transaction; a "
            "revision in more parts is one of its own.",
            "changes_message_bytes 10000..100000000": "Bytes of one message about "
            "changes, unless one row is larger; at most the topic's "
            "max.message.bytes.",
            "changes_snapshot_s 0..31536000": "Seconds until another snapshot of all "
            "rows is published, for readers that begin there; less than the topic's "
            "retention.ms. 0: never, but where the log does not continue the topic.",
            "group_id": "Consumer group of the scheduler's processes; one for each "
            "database.",
            "partitions 1..10000": "Partitions of a topic of reports that Gantt makes: "
            "at most so many processes share it.",
            "replication_factor -1..100": "Replicas of a topic that Gantt makes; -1: "
            "as many as the broker's default.",
            "batch 1..100000": "Maximum reports that a process takes and applies at a "
            "time.",
            "renewal_s 1..86400": "Seconds after which an agent without news repeats "
            "its report.",
            "heartbeat_s 0.3..3600": "Seconds between heartbeats of an agent without "
            "news; at most a third of service_down_time of the scheduler.",
            "topic_per_host": "Agents write to topics of their own, named "
            "REPORTS_TOPIC.HOST, so that access control of Kafka can hold each host to "
            "its name. Processes of the scheduler read these too.",
            "create_topics": "Make topics that are missing.",
            "sasl_mechanism": "SASL mechanism, such as SCRAM-SHA-512.",
            "sasl_username": "User for SASL.",
            "ssl_cafile": "File with the CA certificates of the brokers.",
            "ssl_client_cert_file": "File with the certificate of this client.",
            "ssl_client_key_file": "File with the private key of this client.",
            "security_protocol": "How to talk to the brokers.",
            "sasl_password secret": "Password of sasl_username.",
            "ssl_client_key_password secret": "Password of ssl_client_key_file.",
            "client_properties secret": "Further properties of the Kafka client "
            "(librdkafka), NAME:VALUE with commas between; they go before the other "
            "options.",
        },
    ),
]


def stream_options(group: Any) -> StreamOptions:
    """The values in ``group``. Raises Refused."""
    found = values_of(group, StreamOptions)
    _check_topics(found)
    return found


def _check_topics(options: StreamOptions) -> None:
    """What is written to the others must not be read as reports, and written again.
    Raises Refused."""
    taken = {options.reports_topic: "reports_topic"}
    for option in ("dead_letters_topic", "changes_topic"):
        name = getattr(options, option)
        other = taken.setdefault(name, option) if name else option
        if other != option:
            raise Refused(
                f"{option} and {other} of [stream] are both {name}: give each a name "
                "of its own."
            )
        if options.topic_per_host and options.host_of(name) is not None:
            raise Refused(
                f"{option} of [stream] is {name}, which with topic_per_host is the "
                f"topic of a host: give it a name that does not begin with "
                f"{options.reports_topic}."
            )
