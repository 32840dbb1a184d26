"""``gantt scheduler`` while its RabbitMQ is killed and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gantt.connection import connect
from tests.brokers import Rabbitmq
from tests.live import free_port
from tests.openstack.conductor import conductor, context, instances, spec
from tests.openstack.marks import WARNED_BY_NOVA
from tests.openstack.processes import new_books, scheduler
from tests.openstack.test_processes import Load, asked
from tests.waiting import until

pytestmark = [
    pytest.mark.server("rabbitmq"),
    WARNED_BY_NOVA,
]
THREADS = 4


@pytest.fixture
def broker(rabbitmq: Rabbitmq) -> Iterator[Rabbitmq]:
    """It runs again in the end, for other tests."""
    yield rabbitmq
    if not rabbitmq.is_running:
        rabbitmq.start()


def test_calls_go_on_when_the_broker_is_back(tmp_path: Path, broker: Rabbitmq) -> None:
    books, port = new_books(tmp_path, 20), free_port()
    with (
        conductor(broker.url, timeout_s=4) as api,
        scheduler(
            tmp_path,
            broker.url,
            books,
            "--metrics-listen",
            f"127.0.0.1:{port}",
            workers=2,
        ) as running,
    ):
        until(lambda: asked(port, "/readyz") == (200, "OK"), 30)
        before = running.workers()
        load = Load(api, THREADS)
        load.reach(20)
        broker.kill()
        until(lambda: asked(port, "/readyz")[0] == 503, 15)
        assert "the message bus is not connected" in asked(port, "/readyz")[1]
        assert asked(port, "/livez")[0] == 200
        broker.start()
        until(lambda: asked(port, "/readyz") == (200, "OK"), 40)
        lost = load.outcomes["lost"]
        load.reach(40)
        load.end()
        # Calls that were out when the broker died time out, as oslo.messaging has it;
        # none that is made after its return does.
        assert set(load.outcomes) <= {"placed", "lost"}
        assert load.outcomes["lost"] <= lost + THREADS
        assert running.workers() == before
        for _ in range(10):
            api.select_destinations(context(), spec(), instances(), True, True)
        assert running.stop() == 0
    with closing(connect(books)) as gantt:
        assert all(gantt.get_allocations(uuid) for uuid in load.placed)
        assert len(load.placed) == len(set(load.placed))
        assert gantt.verify().problems == ()
