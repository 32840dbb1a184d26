"""Requests for NUMA cells and devices over RPC: what Nova's conductor and computes read
in the answer, and what a request that can never fit is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast
from unittest import mock

import pytest
from nova import exception, objects
from nova.compute.claims import Claim
from nova.objects import base
from nova.pci.stats import PciDeviceStats
from nova.scheduler import utils
from oslo_serialization import jsonutils

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.hosts import HostStats
from gantt.openstack.rpc.methods import NoSource
from gantt.openstack.rpc.rpc_server import RpcServer
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from tests.openstack import fleet
from tests.openstack.conductor import (
    MEMORY,
    conductor,
    context,
    instances,
    options,
    spec,
)
from tests.openstack.marks import WARNED_BY_NOVA

pytestmark = WARNED_BY_NOVA
FILTERS = (*DEFAULT_FILTERS, "NUMATopologyFilter", "PciPassthroughFilter")


@pytest.fixture
def books() -> Iterator[Gantt]:
    scheduler = SchedulerOptions(enabled_filters=FILTERS)
    with open_gantt("memory://", EngineOptions(scheduler=scheduler)) as found:
        server = RpcServer(cast(Any, found), options(MEMORY), "one", NoSource())
        server.start()
        try:
            yield found
        finally:
            server.drain()


@pytest.fixture
def api(books: Gantt) -> Iterator[Any]:
    del books  # it serves
    with conductor() as found:
        yield found


def cell(**fields: Any) -> Any:
    """A NUMA cell of a host: CPUs 0 and 1 are shared, 2 and 3 can be pinned."""
    usual = {
        "id": 0,
        "cpuset": {0, 1},
        "pcpuset": {2, 3},
        "memory": 1024,
        "cpu_usage": 0,
        "memory_usage": 0,
        "pinned_cpus": set(),
        "siblings": [{2}, {3}],
        "mempages": [],
        "socket": 0,
    }
    networks = objects.NetworkMetadata(physnets={"physnet0"}, tunneled=True)
    return objects.NUMACell(network_metadata=networks, **{**usual, **fields})


def topology(*cells: Any) -> str:
    """As Nova's resource tracker writes it."""
    return cast(str, objects.NUMATopology(cells=list(cells))._to_json())


def add_host(books: Gantt, reported: str) -> None:
    fleet.add_hosts(books, "a")
    stats = HostStats(
        numa_topology=reported,
        cpu_allocation_ratio=2.0,
        ram_allocation_ratio=1.5,
    )
    books.update_host("a", "a", stats)


def of_instance(*cpus: int, **fields: Any) -> Any:
    """The topology that Nova's API makes for one cell of vCPUs ``cpus``."""
    usual = {"id": 0, "cpuset": {*cpus}, "pcpuset": set(), "memory": 512}
    one = objects.InstanceNUMACell(**{**usual, "pagesize": None, **fields})
    return objects.InstanceNUMATopology(cells=[one])


def asked(numa_topology: Any, **fields: Any) -> Any:
    flavor = {"vcpus": 2, "extra_specs": {"hw:numa_nodes": "1"}}
    metadata = objects.NetworkMetadata(physnets={"physnet0"}, tunneled=False)
    found = spec(numa_topology=numa_topology, flavor=flavor, **fields)
    found.network_metadata = metadata
    return found


def claimed(instance_topology: Any, reported: str, limits: Any) -> Claim:
    """The claim of Nova's compute. Raises ComputeResourcesUnavailable."""
    instance = objects.Instance(
        uuid=instances()[0], numa_topology=instance_topology, pci_requests=None
    )
    tracker = mock.Mock()
    tracker.pci_tracker.stats = PciDeviceStats(
        objects.NUMATopology(cells=[]), dev_filter=mock.Mock()
    )
    node = objects.ComputeNode(numa_topology=reported)
    requests = objects.InstancePCIRequests(requests=[])
    return Claim(context(), instance, "a", tracker, node, requests, limits=limits)


# -- limits ---------------------------------------------------------------------------


def test_limits_have_the_ratios_and_networks_of_the_host(
    books: Gantt, api: Any
) -> None:
    add_host(books, topology(cell()))
    wanted = of_instance(0, 1)
    ((found,),) = api.select_destinations(context(), asked(wanted), instances(), True)
    limits = found.limits
    assert isinstance(limits, objects.SchedulerLimits)
    assert set(limits.to_dict()) == {"numa_topology"}
    numa = limits.numa_topology
    assert isinstance(numa, objects.NUMATopologyLimits)
    assert (numa.cpu_allocation_ratio, numa.ram_allocation_ratio) == (2.0, 1.5)
    assert isinstance(numa.network_metadata, objects.NetworkMetadata)
    assert numa.network_metadata.physnets == {"physnet0"}
    assert numa.network_metadata.tunneled is False
    # The conductor sends them to the compute, and keeps them for a later attempt.
    serializer = base.NovaObjectSerializer()
    sent = jsonutils.loads(
        jsonutils.dumps(serializer.serialize_entity(context(), limits))
    )
    read = serializer.deserialize_entity(context(), sent)
    assert base.obj_equal_prims(read, limits)
    kept: dict[str, Any] = {}
    utils.populate_filter_properties(kept, found)
    assert kept["limits"] == {"numa_topology": numa}


@pytest.mark.parametrize(("used", "is_free"), [(2, True), (3, False)])
def test_a_compute_claims_within_the_limits(
    books: Gantt, api: Any, used: int, is_free: bool
) -> None:
    """Two shared CPUs at a ratio of 2 take four vCPUs."""
    add_host(books, topology(cell()))
    wanted = of_instance(0, 1)
    ((found,),) = api.select_destinations(context(), asked(wanted), instances(), True)
    now = topology(cell(cpu_usage=used))  # others were started meanwhile
    if is_free:
        claim = claimed(wanted, now, found.limits)
        assert [one.id for one in claim.claimed_numa_topology.cells] == [0]
        return
    with pytest.raises(exception.ComputeResourcesUnavailable):
        claimed(wanted, now, found.limits)
    claimed(wanted, now, objects.SchedulerLimits.from_dict({}))  # it was the limits


def test_alternates_have_limits_too(books: Gantt, api: Any) -> None:
    add_host(books, topology(cell()))
    fleet.add_hosts(books, "b")
    stats = HostStats(numa_topology=topology(cell()), cpu_allocation_ratio=4.0)
    books.update_host("b", "b", stats)
    ((*found,),) = api.select_destinations(
        context(), asked(of_instance(0, 1)), instances(), True, True
    )
    ratios = {
        one.service_host: one.limits.numa_topology.cpu_allocation_ratio for one in found
    }
    assert ratios == {"a": 2.0, "b": 4.0}


def test_requests_without_a_topology_have_no_limits(books: Gantt, api: Any) -> None:
    add_host(books, topology(cell()))
    ((found,),) = api.select_destinations(context(), spec(), instances(), True)
    assert found.limits.to_dict() == {}


def test_without_objects_limits_are_a_dict(books: Gantt) -> None:
    add_host(books, topology(cell()))
    with conductor(version="4.4") as api:
        (found,) = api.select_destinations(
            context(), asked(of_instance(0, 1)), instances()
        )
    numa = found["limits"]["numa_topology"]
    assert isinstance(numa, objects.NUMATopologyLimits)
    assert numa.cpu_allocation_ratio == 2.0


# -- requests that never fit ----------------------------------------------------------


def refused(api: Any, wanted: Any) -> str:
    with pytest.raises(exception.NoValidHost) as caught:
        api.select_destinations(context(), wanted, instances(), True)
    reason: str = caught.value.kwargs["reason"]
    assert caught.value.format_message() == f"No valid host was found. {reason}"
    return reason


NEVER = [
    ({"hw:mem_page_size": "2MB"}, {}, "NUMA node 0 has 513 MB"),
    ({"hw:numa_nodes": "2"}, {}, "hw:numa_nodes=2: 1 vCPUs and 513 MB"),
    (
        {"hw:cpu_policy": "shared"},
        {"hw_cpu_policy": "dedicated"},
        "the flavor says hw:cpu_policy=shared, the image hw_cpu_policy=dedicated",
    ),
    ({}, {"hw_mem_page_size": "2048"}, "hw_mem_page_size='2048'"),
    ({"hw:cpu_thread_policy": "isolate"}, {}, "hw:cpu_thread_policy=isolate"),
]


@pytest.mark.parametrize(("extra_specs", "properties", "words"), NEVER)
def test_what_never_fits_is_told_with_key_and_value(
    books: Gantt,
    api: Any,
    extra_specs: dict[str, str],
    properties: dict[str, str],
    words: str,
) -> None:
    add_host(books, topology(cell()))
    flavor = {"memory_mb": 513, "extra_specs": extra_specs}
    image = objects.ImageMeta(properties=objects.ImageMetaProps(**properties))
    wanted = spec(flavor=flavor, image=image)
    del wanted._obj_numa_topology  # a caller that derives none does not send the field
    assert words in refused(api, wanted)


def test_a_topology_that_contradicts_itself_is_told_with_its_field(
    books: Gantt, api: Any
) -> None:
    add_host(books, topology(cell()))
    wanted = of_instance(0, 1, pagesize=1_048_576)
    said = refused(api, asked(wanted))
    assert "numa_topology.cells.0.pagesize is 1048576 KiB" in said
    assert "512 MB" in said


def test_what_does_not_fit_now_is_not_told(books: Gantt, api: Any) -> None:
    """That is about the hosts, which tenants do not see."""
    add_host(books, topology(cell(pinned_cpus={2})))
    wanted = of_instance(cpuset=set(), pcpuset={0, 1}, cpu_policy="dedicated")
    assert "pinned" not in refused(api, asked(wanted))


def test_contradictions_about_hosts_are_not_told(books: Gantt, api: Any) -> None:
    add_host(books, topology(cell()))
    wanted = spec(force_hosts=["a"], ignore_hosts=["a"])
    assert refused(api, wanted) == ""
