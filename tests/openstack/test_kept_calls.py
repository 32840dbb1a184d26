"""A call stays at the broker until it is answered."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import amqp
import pytest
from nova.baserpc import BaseAPI
from oslo_messaging import MessagingTimeout

from gantt.connection import open_gantt
from gantt.openstack.rpc.methods import LifeSigns
from gantt.openstack.rpc.rpc_server import RpcServer
from tests.brokers import Rabbitmq
from tests.openstack.conductor import conductor, context, options
from tests.openstack.test_late_replies import ping_of
from tests.waiting import until

pytestmark = pytest.mark.server("rabbitmq")
REPLIES = "reply_kept"


class Held:
    """A ping is answered once it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.came = threading.Event()
        self.go = threading.Event()
        monkeypatch.setattr(LifeSigns, "ping", self._ping)

    def _ping(self, context: Any, arg: Any) -> Any:
        del context
        self.came.set()
        assert self.go.wait(30)
        return arg


@pytest.fixture
def channel(rabbitmq: Rabbitmq) -> Iterator[amqp.Channel]:
    place = urlsplit(rabbitmq.url)
    host = f"{place.hostname}:{place.port}"
    with amqp.Connection(host, place.username, place.password) as connection:
        channel = connection.channel()
        channel.queue_declare(REPLIES, auto_delete=False)
        yield channel
        channel.queue_delete(REPLIES)


def is_kept(rabbitmq: Rabbitmq) -> bool:
    """Whether the broker would deliver a call again if its process died."""
    return calls(rabbitmq, "messages_unacknowledged") == "1"


def calls(rabbitmq: Rabbitmq, which: str) -> str | None:
    """How many the broker has."""
    said = rabbitmq.control(
        f"rabbitmqctl -q list_queues --no-table-headers name {which}"
    )
    return dict(line.split("\t") for line in said.splitlines()).get("scheduler")


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    found = Held(monkeypatch)
    yield found
    found.go.set()


def started(rabbitmq: Rabbitmq, gantt: Any, host: str) -> RpcServer:
    server = RpcServer(gantt, options(rabbitmq.url), host, None)
    server.start()
    return server


def answers(channel: amqp.Channel) -> int:
    return int(channel.queue_declare(REPLIES, passive=True).message_count)


def test_it_is_acknowledged_once_it_is_answered(
    rabbitmq: Rabbitmq, channel: amqp.Channel, held: Held
) -> None:
    with open_gantt("memory://") as gantt:
        server = started(rabbitmq, gantt, "one")
        channel.basic_publish(ping_of(REPLIES), "nova", "scheduler")
        assert held.came.wait(30)
        assert is_kept(rabbitmq)
        held.go.set()
        until(lambda: answers(channel) == 1)
        server.drain()
        # The last one, too: another process finds nothing that was answered.
        held.came.clear()
        started(rabbitmq, gantt, "two").drain()
        assert not held.came.is_set()
        assert answers(channel) == 1


def test_one_that_is_sent_twice_is_answered_once_and_does_not_stay(
    rabbitmq: Rabbitmq, channel: amqp.Channel, held: Held
) -> None:
    """Its caller lost the connection, and does not know whether it was sent."""
    with open_gantt("memory://") as gantt:
        server = started(rabbitmq, gantt, "one")
        call = ping_of(REPLIES)
        for _ in range(2):
            channel.basic_publish(call, "nova", "scheduler")
        assert held.came.wait(30)
        held.go.set()
        until(lambda: answers(channel) == 1)
        until(lambda: calls(rabbitmq, "messages") == "0")
        server.drain()
        assert answers(channel) == 1


def test_one_that_came_back_is_acknowledged_first(
    rabbitmq: Rabbitmq, channel: amqp.Channel, held: Held
) -> None:
    """Whatever it does to who answers it, it does no third time."""
    with open_gantt("memory://") as gantt:
        started(rabbitmq, gantt, "one").drain()  # makes the queue
        channel.basic_publish(ping_of(REPLIES), "nova", "scheduler")
        taken = channel.connection.channel()
        until(lambda: taken.basic_get("scheduler") is not None)
        taken.close()
        server = started(rabbitmq, gantt, "two")
        assert held.came.wait(30)
        assert not is_kept(rabbitmq)
        held.go.set()
        until(lambda: answers(channel) == 1)
        server.drain()


def test_one_whose_caller_gave_up_does_not_come_back(
    rabbitmq: Rabbitmq, channel: amqp.Channel
) -> None:
    """However late its process dies: the broker keeps a call for as long as its caller
    waits, and none that was delivered before for longer."""
    with open_gantt("memory://") as gantt:
        started(rabbitmq, gantt, "one").drain()  # makes the queue
    taken = channel.connection.channel()
    with conductor(rabbitmq.url), ThreadPoolExecutor() as pool:
        asked = pool.submit(
            lambda: BaseAPI("scheduler").ping(context(), "late", timeout=3)
        )
        until(lambda: taken.basic_get("scheduler") is not None)
        assert is_kept(rabbitmq)
        with pytest.raises(MessagingTimeout):
            asked.result(30)
    taken.close()
    until(lambda: calls(rabbitmq, "messages") == "0")
