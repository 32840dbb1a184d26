"""How Kafka is reached, and what goes through it: a frozen value, passed to agents and
schedulers.

Separate from the code that talks to Kafka, which needs confluent-kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct


class StreamOptions(Struct, frozen=True):
    """``bootstrap_servers``: HOST:PORT of some brokers; empty: no streams. The names of
    the security options are those of oslo.messaging. ``client_properties``: of
    librdkafka, in place of what the others say. ``partitions`` and
    ``replication_factor`` (-1: as the broker does) are for topics that are made here.
    ``batch``: reports that a scheduler applies at a time. ``renewal_s``: an agent that
    has no news repeats its report so often; ``heartbeat_s``: and says so often that it
    is there, where reports tell that. ``topic_per_host``: agents write to the topic
    ``reports_topic.HOST``, in which nothing else is believed.
    ``changes_topic`` "": changes are not published. ``changes_batch``: messages about
    changes in one transaction; ``changes_message_bytes``: of one of them, unless one
    row is larger; ``changes_snapshot_s``: seconds until another snapshot of all rows is
    published; 0: none is, but where the log does not continue the topic.
    """

    bootstrap_servers: tuple[str, ...] = ()
    reports_topic: str = "gantt-reports"
    dead_letters_topic: str = "gantt-dead-letters"
    changes_topic: str = "gantt-changes"
    group_id: str = "gantt"
    partitions: int = 12
    replication_factor: int = -1
    batch: int = 1000
    renewal_s: float = 300.0
    heartbeat_s: float = 20.0
    topic_per_host: bool = False
    create_topics: bool = True
    changes_batch: int = 500
    changes_message_bytes: int = 900_000
    changes_snapshot_s: int = 86_400
    security_protocol: Literal["PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL"] = (
        "PLAINTEXT"
    )
    sasl_mechanism: str = ""
    sasl_username: str = ""
    sasl_password: str = ""
    ssl_cafile: str = ""
    ssl_client_cert_file: str = ""
    ssl_client_key_file: str = ""
    ssl_client_key_password: str = ""
    client_properties: Mapping[str, str] = {}

    def topic_of(self, host: str) -> str:
        """Where the agent of ``host`` writes."""
        own = f"{self.reports_topic}.{host}"
        return own if self.topic_per_host else self.reports_topic

    def host_of(self, topic: str) -> str | None:
        """The only host of which something may be in ``topic``; None: any."""
        start = f"{self.reports_topic}."
        return topic[len(start) :] if topic.startswith(start) else None

    @property
    def is_on(self) -> bool:
        """Whether streams are configured."""
        return bool(self.bootstrap_servers)
