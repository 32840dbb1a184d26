"""A caller that is gone keeps no thread from answering others."""

from __future__ import annotations

import json
import uuid as uuids
from collections.abc import Iterator
from urllib.parse import urlsplit

import amqp
import pytest

from gantt.connection import open_gantt
from gantt.openstack.rpc.rpc_server import RpcServer
from tests.brokers import Rabbitmq
from tests.openstack.conductor import conductor, options, ping
from tests.waiting import until

pytestmark = pytest.mark.server("rabbitmq")

# More than the threads that answer calls.
LOST = 80


@pytest.fixture
def server(rabbitmq: Rabbitmq) -> Iterator[RpcServer]:
    with open_gantt("memory://") as gantt:
        server = RpcServer(gantt, options(rabbitmq.url), "one", None)
        server.start()
        yield server
        server.drain()


@pytest.fixture
def channel(rabbitmq: Rabbitmq) -> Iterator[amqp.Channel]:
    place = urlsplit(rabbitmq.url)
    host = f"{place.hostname}:{place.port}"
    with amqp.Connection(host, place.username, place.password) as connection:
        yield connection.channel()


def ping_of(reply_queue: str) -> amqp.Message:
    """As a conductor sends it that waits at ``reply_queue``."""
    call = {
        "method": "ping",
        "args": {"arg": "x"},
        "namespace": "baseapi",
        "version": "1.1",
        "_unique_id": uuids.uuid4().hex,
        "_msg_id": uuids.uuid4().hex,
        "_reply_q": reply_queue,
        "_timeout": None,
    }
    body = {"oslo.version": "2.0", "oslo.message": json.dumps(call)}
    return amqp.Message(
        json.dumps(body), content_type="application/json", content_encoding="utf-8"
    )


def test_calls_of_a_conductor_that_died_stop_no_others(
    rabbitmq: Rabbitmq, server: RpcServer, channel: amqp.Channel
) -> None:
    for _ in range(LOST):
        channel.basic_publish(ping_of("reply_gone"), "nova", "scheduler")
    until(lambda: server.late.counts()["replies_waiting"] == LOST)
    with conductor(rabbitmq.url):
        assert ping("alive") == {"service": "scheduler", "arg": "alive"}


def test_an_answer_waits_for_its_queue(
    server: RpcServer, channel: amqp.Channel
) -> None:
    channel.basic_publish(ping_of("reply_late"), "nova", "scheduler")
    until(lambda: server.late.counts()["replies_waiting"] == 1)
    channel.queue_declare("reply_late", auto_delete=False)
    until(lambda: server.late.counts()["replies_waiting"] == 0)
    found = channel.basic_get("reply_late", no_ack=True)
    assert '"arg": "x"' in json.loads(found.body)["oslo.message"]
    assert server.late.counts()["replies_given_up"] == 0


def test_an_answer_is_given_up_in_the_end(
    server: RpcServer,
    channel: amqp.Channel,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(
        server._transport._driver, "missing_destination_retry_timeout", 1
    )
    channel.basic_publish(ping_of("reply_gone"), "nova", "scheduler")
    until(lambda: server.late.counts()["replies_given_up"] == 1)
    assert "its reply queue reply_gone is not there" in caplog.text
