"""Requests whose payload was damaged: every field of a real one, with odd values.

The caller hears an error that it can make anew, in time and without a traceback.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import oslo_messaging as messaging
import pytest
from nova import exception, objects

import gantt
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.openstack.rpc import faults, methods
from gantt.openstack.rpc.methods import SchedulerMethods
from gantt.openstack.rpc.rpc_server import RpcServer
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from tests.openstack import fleet
from tests.openstack.conductor import (
    MEMORY,
    conductor,
    context,
    instances,
    options,
    raw,
    spec,
)
from tests.openstack.marks import WARNED_BY_NOVA

pytestmark = WARNED_BY_NOVA

Path = tuple[str | int, ...]
LONGEST = 3_000
"""Characters of a fault: what was sent is not sent back."""


def nested(depth: int, key: str | None = None) -> Any:
    """Lists in lists, or objects under ``key``."""
    found: Any = []
    for _ in range(depth):
        found = [found] if key is None else {key: found}
    return found


ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    10**400,
    1.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "a",
    "x" * 70_000,
    "\ud800",
    "\x00",
    "4,^2",
    "0-4000000000",
    "[]",
    "9.9",
    [],
    {},
    [None],
    [[]],
    [{}],
    {"": ""},
    nested(300),
    nested(300, "a"),
    nested(300, "nova_object.data"),
    [1] * 20_000,
    ["x"] * 20_000,
    {f"k{n}": n for n in range(5_000)},
    {"nova_object.name": "Flavor"},
    {"nova_object.data": {}},
    {"nova_object.name": 7, "nova_object.data": 7},
    {"objects": [1]},
)
SPECS = tuple(
    (
        "hw:numa_nodes hw:cpu_policy hw:mem_page_size hw:cpu_realtime_mask "
        "hw:numa_cpus.0 hw:numa_mem.0 hw:cpu_dedicated_mask group_policy "
        "pci_passthrough:alias resources:VCPU resources_X:PCPU trait:X "
        "capabilities:cpu_info:features aggregate_instance_extra_specs:x"
    ).split()
)
WORDS: tuple[Any, ...] = (
    "",
    "x",
    "-1",
    "0",
    "9" * 5_000,
    "0-",
    "0,,1",
    "^0",
    "0-4000000000",
    "1e9",
    "<in> ",
    "<or>",
    "<or> a <or>",
    "== nan",
    ">= 1e999",
    "nan",
    "dedicated",
    "a:-1",
    "a:99999999999",
    "=",
    "\x00",
    "\ud800",
    "(" * 500,
    7,
    None,
    True,
)


def rich() -> dict[str, Any]:
    """The primitive of a request with all parts that a conductor may send."""
    uuid = fleet.uuid_of("group")
    network = {"network_id": uuid, "port_id": None, "tag": None, "pci_request_id": None}
    cell = objects.InstanceNUMACell(
        id=0, cpuset={0, 1}, pcpuset=set(), memory=512, pagesize=None
    )
    asked = spec(
        ignore_hosts=["a"],
        force_hosts=["b", "c"],
        scheduler_hints={"k": ["v"]},
        availability_zone="west",
        flavor={"extra_specs": {"hw:numa_nodes": "1"}},
        image=objects.ImageMeta(
            id=uuid, properties=objects.ImageMetaProps(hw_disk_bus="virtio")
        ),
        numa_topology=objects.InstanceNUMATopology(instance_uuid=uuid, cells=[cell]),
        pci_requests=objects.InstancePCIRequests(
            instance_uuid=uuid,
            requests=[objects.InstancePCIRequest(count=1, spec=[{"vendor_id": "1"}])],
        ),
        requested_destination=objects.Destination(
            host="b", cell=objects.CellMapping(uuid=uuid, name="c", disabled=False)
        ),
        retry=objects.SchedulerRetries(
            num_attempts=2,
            hosts=objects.ComputeNodeList(
                objects=[objects.ComputeNode(hypervisor_hostname="x")]
            ),
        ),
        instance_group=objects.InstanceGroup(
            uuid=uuid, policy="anti-affinity", members=[], hosts=["a"], _rules={}
        ),
        requested_networks=objects.NetworkRequestList(
            objects=[objects.NetworkRequest(**network)]
        ),
        requested_resources=[
            objects.RequestGroup(resources={"VCPU": 1}, required_traits={"A"})
        ],
        request_level_params=objects.RequestLevelParams(
            root_required={"A"}, same_subtree=[["x"]]
        ),
        network_metadata=objects.NetworkMetadata(physnets={"p"}, tunneled=True),
    )
    return as_sent(asked)


def as_sent(asked: Any) -> dict[str, Any]:
    """The primitive of ``asked``, as JSON has it."""
    found: dict[str, Any] = json.loads(json.dumps(asked.obj_to_primitive()))
    return found


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """To each value within ``value``."""
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else pairs:
        yield from paths(one, (*path, key))


def damaged(value: Any, path: Path, odd: Any) -> Any:
    """A copy of ``value`` with ``odd`` at ``path``."""
    found = copy.deepcopy(value)
    at = found
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = odd
    return found


@pytest.fixture
def books() -> Iterator[Gantt]:
    found = gantt.connect("memory://")
    assert isinstance(found, Gantt)
    with found:
        fleet.add_hosts(found, "a", "b", "c", vcpus=100_000)
        yield found


def outcome(scheduler: SchedulerMethods, asked: Any) -> str:
    """The class of the fault that the caller hears; "": hosts."""
    try:
        scheduler.select_destinations({}, None, None, asked, instances(), True, True)
    except messaging.ExpectedException as expected:
        _, fault, _ = expected.exc_info
        assert type(fault).__module__ == "nova.exception"
        assert len(json.dumps([str(fault), fault.kwargs])) < LONGEST
        return type(fault).__name__
    return ""


def test_each_field_with_odd_values_is_refused_by_a_known_error(books: Gantt) -> None:
    scheduler = SchedulerMethods(books, None)
    odd = itertools.cycle(ODD)  # their number and that of the fields have no divisor
    seen = {
        outcome(scheduler, damaged(whole, path, next(odd)))
        for whole in (rich(), as_sent(spec()))
        for path in paths(whole)
        for _ in range(7)
    }
    assert seen == {"", "Invalid", "NoValidHost"}
    assert scheduler.in_flight == 0
    assert books.verify().problems == ()


IN = "nova_object.data"
CELL = (IN, "numa_topology", IN, "cells", 0)
ENTRY = (IN, "pci_requests", IN, "requests", 0)
FITTING = (*DEFAULT_FILTERS, "NUMATopologyFilter", "PciPassthroughFilter")


@pytest.mark.parametrize("filters", [DEFAULT_FILTERS, FITTING])
@pytest.mark.parametrize(
    ("path", "odd", "words"),
    [
        ((*CELL, IN, "memory"), "much", "numa_topology.cells.0.memory must be an int"),
        ((*CELL, IN, "cpuset"), ["x"], "numa_topology.cells.0.cpuset must be an int"),
        ((*CELL, IN, "cpu_policy"), "own", "cells.0.cpu_policy must be one of"),
        ((*CELL, "nova_object.name"), "Flavor", "cells.0 nova_object.name must be"),
        ((*ENTRY, IN, "spec"), {}, "pci_requests.requests.0.spec must be a list"),
        ((*ENTRY, IN, "spec"), [7], "requests.0.spec.0 must be an object, not 7"),
    ],
)
def test_unreadable_cells_and_devices_are_named_whatever_fits_them(
    filters: tuple[str, ...], path: Path, odd: Any, words: str
) -> None:
    chosen = SchedulerOptions(enabled_filters=filters)
    with open_gantt("memory://", EngineOptions(scheduler=chosen)) as found:
        scheduler = SchedulerMethods(found, None)
        with pytest.raises(messaging.ExpectedException) as caught:
            scheduler.select_destinations(
                {}, spec_obj=damaged(rich(), path, odd), instance_uuids=instances()
            )
    _, fault, _ = caught.value.exc_info
    assert isinstance(fault, faults.Invalid)
    assert words in str(fault)


def test_odd_extra_specs_are_refused_by_a_known_error(books: Gantt) -> None:
    scheduler, rng = SchedulerMethods(books, None), random.Random(1)
    seen, whole = set(), as_sent(spec())
    for _ in range(600):
        chosen = {name: rng.choice(WORDS) for name in rng.sample(SPECS, 2)}
        path = ("nova_object.data", "flavor", "nova_object.data", "extra_specs")
        seen.add(outcome(scheduler, damaged(whole, path, chosen)))
    assert seen == {"", "Invalid", "NoValidHost"}


def test_damaged_requests_are_answered_over_the_bus(books: Gantt) -> None:
    """And those after them too."""
    server = RpcServer(books, options(MEMORY), "one", None)
    server.start()
    whole, rng = rich(), random.Random(2)
    every = list(paths(whole))
    try:
        with conductor(MEMORY) as api:
            for _ in range(150):
                asked = damaged(whole, rng.choice(every), rng.choice(ODD))
                arguments = {"spec_obj": asked, "instance_uuids": instances()}
                try:
                    raw("select_destinations", **arguments, return_objects=True)
                except (exception.Invalid, exception.NoValidHost) as known:
                    # The library sends where the fault was raised, and no cause.
                    assert str(known).count("  File ") == 1
            with pytest.raises(exception.Invalid):
                raw("select_destinations", spec_obj=nested(900, "a"))
            found = api.select_destinations(context(), spec(), instances(), True)
            assert found[0][0].service_host in {"a", "b", "c"}
    finally:
        server.drain()


@pytest.mark.parametrize("reader", ["read_spec", "newer_fields"])
def test_a_bug_in_reading_is_told_without_its_traceback(
    books: Gantt, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("secret")

    monkeypatch.setattr(methods, reader, fail)
    scheduler, of = SchedulerMethods(books, None), {"request_id": "req-9"}
    asked = {"spec_obj": as_sent(spec()), "instance_uuids": instances()}
    with pytest.raises(messaging.ExpectedException) as caught:
        scheduler.select_destinations(of, **asked)
    _, fault, _ = caught.value.exc_info
    assert isinstance(fault, faults.NovaException)
    assert "req-9" in str(fault) and "secret" not in str(fault)
    assert fault.__cause__ is None and fault.__suppress_context__
