"""How a client of Kafka stands: whether brokers answer, and how far it is behind.

Separate because it is read by other threads, for metrics and ``/readyz``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

import msgspec
from confluent_kafka import KafkaError
from msgspec import Struct

LOG = logging.getLogger(__name__)
_UP: Final = frozenset({"UP", "UPDATE"})


class _Broker(Struct):
    state: str = ""


class _Partition(Struct):
    fetch_state: str = ""
    consumer_lag: int = -1


class _Topic(Struct):
    partitions: dict[str, _Partition] = {}


class _Statistics(Struct):
    brokers: dict[str, _Broker] = {}
    topics: dict[str, _Topic] = {}


_decode: Final = msgspec.json.Decoder(_Statistics).decode


class ClientStatus:
    """How a client stands, by librdkafka's statistics and the errors of its caller."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._silent_since: float | None = None
        self._trouble = self._noted = ""
        self.lag = 0

    def told(self, statistics: str) -> None:
        """What librdkafka says of itself, as JSON."""
        found = _decode(statistics)
        if any(one.state in _UP for one in found.brokers.values()):
            self._answered()
        else:
            self.failed(self._noted or "no broker answers")
        lags = [
            partition.consumer_lag
            for topic in found.topics.values()
            for partition in topic.partitions.values()
            if partition.fetch_state == "active" and partition.consumer_lag >= 0
        ]
        self.lag = sum(lags)

    def noted(self, error: KafkaError) -> None:
        """What librdkafka met; it goes on by itself."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._noted = error.str()

    def failed(self, trouble: str) -> None:
        """Nothing goes on, because of ``trouble``."""
        if self._silent_since is None:
            self._silent_since = self._now()
            LOG.error("Kafka: %s", trouble)
        self._trouble = trouble

    def silence_s(self) -> float:
        """For how long nothing goes on; 0: it does."""
        since = self._silent_since
        return 0.0 if since is None else self._now() - since

    def notice(self) -> str:
        """For operators; "": nothing."""
        if self._silent_since is None:
            return ""
        return (
            f"reports from Kafka have waited for {self.silence_s():.0f} s: "
            f"{self._trouble}"
        )

    def _answered(self) -> None:
        if self._silent_since is not None:
            LOG.warning("Kafka answers again after %.0f s.", self.silence_s())
        self._silent_since = None
        self._trouble = self._noted = ""
