"""``gantt scheduler`` on a RabbitMQ, with a Neutron that it asks for segments."""

from __future__ import annotations

import signal
import uuid as uuids
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from nova import exception, objects

from gantt.connection import connect
from gantt.model.selection import Decision
from tests.brokers import Rabbitmq
from tests.cloud.neutron import Neutron, neutron
from tests.live import free_port
from tests.openstack import fleet
from tests.openstack.conductor import conductor, context, instances, spec
from tests.openstack.marks import ON_RABBITMQ
from tests.openstack.processes import new_books, scheduler
from tests.openstack.test_processes import asked
from tests.openstack.test_routed_networks import OPTION, options_for
from tests.waiting import until

pytestmark = ON_RABBITMQ

NET, EMPTY, PORT, SUBNET = (str(uuids.uuid4()) for _ in range(4))
RACKS = [str(uuids.uuid4()) for _ in range(2)]
SEGMENTS = [str(uuids.uuid4()) for _ in range(3)]


@pytest.fixture
def server() -> Iterator[Neutron]:
    subnets = [
        {"id": SUBNET, "network_id": NET, "segment_id": SEGMENTS[0]},
        {"id": str(uuids.uuid4()), "network_id": NET, "segment_id": SEGMENTS[1]},
        {"id": str(uuids.uuid4()), "network_id": EMPTY, "segment_id": SEGMENTS[2]},
    ]
    port = {"id": PORT, "network_id": NET, "fixed_ips": [{"subnet_id": SUBNET}]}
    with neutron(subnets=subnets, ports=[port]) as found:
        yield found


@pytest.fixture
def books(tmp_path: Path) -> str:
    """Host 0 reaches the first segment, host 1 the second, others none; the third
    segment has no aggregate."""
    url = new_books(tmp_path, 6)
    with closing(connect(url)) as gantt:
        for number, (segment, rack) in enumerate(zip(SEGMENTS, RACKS, strict=False)):
            gantt.create_provider(f"segment{number}", uuid=segment)
            for uuid in (segment, fleet.uuid_of(f"host{number}")):
                generation = gantt.get_aggregates(uuid).generation
                gantt.set_aggregates(uuid, (rack,), generation=generation)
    return url


def on(**network: Any) -> Any:
    """A request for an instance on one network, as conductors make it."""
    network = {"pci_request_id": None, "tag": None, "address": None, **network}
    listed = objects.NetworkRequestList(objects=[objects.NetworkRequest(**network)])
    return spec(requested_networks=listed)


def test_instances_are_placed_where_their_networks_are(
    tmp_path: Path, rabbitmq: Rabbitmq, server: Neutron, books: str
) -> None:
    port, more = free_port(), options_for(server.url)
    with (
        conductor(rabbitmq.url) as api,
        scheduler(
            tmp_path,
            rabbitmq.url,
            books,
            "--metrics-listen",
            f"127.0.0.1:{port}",
            more=more,
        ) as running,
    ):

        def host(request: Any, request_id: str | None = None) -> str:
            (uuid,) = instances()
            ((chosen, *_),) = api.select_destinations(
                context(request_id), request, [uuid], True, True
            )
            return str(chosen.service_host)

        def refused(request: Any, request_id: str) -> None:
            with pytest.raises(exception.NoValidHost) as caught:
                host(request, request_id)
            assert caught.value.kwargs == {"reason": "", "code": 500}

        found = {host(on(network_id=NET)) for _ in range(8)}
        assert found == {"host0", "host1"}
        assert {host(on(network_id=NET, port_id=PORT)) for _ in range(4)} == {"host0"}
        refused(on(network_id=EMPTY), "req-empty")
        refused(on(port_id=str(uuids.uuid4())), "req-lost")
        server.status = 503
        refused(on(port_id=PORT), "req-away")
        running.wait_for("Neutron is away: Neutron answered 503")

        records = {one: recorded(books, one) for one in ("empty", "lost", "away")}
        assert f"segment {SEGMENTS[2]} of network" in str(records["empty"].failure)
        assert "Neutron does not know ports/" in str(records["lost"].failure)
        assert "Neutron did not answer" in str(records["away"].failure)

        until(
            lambda: "gantt_neutron_failures_total 2.0" in asked(port, "/metrics")[1], 30
        )
        assert "gantt_neutron_requests_total 15.0" in asked(port, "/metrics")[1]

        conf = tmp_path / "one.conf"
        conf.write_text(conf.read_text().replace(f"{OPTION} = true", ""))
        running.send(signal.SIGHUP)
        running.wait_for("SIGHUP: reloaded the configuration")
        assert {host(on(network_id=EMPTY)) for _ in range(2)}
        conf.write_text(
            conf.read_text().replace("[scheduler]", f"[scheduler]\n{OPTION}=1")
        )
        running.send(signal.SIGHUP)
        running.wait_for("SIGHUP: reloaded the configuration", 2)
        refused(on(network_id=EMPTY), "req-again")
        assert running.stop() == 0


def recorded(books: str, name: str) -> Decision:
    """What operators see of a refusal."""
    found: list[Decision] = []

    def is_there() -> bool:
        with closing(connect(books)) as gantt:
            found[:] = gantt.decisions(request_id=f"req-{name}")
        return bool(found)

    until(is_there, 30)
    return found[0]


def test_a_section_that_cannot_sign_in_stops_the_start(
    tmp_path: Path, rabbitmq: Rabbitmq, books: str
) -> None:
    with (
        pytest.raises(AssertionError, match=r"\[neutron\] does not say how to sign in"),
        scheduler(
            tmp_path, rabbitmq.url, books, more=f"[scheduler]\n{OPTION} = true\n"
        ),
    ):
        pass
