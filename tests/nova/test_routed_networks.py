"""Nova's own pre-filter of routed networks and ours, asking the same Neutron."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock
from uuid import NAMESPACE_OID, uuid5

import pytest
from nova import context as nova_context
from nova import exception, objects, service_auth
from nova.scheduler import request_filter

from gantt.errors import NoValidHost
from gantt.model.forms.spec import read_spec
from gantt.model.spec import ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request.prefilters.context import PrefilterContext
from gantt.scheduler.request.prefilters.routed_networks import routed_networks
from gantt.scheduler.request.segments import as_listed
from gantt.state.fleet_columns import Fleet
from tests.cloud.neutron import Neutron, neutron
from tests.nova.upstream import CONF
from tests.openstack.test_routed_networks import OPTION, asking

ON = SchedulerOptions(query_placement_for_routed_network_aggregates=True)
Found = list[frozenset[str]] | str


def uuid(name: str) -> str:
    return str(uuid5(NAMESPACE_OID, name))


def cloud(rng: random.Random) -> tuple[dict[str, Any], dict[str, frozenset[str]]]:
    """Networks of all kinds, and the aggregates of their segments."""
    subnets: list[dict[str, Any]] = []
    ports: list[dict[str, Any]] = []
    aggregates: dict[str, frozenset[str]] = {}
    for n in range(4):
        for s in range(rng.randrange(4)):
            segment = uuid(f"segment{n}.{rng.randrange(3)}")
            subnet: dict[str, Any] = {
                "id": uuid(f"subnet{n}.{s}"),
                "network_id": uuid(f"net{n}"),
            }
            if rng.random() < 0.9:
                subnet["segment_id"] = segment if rng.random() < 0.8 else None
            subnets.append(subnet)
            few = rng.choices((0, 1, 2), (1, 6, 3))[0]
            names = (uuid(f"aggregate{rng.randrange(5)}") for _ in range(few))
            aggregates.setdefault(segment, frozenset(names))
    for p in range(4):
        mine = rng.sample(subnets, rng.randrange(min(3, len(subnets) + 1)))
        if rng.random() < 0.1:
            mine = [{"id": uuid("gone")}]
        addresses = [{"subnet_id": one["id"], "ip_address": "::1"} for one in mine]
        network = mine[0].get("network_id") if mine else None
        network = network or uuid(f"net{rng.randrange(4)}")
        port = {"id": uuid(f"port{p}"), "network_id": network, "fixed_ips": addresses}
        ports.append(port)
    return {"subnets": subnets, "ports": ports}, aggregates


def spec(rng: random.Random) -> Any:
    def one() -> dict[str, Any]:
        kind = rng.randrange(3)
        network = uuid(f"net{rng.randrange(5)}")
        if kind == 0:
            return {"network_id": network, "port_id": None}
        port = uuid(f"port{rng.randrange(4)}")
        return {"network_id": network if kind == 1 else None, "port_id": port}

    asked = [objects.NetworkRequest(**one()) for _ in range(rng.randrange(1, 4))]
    return objects.RequestSpec(
        flavor=objects.Flavor(vcpus=1, memory_mb=1, root_gb=1, extra_specs={}),
        requested_networks=objects.NetworkRequestList(objects=asked),
    )


def theirs(request: Any, aggregates: dict[str, frozenset[str]]) -> Found:
    def of(_: Any, segment: str) -> Any:
        return SimpleNamespace(aggregates=aggregates.get(segment, frozenset()))

    books = SimpleNamespace(_get_provider_aggregates=of)
    with mock.patch.object(
        request_filter.report, "report_client_singleton", return_value=books
    ):
        try:
            request_filter.routed_networks_filter(_admin(), request)
        except exception.RequestFilterFailed:
            return "no valid host"
    given = request.requested_destination.aggregates or []
    return [frozenset(one.split(",")) for one in given]


def ours(
    primitive: Any, aggregates: dict[str, frozenset[str]], folder: Path, server: Neutron
) -> Found:
    context = PrefilterContext(Fleet(), ON, bool, as_listed(aggregates))
    with asking(folder, server) as networks:
        asked = networks.with_segments(ScheduleRequest(read_spec(primitive)))
    try:
        place = routed_networks(asked.spec, context).requested_destination
    except NoValidHost:
        return "no valid host"
    return [] if place is None else list(place.aggregates)


def _admin() -> Any:
    return nova_context.RequestContext("user", "project", is_admin=True)


@contextmanager
def nova_asks(url: str) -> Iterator[None]:
    given = {"auth_type": "none", "endpoint_override": url}
    for name, value in given.items():
        CONF.set_override(name, value, "neutron")
    CONF.set_override(OPTION, True, "scheduler")
    service_auth.reset_globals()
    try:
        yield
    finally:
        service_auth.reset_globals()
        CONF.clear_override(OPTION, "scheduler")
        for name in given:
            CONF.clear_override(name, "neutron")


@pytest.mark.parametrize("seed", range(30))
def test_the_same_aggregates_are_required(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    content, aggregates = cloud(rng)
    request = spec(rng)
    primitive = request.obj_to_primitive()
    with neutron(**content) as server, nova_asks(server.url):
        expected = theirs(request, aggregates)
        assert ours(primitive, aggregates, tmp_path, server) == expected
