"""instances and what they use: the one collector that asks what runs here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gantt.agent.collectors.contract import bounded
from gantt.agent.files import Files
from gantt.agent.workloads.contract import Workload, WorkloadSource, together

MOST: Final = 10_000
"""Instances of one host."""


class WorkloadCollector:
    """Lists the instances that ``sources`` find, and says with ``lists_instances``
    whether these are all: not where one source cannot see all. ``pinned``: the CPUs
    that those of the last whole list are pinned to."""

    def __init__(self, sources: Iterable[WorkloadSource]) -> None:
        self._sources = tuple(sources)
        self.pinned: frozenset[int] = frozenset()

    @property
    def provides(self) -> frozenset[str]:
        if not self._sources:
            return frozenset({"lists_instances"})
        used = {"vcpus_used", "memory_mb_used", "local_gb_used", "running_vms"}
        return frozenset({"instances", "lists_instances", *used})

    def collect(self, files: Files) -> dict[str, Any]:
        """The instances, sorted, and the sums of what they use; one of which nothing is
        known counts as one VCPU."""
        found: dict[str, Workload] = {}
        for source in self._sources:
            for one in source.workloads(files):
                known = found.get(one.instance_uuid)
                found[one.instance_uuid] = (
                    one if known is None else together(known, one)
                )
        if len(found) > MOST:
            files.problem("", f"{len(found)} instances were found; the most is {MOST}")
            return {"lists_instances": False}
        if not self._sources or (files.problems and not found):
            return {"lists_instances": False}
        if files.problems or not all(
            getattr(one, "sees_all", True) for one in self._sources
        ):
            # Those are there; of others, and of what all use, nothing is known.
            return {"instances": sorted(found), "lists_instances": False}
        every = found.values()
        self.pinned = frozenset().union(*(one.cpus for one in every))
        return {
            "instances": sorted(found),
            "lists_instances": True,
            "running_vms": len(found),
            "vcpus_used": bounded(
                sum(1 if o.vcpus is None else o.vcpus for o in every)
            ),
            "memory_mb_used": bounded(sum(one.memory_mb or 0 for one in every)),
            "local_gb_used": bounded(sum(one.disk_gb or 0 for one in every)),
        }
