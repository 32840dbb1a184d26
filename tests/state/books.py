"""A small State with one of everything, made of plain changes."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.rows import (
    AllocationRow,
    BookingRow,
    ConsumerRow,
    FactRow,
    HostAggregateRow,
    HostRow,
    InstanceRow,
    InventoryRow,
    LinkRow,
    NameRow,
    ProviderRow,
    Row,
    ServerGroupRow,
    ServiceRow,
    key_of,
)
from gantt.model.topology import Wanted
from gantt.state.fleet_tables import COMPUTE
from gantt.state.state import State
from gantt.topology.promised_topology import PromisedTopology, to_text

REPORT = json.dumps(
    {
        "vcpus": 64,
        "vcpus_used": 4,
        "memory_mb": 2048,
        "memory_mb_used": 512,
        "local_gb": 100,
        "free_disk_gb": 80,
        "disk_available_least": 70,
        "cpu_info": {"arch": "x86_64", "features": [f"feature{n}" for n in range(9)]},
        "stats": {"num_instances": "3", "io_workload": 1, "failed_builds": "2"},
        "pci_stats": [{"count": 2}, {"count": 1}, {"count": 0}],
        "cpu_allocation_ratio": 4.0,
        "hypervisor_version": 8_002_000,
        "metrics": [{"name": "cpu.percent", "value": 0.5}],
    }
)


def service(number: int, host: str, binary: str = COMPUTE, **facts: Any) -> ServiceRow:
    empty = ServiceRow(number, host, binary, False, False, *(None,) * 4, 1, None)
    return replace(empty, **facts)


def fact(number: int, kind: str, subject: str, **facts: Any) -> FactRow:
    empty = FactRow(number, kind, subject, False, False, None, None, 1, None)
    return replace(empty, **facts)


def aggregate(number: int, /, *hosts: str, **facts: Any) -> HostAggregateRow:
    named = json.dumps(sorted(hosts))
    plain = HostAggregateRow(
        id=number,
        uuid=f"aggregate-{number}",
        name="a",
        number=number,
        hosts=named,
        metadata="{}",
        created_at=1,
        updated_at=None,
    )
    return replace(plain, **facts)


def group(number: int, *members: str) -> ServerGroupRow:
    named = json.dumps(sorted(members))
    return ServerGroupRow(number, f"group-{number}", "g", "affinity", 1, named, 1, None)


def claim(number: int, instance: str, host: int, **facts: Any) -> BookingRow:
    amounts = (2, 256, 10_240)
    plain = BookingRow(
        number, "claim", instance, host, *amounts, None, None, None, None, 1, None
    )
    return replace(plain, **facts)


ROWS: tuple[tuple[str, Row], ...] = (
    (t.RESOURCE_CLASSES, NameRow(0, "VCPU", 1, None)),
    (t.RESOURCE_CLASSES, NameRow(10_000, "CUSTOM_A", 1, None)),
    (t.TRAITS, NameRow(1, "HW_CPU_X86_AVX", 1, None)),
    (t.TRAITS, NameRow(2, "CUSTOM_T", 1, None)),
    (t.AGGREGATES, NameRow(1, "agg", 1, None)),
    (t.PROJECTS, NameRow(1, "project", 1, None)),
    (t.USERS, NameRow(1, "user", 1, None)),
    (t.CONSUMER_TYPES, NameRow(1, "INSTANCE", 1, None)),
    (t.PROVIDERS, ProviderRow(1, "root", "r", 0, 1, None, 1, None)),
    (t.PROVIDERS, ProviderRow(2, "child", "c", 0, 1, 1, 1, None)),
    (t.PROVIDERS, ProviderRow(3, "grandchild", "g", 0, 1, 2, 1, None)),
    (t.PROVIDERS, ProviderRow(4, "other", "o", 0, 4, None, None, None)),
    (t.CONSUMERS, ConsumerRow(1, "alice", 1, 1, 1, 1, 1, None)),
    (t.CONSUMERS, ConsumerRow(2, "bob", 1, 1, 1, None, 1, None)),
    (t.INVENTORIES, InventoryRow(1, 1, 0, 8, 0, 1, 8, 1, 2.0, 1, None)),
    (t.INVENTORIES, InventoryRow(2, 4, 0, 8, 2, 1, 8, 1, 1.0, 1, None)),
    (t.INVENTORIES, InventoryRow(3, 1, 10_000, 5, 0, 1, 5, 1, 1.0, 1, None)),
    (t.ALLOCATIONS, AllocationRow(1, 1, "alice", 0, 3, 1, None)),
    (t.ALLOCATIONS, AllocationRow(2, 4, "alice", 0, 2, 1, None)),
    (t.ALLOCATIONS, AllocationRow(3, 1, "bob", 0, 4, 1, None)),
    (t.PROVIDER_TRAITS, LinkRow(1, 1, None, None)),
    (t.PROVIDER_TRAITS, LinkRow(2, 2, None, None)),
    (t.PROVIDER_AGGREGATES, LinkRow(1, 1, None, None)),
    (t.SERVICES, service(1, "h1", cell_uuid="cell", last_seen_up=5)),
    (t.SERVICES, service(2, "h2", "nova-conductor")),
    (t.FACTS, fact(13, "cell", "cell", at=5)),
    (t.FACTS, fact(14, "operator", "h2", disabled=True, reason="broken")),
    (t.HOSTS, HostRow(1, "h1", "n1", "root", REPORT, 1, None)),
    (t.HOSTS, HostRow(2, "h2", "n2", None, "{}", None, None)),
    (t.HOST_AGGREGATES, aggregate(1, "h1", "h9")),
    (t.INSTANCES, InstanceRow(1, "alice", "h1", "{}", 1, None)),
    (t.SERVER_GROUPS, group(1, "alice")),
    (
        t.BOOKINGS,
        claim(
            number=1,
            instance="bob",
            host=1,
            group_uuid="group-1",
            leased_until=99,
            topology=to_text(PromisedTopology(Wanted())),
            counted_at=98,
        ),
    ),
)


def changes() -> list[Change]:
    return [Change(table, key_of(row), None, row) for table, row in ROWS]


def filled() -> State:
    state = State()
    state.apply(changes(), Cursor(1, "b"))
    return state
