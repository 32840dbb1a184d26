"""A broker that cannot be reached is told with the reason, and once."""

from __future__ import annotations

import logging

import pytest

from gantt.errors import Unavailable
from gantt.stream.broker_connection import LIBRARY_LOG, ensure
from gantt.stream.options import StreamOptions
from gantt.stream.topics import changes_topic
from tests.kafka_broker import Kafka


@pytest.mark.server("kafka")
def test_what_the_broker_and_we_disagree_about_is_told(
    kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    options = StreamOptions((kafka.servers,), security_protocol="SSL")
    with pytest.raises(Unavailable, match="SSL (handshake failed|connection closed)"):
        ensure(options, [changes_topic(options)])
    assert caplog.records == []


def test_what_the_library_says_of_each_attempt_is_for_debugging(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "gantt.stream.broker_connection")
    LIBRARY_LOG.log(logging.ERROR, "%s: %s", "FAIL", "Connection refused")
    (record,) = caplog.records
    assert record.getMessage() == "FAIL: Connection refused"
    assert record.levelno == logging.DEBUG
