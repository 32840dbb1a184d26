"""Claims on cells while Nova writes an instance, and then what it uses."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from gantt.errors import NoValidHost
from gantt.model import rows as t
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.openstack.feed import Feed
from gantt.scheduler.options import DEFAULT_FILTERS
from tests.openstack.feed.conftest import Cloud
from tests.openstack.feed.nova_databases import CellDatabase, now
from tests.openstack.feed.waiting import until

OTHER = "55555555-5555-4555-8555-000000000002"
SPEC = RequestSpec(
    flavor=Flavor(vcpus=2, memory_mb=64, extra_specs={"hw:cpu_policy": "dedicated"}),
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


class Host:
    """A compute, its rows, and the Gantt that is fed."""

    def __init__(self, cloud: Cloud) -> None:
        self.books = cloud.new_books(
            enabled_filters=(*DEFAULT_FILTERS, "NUMATopologyFilter")
        )
        self.rows: CellDatabase = cloud.cell("one")
        self.key = self.rows.node("h1", numa_topology=topology(), pci_stats=None)
        self.rows.service("h1", version=72)
        self.instance, self.uuid = self.rows.instance(None)
        self.feed: Feed = cloud.idle_feed(self.books)
        self.feed.start()

    def schedule(self, uuid: str) -> None:
        self.books.schedule(ScheduleRequest(SPEC, (uuid,)))

    def pending(self) -> list[tuple[str, bool]]:
        """Instances with a claim, and whether the host has named them since."""
        rows = self.books.read(lambda state: list(state.rows(t.CLAIMS)))
        return [
            (row.instance_uuid, row.counted_at is not None)
            for row in rows
            if isinstance(row, t.ClaimRow)
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
