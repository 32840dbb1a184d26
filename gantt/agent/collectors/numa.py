"""numa_topology: cells with their CPUs, cores, memory and pages.

The host uses the CPUs, pages and devices that claims name (``obeys_claims``) unless it
is told otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from msgspec import Struct

from gantt.agent.collectors.architecture import small_page_kib
from gantt.agent.collectors.cpu import (
    socket_of,
    threads_of,
    usable_cpus,
    usable_processors,
)
from gantt.agent.collectors.meminfo import KB_PER_MB, meminfo
from gantt.agent.collectors.nodes import NODES, gpu_nodes, node_names
from gantt.agent.files import Files
from gantt.errors import Invalid
from gantt.model.forms.shared_topology import read_host

_WHOLE: Final = ""
_PAGES: Final = {_WHOLE: "/sys/kernel/mm/hugepages"}


def none_pinned() -> frozenset[int]:
    """No CPU is known to be pinned."""
    return frozenset()


class NumaCollector(Struct, frozen=True):
    """``dedicated``: CPUs that instances may pin, all others are shared; None: all are
    for both. ``pinned``: the CPUs that the instances of the last list are pinned
    to."""

    processors: Callable[[], Collection[int]] = usable_processors
    dedicated: frozenset[int] | None = None
    obeys_claims: bool = True
    pinned: Callable[[], frozenset[int]] = none_pinned

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"numa_topology", "obeys_claims"})

    def collect(self, files: Files) -> dict[str, Any]:
        """All cells, or none: of a topology with a cell less, instances would be
        placed where others are."""
        usable = usable_cpus(files, self.processors)
        if usable is None:
            return {"obeys_claims": self.obeys_claims}
        before = len(files.problems)
        gpus = gpu_nodes(files)
        nodes = [one for one in node_names(files) if one not in gpus]
        # A kernel without NUMA has no nodes: the machine is one cell.
        asked = [self._cell(files, one, usable) for one in nodes or [_WHOLE]]
        topology = {"cells": [one for one in asked if one]}
        if len(files.problems) == before:
            _check(files, topology)
        found: dict[str, Any] = {"obeys_claims": self.obeys_claims}
        if len(files.problems) == before:
            found["numa_topology"] = topology
        return found

    def _cell(
        self, files: Files, node: str, usable: frozenset[int]
    ) -> dict[str, Any] | None:
        """One cell; None: it cannot be read, or has neither CPUs nor memory."""
        folder = f"{NODES}/{node}" if node else ""
        cpus = files.cpus(f"{folder}/cpulist") if node else usable
        text = files.text(f"{folder}/meminfo" if node else "/proc/meminfo")
        if cpus is None or text is None:
            return None
        cpus &= usable
        total_kb = meminfo(text).get("MemTotal", 0)
        if not cpus and not total_kb:
            return None
        cell: dict[str, Any] = {
            "id": int(node.removeprefix("node") or 0),
            **self._sets(cpus),
            "memory": total_kb // KB_PER_MB,
            "siblings": _siblings(files, cpus),
            "mempages": self._pages(files, folder, total_kb),
        }
        socket = socket_of(files, min(cpus)) if cpus else None
        if socket is not None:
            cell["socket"] = socket
        pinned = self.pinned().intersection(cell["pcpuset"])
        if pinned:
            cell["pinned_cpus"] = sorted(pinned)
        return cell

    def _sets(self, cpus: frozenset[int]) -> dict[str, list[int]]:
        if self.dedicated is None:
            return {"cpuset": sorted(cpus), "pcpuset": sorted(cpus)}
        return {
            "cpuset": sorted(cpus - self.dedicated),
            "pcpuset": sorted(cpus & self.dedicated),
        }

    def _pages(self, files: Files, folder: str, total_kb: int) -> list[dict[str, int]]:
        """By size. Huge pages in use are not free, whatever uses them; of small ones
        only those of instances count."""
        place = f"{folder}/hugepages" if folder else _PAGES[_WHOLE]
        huge = []
        for name in files.names(place, "hugepages-"):
            size = name.removeprefix("hugepages-").removesuffix("kB")
            count = files.number(f"{place}/{name}/nr_hugepages")
            free = files.number(f"{place}/{name}/free_hugepages")
            if size.isdigit() and count and free is not None:
                used = max(0, count - free)
                huge.append({"size_kb": int(size), "total": count, "used": used})
        left_kb = total_kb - sum(one["size_kb"] * one["total"] for one in huge)
        small_kib = small_page_kib(files)
        small = {"size_kb": small_kib, "total": max(0, left_kb) // small_kib}
        return [small, *huge]


def _check(files: Files, topology: dict[str, Any]) -> None:
    """A problem where the service would refuse the topology, and with it the host."""
    try:
        read_host({"numa_topology": topology})
    except Invalid as error:
        files.problem(NODES, f"the cells are left out: {error.message}")


def _siblings(files: Files, cpus: frozenset[int]) -> list[list[int]]:
    """The threads of each core, of those that are offered."""
    cores = {threads_of(files, number) & cpus or {number} for number in cpus}
    return sorted(sorted(core) for core in cores)
