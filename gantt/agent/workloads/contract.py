"""The interface of a workload source: it finds instances that are on this host.

Separate so that a plug-in needs nothing else of the agent: a class without arguments,
under an entry point of ``gantt.workloads``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from gantt.agent.files import Files


class Workload(Struct, frozen=True):
    """An instance that is on this host. ``vcpus``, ``memory_mb``, ``disk_gb``: what it
    uses, None where that is not known. ``cpus``: those of the host that it is pinned
    to; empty: it is not pinned."""

    instance_uuid: str
    vcpus: int | None = None
    memory_mb: int | None = None
    disk_gb: int | None = None
    cpus: frozenset[int] = frozenset()


class WorkloadSource(Protocol):
    """One way to find instances. One object is asked again and again. An attribute
    ``sees_all`` that is False says that others may run: then what it finds is named,
    and no instance is found missing."""

    def workloads(self, files: Files) -> Iterable[Workload]:
        """All that are here now. Where it cannot see all of them, ``files.problems``
        says why, and the host does not report its instances."""


def together(one: Workload, other: Workload) -> Workload:
    """What two sources found of the same instance: the larger of each amount."""
    return Workload(
        one.instance_uuid,
        _larger(one.vcpus, other.vcpus),
        _larger(one.memory_mb, other.memory_mb),
        _larger(one.disk_gb, other.disk_gb),
        one.cpus | other.cpus,
    )


def _larger(one: int | None, other: int | None) -> int | None:
    known = [amount for amount in (one, other) if amount is not None]
    return max(known, default=None)
