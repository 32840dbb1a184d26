"""Small random fleets and sets of flavors, for predictions that are then carried out.

Of all that a decision looks at: plain hosts and trees, a pool that several share, NUMA
cells, zones and aggregates, traits, units and ratios, hosts that are off, filters that
count, server groups, and claims that are there already.
"""

from __future__ import annotations

import random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bench.launching import place
from gantt.model import commands as c
from gantt.model.answers import Inventory
from gantt.model.hosts import HostAggregate, Service
from gantt.model.names import SHARES_VIA_AGGREGATE
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec
from gantt.replay.machines import Machine, SubProvider, build, empty_stats, uuid_of
from gantt.replay.replay_books import ReplayBooks
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.known_drivers import filtering
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from tests.scheduler.small_cells import cell_of

_FAST, _DISK, _PORT = "CUSTOM_FAST", "DISK_GB", "SRIOV_NET_VF"
_RULES = ("anti-affinity", "affinity", "soft-affinity")


class Case(Struct, frozen=True, eq=False):
    """A fleet, what is asked of it, and by what is decided."""

    books: ReplayBooks
    specs: tuple[RequestSpec, ...]
    weights: tuple[float, ...]
    driver: Driver


def case(seed: int) -> Case:
    """The same for the same seed."""
    rng = random.Random(seed)
    has_cells, has_pool = rng.random() < 0.2, rng.random() < 0.25
    machines = [_machine(rng, number, has_pool) for number in range(rng.randint(2, 7))]
    books = build(machines)
    if books.state.traits.find(_FAST) is None:
        books.submit(c.CreateTrait(_FAST))
    for machine in machines:
        if has_cells and rng.random() < 0.7:
            stats = replace(empty_stats(machine), numa_topology=_cells(rng))
            _report(books, machine.name, stats)
    if has_pool:
        _pool(rng, books, machines)
    _aggregates(rng, books, machines)
    for machine in machines:
        if rng.random() < 0.1:
            service = Service(machine.name, disabled=True)
            books.submit(c.UpdateService(service))
    driver = filtering(policy_of(_options(rng, has_cells=has_cells)))
    count = rng.randint(1, 4)
    specs = tuple(_spec(rng, number, has_cells) for number in range(count))
    for number in range(rng.randint(0, 4)):
        place(books, rng.choice(specs), [f"before/{number}"], driver)
    weights = [float(rng.choice((1, 1, 1, 2, 3, 0.5))) for _ in specs]
    return Case(books, specs, tuple(weights), driver)


def _machine(rng: random.Random, number: int, has_pool: bool) -> Machine:
    vcpus, memory_mb = rng.choice((2, 4, 8, 9)), rng.choice((4, 8, 16)) * 1024
    cpus = Inventory(
        vcpus,
        allocation_ratio=rng.choice((1.0, 1.0, 2.0, 1.5)),
        max_unit=rng.choice((vcpus, vcpus, 3)),
        step_size=rng.choice((1, 1, 1, 2)),
        reserved=rng.choice((0, 0, 1)),
    )
    inventories = {"VCPU": cpus, "MEMORY_MB": Inventory(memory_mb)}
    if not has_pool or rng.random() < 0.3:
        inventories[_DISK] = Inventory(rng.choice((30, 50, 100)))
    if rng.random() < 0.3:
        inventories["PCPU"] = Inventory(rng.choice((1, 2, 3)))
    parts = []
    if rng.random() < 0.35:
        for each in range(rng.randint(1, 2)):
            ports = {_PORT: Inventory(rng.choice((1, 2, 4)))}
            traits = (_FAST,) if rng.random() < 0.5 else ()
            parts.append(SubProvider(f"p{each}", ports, traits))
    traits = (_FAST,) if rng.random() < 0.4 else ()
    zone = rng.choice((None, "a", "b"))
    return Machine(f"h{number}", inventories, traits, zone, (), tuple(parts))


def _cells(rng: random.Random) -> dict[str, Any]:
    return {
        "cells": [
            cell_of(
                number,
                [4 * number + cpu for cpu in range(rng.choice((2, 4)))],
                memory=rng.choice((1024, 4096)),
            )
            for number in range(2)
        ]
    }


def _report(books: ReplayBooks, name: str, stats: Any) -> None:
    uuid = uuid_of(name)
    books.submit(c.UpdateHost(name, name, stats, uuid, writes_books=False))


def _pool(rng: random.Random, books: ReplayBooks, machines: list[Machine]) -> None:
    """One pool of disks that some machines share."""
    pool, near = uuid_of("pool"), uuid_of("near")
    books.submit(c.CreateProvider(pool, "pool", None))
    total = Inventory(rng.choice((40, 90, 200)))
    books.submit(c.SetInventories(pool, {_DISK: total}))
    books.submit(c.SetTraits(pool, (SHARES_VIA_AGGREGATE,)))
    books.submit(c.SetAggregates(pool, (near,)))
    for machine in machines:
        if rng.random() < 0.8:
            books.submit(c.SetAggregates(uuid_of(machine.name), (near,)))


def _aggregates(
    rng: random.Random, books: ReplayBooks, machines: list[Machine]
) -> None:
    for name in ("x", "y"):
        hosts = frozenset(one.name for one in machines if rng.random() < 0.4)
        metadata = {"class": name, "max_instances_per_host": rng.choice("23")}
        aggregate = HostAggregate(uuid_of(name), name, None, hosts, metadata)
        books.submit(c.SetHostAggregates((aggregate,)))


def _options(rng: random.Random, *, has_cells: bool) -> SchedulerOptions:
    filters = [*DEFAULT_FILTERS]
    for name in ("NumInstancesFilter", "AggregateNumInstancesFilter"):
        if rng.random() < 0.15:
            filters.append(name)
    if rng.random() < 0.15:
        filters.append("AggregateInstanceExtraSpecsFilter")
    if has_cells:
        filters += ["NUMATopologyFilter", "PciPassthroughFilter"]
    return SchedulerOptions(
        enabled_filters=tuple(filters),
        max_instances_per_host=rng.choice((3, 5)),
        packing=rng.choice(("spread", "spread", "stack")),
    )


def _spec(rng: random.Random, number: int, has_cells: bool) -> RequestSpec:
    extra: dict[str, str] = {}
    if rng.random() < 0.15:
        extra["trait:" + _FAST] = rng.choice(("required", "forbidden"))
    if rng.random() < 0.15:
        extra[f"resources1:{_PORT}"] = "1"
        if rng.random() < 0.5:
            extra[f"resources2:{_PORT}"] = "1"
            extra["group_policy"] = rng.choice(("isolate", "none"))
    if rng.random() < (0.5 if has_cells else 0.2):
        extra["hw:cpu_policy"] = "dedicated"
    if rng.random() < 0.1:
        extra["aggregate_instance_extra_specs:class"] = rng.choice("xy")
    group = None
    if rng.random() < 0.2:
        most = rng.choice((1, 2))
        group = InstanceGroup(uuid_of("group", str(number)), rng.choice(_RULES), most)
    flavor = Flavor(
        vcpus=rng.choice((1, 1, 2, 4)),
        memory_mb=rng.choice((256, 512, 1024, 4096)),
        root_gb=rng.choice((0, 0, 5, 10)),
        name=f"flavor-{number}",
        extra_specs=extra,
    )
    zone = rng.choice((None, None, None, "a"))
    return RequestSpec(flavor, instance_group=group, availability_zone=zone)
