"""A host as filters and weighers written for Nova see it: like its HostState.

Each field is made when it is first read, because a plug-in reads two or three of thirty
and there may be thousands of hosts.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from msgspec import json

from gantt.scheduler.feasibility.image_triples import canonical
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.nova_object import LegacyList, LegacyObject, unpacked
from gantt.scheduler.scoring.weighers.metrics import PERCENTAGES
from gantt.state.column import time_out
from gantt.state.fleet_tables import COMPUTE


class LegacyHosts:
    """Makes the views of one call; what hosts share is made once."""

    def __init__(self, hosts: Hosts, options: SchedulerOptions) -> None:
        self.hosts = hosts
        self.options = options
        self._aggregates: dict[str, LegacyObject] = {}

    def all(self) -> list[LegacyHost]:
        """A view of every host, by place."""
        return [LegacyHost(self, place) for place in range(len(self.hosts))]

    def aggregates_of(self, host: str) -> list[LegacyObject]:
        return [
            self._aggregate(uuid) for uuid in self.hosts.fleet.aggregates.of_host(host)
        ]

    def _aggregate(self, uuid: str) -> LegacyObject:
        found = self._aggregates.get(uuid)
        if found is None:
            known = self.hosts.fleet.aggregates
            row, metadata = known.by_uuid[uuid], dict(known.metadata[uuid])
            found = self._aggregates[uuid] = LegacyObject(
                id=row.number,
                uuid=uuid,
                name=row.name,
                hosts=sorted(known.hosts[uuid]),
                metadata=metadata,
                availability_zone=metadata.get("availability_zone"),
            )
        return found


class LegacyHost:
    """Fields are those of Nova's HostState; what a plug-in sets stays in this view."""

    limits: dict[str, Any]

    def __init__(self, views: LegacyHosts, place: int) -> None:
        self._views = views
        self._place = place
        self._row = int(views.hosts.rows[place])
        self.limits = {}
        self.allocation_candidates: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        # Only what is not there yet comes here.
        make = FIELDS.get(name)
        if make is None:
            raise AttributeError(f"a host has no {name}")
        value = make(self)
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        return (
            f"({self.host}, {self.nodename}) ram: {self.free_ram_mb}MB "
            f"disk: {self.free_disk_mb}MB io_ops: {self.num_io_ops} "
            f"instances: {self.num_instances}"
        )

    @property
    def report(self) -> dict[str, Any]:
        return self._views.hosts.fleet.hosts.stats[self._row]

    def column(self, name: str) -> int:
        """A number that the columns have, net of claims and picks."""
        return int(getattr(self._views.hosts, name)[self._place])

    def listed(self, name: str) -> Any:
        """What the table of hosts has in the list ``name``."""
        return getattr(self._views.hosts.fleet.hosts, name)[self._row]


def _column(name: str) -> Callable[[LegacyHost], Any]:
    return lambda host: host.column(name)


def _listed(name: str) -> Callable[[LegacyHost], Any]:
    return lambda host: host.listed(name)


def _reported(name: str) -> Callable[[LegacyHost], Any]:
    return lambda host: host.report.get(name)


def _cpu_info(host: LegacyHost) -> str | None:
    found = host.report.get("cpu_info")
    # Nova's scheduler has the text of the column, and its filters parse it.
    if found is None or isinstance(found, str):
        return found
    return json.encode(found).decode()


def _numa_topology(host: LegacyHost) -> Any:
    found = host.report.get("numa_topology")
    return unpacked(json.decode(found) if isinstance(found, str) and found else found)


def _pci_stats(host: LegacyHost) -> LegacyObject:
    pools = host.report.get("pci_stats")
    return LegacyObject(pools=[unpacked(one) for one in pools or ()])


def _metrics(host: LegacyHost) -> LegacyList:
    found = LegacyList()
    for one in host.report.get("metrics") or ():
        fields = dict(one)
        if "value" in fields:
            is_fraction = fields.get("name") in PERCENTAGES
            fields["value"] = int(fields["value"] * (100 if is_fraction else 1))
        found.append(LegacyObject(**fields))
    return found


def _service(host: LegacyHost) -> dict[str, Any]:
    services = host._views.hosts.fleet.services
    row = services.by_place.get((host.host, COMPUTE))
    if row is None:
        return {}
    return {
        "id": row.id,
        "host": row.host,
        "binary": row.binary,
        "topic": "compute",
        "disabled": row.disabled,
        "disabled_reason": None,
        "forced_down": row.forced_down,
        "last_seen_up": moment(row.last_seen_up),
        "availability_zone": row.availability_zone,
        "version": row.version or 0,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
    }


def moment(microseconds: int | None) -> datetime | None:
    """A time as Nova's objects have it: aware, in UTC."""
    if microseconds is None:
        return None
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC)


def _instances(host: LegacyHost) -> dict[str, LegacyObject]:
    hosts, place = host._views.hosts, host._place
    known = hosts.known_instances(place)
    found = {}
    for uuid in sorted(hosts.instances_on(place)):
        row = known.get(uuid)
        facts = {} if row is None else json.decode(row.facts)
        found[uuid] = LegacyObject(**{**facts, "uuid": uuid, "host": host.host})
    return found


FIELDS: dict[str, Callable[[LegacyHost], Any]] = {
    "uuid": _listed("uuids"),
    "host": _listed("hosts"),
    "nodename": _listed("nodes"),
    "cell_uuid": _listed("cells"),
    "free_ram_mb": _column("free_ram_mb"),
    "total_usable_ram_mb": _column("total_ram_mb"),
    "free_disk_mb": _column("free_disk_mb"),
    "disk_mb_used": lambda host: 1024 * (host.report.get("local_gb_used") or 0),
    "total_usable_disk_gb": _column("total_disk_gb"),
    "vcpus_total": _column("vcpus_total"),
    "vcpus_used": _column("vcpus_used"),
    "num_instances": _column("num_instances"),
    "num_io_ops": _column("num_io_ops"),
    "failed_builds": _column("failed_builds"),
    "cpu_allocation_ratio": _column("cpu_ratio"),
    "ram_allocation_ratio": _column("ram_ratio"),
    "disk_allocation_ratio": _column("disk_ratio"),
    "host_ip": _reported("host_ip"),
    "hypervisor_type": _reported("hypervisor_type"),
    "hypervisor_version": _reported("hypervisor_version"),
    "hypervisor_hostname": _reported("hypervisor_hostname"),
    "cpu_info": _cpu_info,
    "supported_instances": lambda host: [
        # Nova's objects know one name for each thing.
        [canonical(place, name) for place, name in enumerate(one[:3])]
        for one in host.report.get("supported_instances") or ()
    ],
    "stats": lambda host: dict(host.report.get("stats") or {}),
    "numa_topology": _numa_topology,
    "pci_stats": _pci_stats,
    "metrics": _metrics,
    "aggregates": lambda host: host._views.aggregates_of(host.host),
    "service": _service,
    "instances": _instances,
    "updated": lambda host: moment(
        time_out(host._views.hosts.fleet.hosts.updated_at[host._row])
    ),
}
