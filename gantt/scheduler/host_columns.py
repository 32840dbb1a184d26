"""The columns that filters and weighers read of hosts, by name and type.

Separate from ``hosts`` because this is the reference for authors of plug-ins: mypy
knows each name and its dtype. Every array has a value per host (``len(hosts)``), is
gathered on first use, and is read-only.
"""

from __future__ import annotations

from typing import Any, Final, Generic, Self, TypeVar, overload

from gantt.state.column import Bools, Floats, Int32s, Int64s
from gantt.state.fleet_columns import Fleet
from gantt.state.host_table import HostColumns

A = TypeVar("A", Bools, Int32s, Int64s, Floats)

NAMES: Final = frozenset(HostColumns.specs)
"""All columns."""


class Column(Generic[A]):
    """Gathers a column on first use and stores it in the instance, where Python looks
    first: later reads cost as much as any attribute."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, hosts: None, owner: type[HostArrays]) -> Self: ...

    @overload
    def __get__(self, hosts: HostArrays, owner: type[HostArrays]) -> A: ...

    def __get__(self, hosts: HostArrays | None, owner: type[HostArrays]) -> Self | A:
        if hosts is None:
            return self
        values: A = getattr(hosts.fleet.hosts, self._name)[hosts.rows]
        values.flags.writeable = False
        hosts.__dict__[self._name] = values
        return values


class HostArrays:
    """Free, used and counted amounts include claims that no report has yet; the
    ``reported_…`` columns are not. Times are microseconds since the epoch in UTC."""

    fleet: Fleet
    rows: Int64s

    id = Column[Int64s]()
    """int64[n]: of the row in ``gantt_hosts``"""
    provider = Column[Int32s]()
    """int32[n]: row of its resource provider, ``NO_ROW`` without one"""
    has_state = Column[Bools]()
    """bool[n]: it has reported its resources"""
    vcpus_total = Column[Int64s]()
    """int64[n]"""
    total_ram_mb = Column[Int64s]()
    """int64[n]"""
    total_disk_gb = Column[Int64s]()
    """int64[n]"""
    vcpus_used = Column[Int64s]()
    """int64[n]"""
    free_ram_mb = Column[Int64s]()
    """int64[n]: below 0 where memory is overcommitted"""
    free_disk_mb = Column[Int64s]()
    """int64[n]"""
    num_instances = Column[Int64s]()
    """int64[n]"""
    num_io_ops = Column[Int64s]()
    """int64[n]: instances that build, resize, migrate or are snapshotted"""
    failed_builds = Column[Int64s]()
    """int64[n]: failed builds since the last that succeeded"""
    hypervisor_version = Column[Int64s]()
    """int64[n]: 6.2.0 is 6002000; 0: unknown"""
    cpu_ratio = Column[Floats]()
    """float64[n]: allocation ratio of VCPUs, 0.0: none was reported"""
    ram_ratio = Column[Floats]()
    """float64[n]: of memory"""
    disk_ratio = Column[Floats]()
    """float64[n]: of disk"""
    pci_free = Column[Int64s]()
    """int64[n]: free PCI devices, of all pools"""
    has_service = Column[Bools]()
    """bool[n]: its nova-compute service is known"""
    is_disabled = Column[Bools]()
    """bool[n]: the service is disabled"""
    is_forced_down = Column[Bools]()
    """bool[n]: the service is forced down"""
    last_seen_up = Column[Int64s]()
    """int64[n]: when the service was last seen, ``NO_TIME``: never"""
    created_at = Column[Int64s]()
    """int64[n]"""
    updated_at = Column[Int64s]()
    """int64[n]"""
    touched = Column[Int64s]()
    """int64[n]: the revision that last changed it"""
    reported_vcpus_used = Column[Int64s]()
    """int64[n]"""
    reported_free_ram_mb = Column[Int64s]()
    """int64[n]"""
    reported_free_disk_mb = Column[Int64s]()
    """int64[n]"""
    reported_instances = Column[Int64s]()
    """int64[n]"""
    reported_io_ops = Column[Int64s]()
    """int64[n]"""
    claimed_vcpus = Column[Int64s]()
    """int64[n]: of claims that no report has yet"""
    claimed_memory_mb = Column[Int64s]()
    """int64[n]"""
    claimed_disk_mb = Column[Int64s]()
    """int64[n]"""
    claimed_instances = Column[Int64s]()
    """int64[n]"""
    starting = Column[Int64s]()
    """int64[n]: instances that were neither confirmed nor named by the host yet"""
