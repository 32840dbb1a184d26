"""Claims on cells while Nova writes an instance, and then what it uses."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from gantt.errors import NoValidHost
from gantt.model import rows as t
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.openstack.feed import Feed
from gantt.scheduler.options import DEFAULT_FILTERS
from tests.model.forms.objects import nova
from tests.openstack.feed.conftest import Cloud
from tests.openstack.feed.nova_databases import CellDatabase, now
from tests.waiting import until

FITTING = ("NUMATopologyFilter", "PciPassthroughFilter")
OTHER = "55555555-5555-4555-8555-000000000002"
THIRD = "55555555-5555-4555-8555-000000000003"
SPEC = RequestSpec(
    flavor=Flavor(vcpus=2, memory_mb=64, extra_specs={"hw:cpu_policy": "dedicated"}),
    project_id="p",
    user_id="u",
)


GPU: dict[str, Any] = {"name": "gpu", "vendor_id": "10de", "product_id": "20b5"}
WITH_GPU = RequestSpec(
    flavor=Flavor(
        vcpus=1, memory_mb=64, extra_specs={"pci_passthrough:alias": "gpu:1"}
    ),
    project_id="p",
    user_id="u",
)


def topology(*pinned: int) -> str:
    """One cell of two CPUs, as a compute writes it."""
    data = {
        "id": 0,
        "cpuset": [],
        "pcpuset": [0, 1],
        "pinned_cpus": list(pinned),
        "memory": 1024,
        "memory_usage": 0,
        "cpu_usage": 0,
        "siblings": [],
        "mempages": [],
    }
    cell = {
        "nova_object.name": "NUMACell",
        "nova_object.namespace": "nova",
        "nova_object.version": "1.5",
        "nova_object.data": data,
    }
    return json.dumps(
        {
            "nova_object.name": "NUMATopology",
            "nova_object.namespace": "nova",
            "nova_object.version": "1.2",
            "nova_object.data": {"cells": [cell]},
        }
    )


def devices(free: int) -> str:
    """One pool, as a compute writes it: none of which nothing is free."""
    pool = nova(
        "PciDevicePool",
        "1.1",
        product_id="20b5",
        vendor_id="10de",
        numa_node=0,
        count=free,
        tags={"dev_type": "type-PCI"},
    )
    pools = [pool] if free else []
    return json.dumps(nova("PciDevicePoolList", "1.1", objects=pools))


class Host:
    """A compute, its rows, and the Gantt that is fed."""

    def __init__(self, cloud: Cloud, pci_stats: str | None = None) -> None:
        self.books = cloud.new_books(
            enabled_filters=(*DEFAULT_FILTERS, *FITTING),
            pci_alias=(GPU,),
        )
        self.rows: CellDatabase = cloud.cell("one")
        self.key = self.rows.node("h1", numa_topology=topology(), pci_stats=pci_stats)
        self.rows.service("h1", version=72)
        self.instance, self.uuid = self.rows.instance(None)
        self.feed: Feed = cloud.idle_feed(self.books)
        self.feed.start()

    def schedule(self, uuid: str, spec: RequestSpec = SPEC) -> None:
        self.books.schedule(ScheduleRequest(spec, (uuid,)))

    def pending(self) -> list[tuple[str, bool]]:
        """Instances with a claim, and whether the host has named them since."""
        rows = self.books.read(lambda state: list(state.rows(t.BOOKINGS)))
        return [
            (row.instance_uuid, row.counted_at is not None)
            for row in rows
            if isinstance(row, t.BookingRow)
        ]

    def counted(self) -> list[str]:
        """Instances that the report contains, though their claims have not ended."""
        rows = self.books.read(lambda state: list(state.rows(t.BOOKINGS)))
        return [
            row.instance_uuid
            for row in rows
            if isinstance(row, t.BookingRow) and row.is_counted
        ]

    def save(self, at: datetime, *pinned: int, **values: Any) -> None:
        """The compute writes its row."""
        self.rows.change(
            "compute_nodes",
            self.key,
            numa_topology=topology(*pinned),
            updated_at=at,
            **values,
        )

    def reported(self, name: str) -> Any:
        (found,) = self.books.list_hosts(host="h1")
        return found.stats[name]


def test_claim_stands_between_the_two_rows_that_nova_writes(cloud: Cloud) -> None:
    host = Host(cloud)
    host.schedule(host.uuid)
    assert host.pending() == [(host.uuid, False)]
    at = now() + timedelta(seconds=1)
    host.rows.change("instances", host.instance, host="h1", updated_at=at)
    until(lambda: host.pending() == [(host.uuid, True)])
    # Nova stops here: the instance is there, and its CPUs are in no report.
    with pytest.raises(NoValidHost):
        host.schedule(OTHER)
    # A row of the same second may be older than the instance's.
    host.save(at, vcpus_used=1)
    until(lambda: host.reported("vcpus_used") == 1)
    assert host.pending() == [(host.uuid, True)]
    with pytest.raises(NoValidHost):
        host.schedule(OTHER)
    host.save(at + timedelta(seconds=1), 0, 1, vcpus_used=2)
    until(lambda: host.pending() == [])
    with pytest.raises(NoValidHost):
        host.schedule(OTHER)
    # Deleted, and written so: the CPUs are free.
    host.rows.soft_delete("instances", host.instance)
    host.save(at + timedelta(seconds=2), vcpus_used=0)
    until(lambda: host.reported("vcpus_used") == 0)
    host.schedule(OTHER)


def test_claim_of_an_instance_that_left_stands_until_the_host_writes_again(
    cloud: Cloud,
) -> None:
    """Its row alone does not tell whether it was deleted, or is resized elsewhere and
    may come back."""
    host = Host(cloud)
    host.schedule(host.uuid)
    at = now() + timedelta(seconds=1)
    host.rows.change("instances", host.instance, host="h1", updated_at=at)
    until(lambda: host.pending() == [(host.uuid, True)])
    host.rows.soft_delete("instances", host.instance)
    until(lambda: host.books.read(lambda state: not state.fleet.instances.by_uuid))
    assert host.pending() == [(host.uuid, True)]
    host.save(at + timedelta(seconds=2))
    until(lambda: host.pending() == [])
    host.schedule(OTHER)


def test_the_second_device_is_given_while_the_first_server_builds(
    cloud: Cloud,
) -> None:
    """Nova's order of events: at the compute's claim the instance's row and then the
    compute's own, within a second; then the instance's again and again until it runs;
    the compute's own comes next a minute later."""
    host = Host(cloud, devices(2))
    host.schedule(host.uuid, WITH_GPU)
    at = now() + timedelta(seconds=1)
    host.rows.change("instances", host.instance, host="h1", updated_at=at)
    host.save(at, pci_stats=devices(1))
    building = at + timedelta(seconds=3)
    host.rows.change("instances", host.instance, updated_at=building)
    until(lambda: host.counted() == [host.uuid])
    host.schedule(OTHER, WITH_GPU)
    with pytest.raises(NoValidHost):
        host.schedule(THIRD, WITH_GPU)
    until(lambda: host.pending() == [(host.uuid, True), (OTHER, False)])
    host.save(at + timedelta(seconds=60), pci_stats=devices(1), vcpus_used=1)
    until(lambda: host.pending() == [(OTHER, False)])
    with pytest.raises(NoValidHost):
        host.schedule(THIRD, WITH_GPU)


def test_the_last_cpus_are_given_while_the_first_server_builds(cloud: Cloud) -> None:
    host = Host(cloud)
    small = RequestSpec(
        flavor=Flavor(
            vcpus=1, memory_mb=64, extra_specs={"hw:cpu_policy": "dedicated"}
        ),
        project_id="p",
        user_id="u",
    )
    host.schedule(host.uuid, small)
    at = now() + timedelta(seconds=1)
    host.rows.change("instances", host.instance, host="h1", updated_at=at)
    host.save(at, 0)
    until(lambda: host.counted() == [host.uuid])
    host.schedule(OTHER, small)
    with pytest.raises(NoValidHost):
        host.schedule(THIRD, small)


@pytest.mark.parametrize(
    "fields",
    [
        {"memory_usage": 4096},
        {"mempages": [{"size_kb": 4, "total": 999_999}]},
        {
            "mempages": [
                {"size_kb": 4, "total": 99_999},
                {"size_kb": 2048, "total": 1, "used": 2},
            ]
        },
        {"pinned_cpus": [7]},
        {"siblings": [[0]]},
    ],
    ids=["memory", "pages", "used", "pinned", "siblings"],
)
def test_a_row_that_contradicts_itself_is_read_as_far_as_it_goes(
    cloud: Cloud, fields: dict[str, Any]
) -> None:
    host = Host(cloud)
    row = json.loads(topology())
    (cell,) = row["nova_object.data"]["cells"]
    pages = fields.get("mempages", ())
    fields = {
        **fields,
        "mempages": [nova("NUMAPagesTopology", "1.1", **one) for one in pages],
    }
    cell["nova_object.data"].update(fields)
    host.rows.change(
        "compute_nodes",
        host.key,
        numa_topology=json.dumps(row),
        vcpus_used=1,
        updated_at=now() + timedelta(seconds=1),
    )
    until(lambda: host.reported("vcpus_used") == 1)
    if "memory_usage" in fields:
        # All is used, and more: none is pinned there, and it says so.
        with pytest.raises(NoValidHost):
            host.schedule(host.uuid)
    else:
        host.schedule(host.uuid)


def test_a_refusal_says_that_the_row_could_not_be_read(cloud: Cloud) -> None:
    host = Host(cloud)
    row = json.loads(topology())
    (cell,) = row["nova_object.data"]["cells"]
    row["nova_object.data"]["cells"] = [cell, cell]
    host.rows.change(
        "compute_nodes",
        host.key,
        numa_topology=json.dumps(row),
        updated_at=now() + timedelta(seconds=1),
    )
    until(lambda: host.reported("numa_topology") is None)
    with pytest.raises(NoValidHost) as refused:
        host.schedule(host.uuid)
    words = _told(refused.value)
    assert "its numa_topology cannot be read, and counts as unknown" in words
    assert "cells.1.id is 0, as of another cell" in words


def _told(refused: NoValidHost) -> str:
    """All that the explanation says."""
    return str(msgspec.to_builtins(refused.why))
