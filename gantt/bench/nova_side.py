"""Nova's own filters, weighers and host states, in this process: what its scheduler
does per request once it has everything in memory.

By themselves they check no amounts: Nova asks Placement for these. With ``books`` they
do as Nova's scheduler does: upstream Placement lists candidates, the hosts among them
are filtered and weighed, and the best is claimed there. Left out are RPC, databases
and the refresh of host states.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import nova.conf
from nova import objects
from nova.pci.stats import PciDeviceStats
from nova.scheduler import filters, host_manager, weights
from nova.scheduler.manager import SchedulerManager
from nova.virt import hardware

from gantt.bench.bench_fleets import (
    CPU_RATIO,
    BenchFleet,
    Fact,
    Host,
    cards_of,
    cells_of,
)
from gantt.bench.gantt_side import filters_of, spec_of
from gantt.bench.placement_side import PlacementSide
from gantt.bench.workloads import Ask
from gantt.model.forms.primitive import spec_primitive

_MB: Final = 1024
_LONG_S: Final = 10**9
_WEIGHERS: Final = ["nova.scheduler.weights.all_weighers"]


class _Offered(msgspec.Struct):
    allocations: dict[str, Any]


class NovaSide:
    """``books``: upstream Placement with the same fleet; None: filters and weighers
    alone."""

    is_threaded = False

    def __init__(self, fleet: BenchFleet, books: PlacementSide | None = None) -> None:
        logging.getLogger("nova").setLevel(logging.CRITICAL)
        objects.register_all()
        nova.conf.CONF([], project="nova", default_config_files=[])
        # Nothing reports to it: hosts would be down after a minute.
        nova.conf.CONF.set_override("service_down_time", _LONG_S)
        self.name = "nova" if books is None else "nova-placement"
        self._books = books
        known = {one.__name__: one for one in filters.all_filters()}
        self._filters = [known[name]() for name in filters_of(fleet)]
        self._handler = filters.HostFilterHandler()
        self._weighing = weights.HostWeightHandler()
        classes = self._weighing.get_matching_classes(_WEIGHERS)
        self._weighers = [one() for one in classes]
        self._states = [_state(host) for host in fleet.hosts]
        self._by_uuid = {state.uuid: state for state in self._states}
        self._members: dict[int, list[str]] = {}
        self._has_cells = bool(fleet.hosts[0].cells)

    def facts(self) -> Iterable[Fact]:
        for state in self._states:
            memory_mb, disk_gb = state.total_usable_ram_mb, state.total_usable_disk_gb
            pools = state.pci_stats.pools if state.pci_stats else ()
            yield (
                state.host,
                (
                    state.vcpus_total,
                    state.vcpus_used,
                    memory_mb,
                    memory_mb - state.free_ram_mb,
                    disk_gb,
                    disk_gb - state.free_disk_mb // _MB,
                    sum(pool["count"] for pool in pools),
                ),
            )

    def place(self, ask: Ask) -> int:
        asked = self._request(ask)
        states, offers = self._offered(ask)
        placed = 0
        for name in ask.names:
            asked.instance_uuid = name
            passing = self._handler.get_filtered_objects(self._filters, states, asked)
            weighed = self._weighing.get_weighed_objects(
                self._weighers, list(passing), asked
            )
            if not weighed:
                return placed
            best = weighed[0].obj
            if self._books is not None:
                self._books.claim((name,), [offers[best.uuid]])
            SchedulerManager._consume_selected_host(best, asked, instance_uuid=name)
            if ask.group >= 0:
                self._members.setdefault(ask.group, []).append(name)
            placed += 1
        return placed

    def worked_s(self) -> float:
        return time.process_time() if self._books is None else self._books.worked_s()

    def close(self) -> None:
        self._states.clear()
        if self._books is not None:
            self._books.close()

    def _offered(self, ask: Ask) -> tuple[Sequence[Any], dict[str, msgspec.Raw]]:
        """The hosts to look at, and what to claim on each."""
        if self._books is None:
            return self._states, {}
        offers: dict[str, msgspec.Raw] = {}
        for raw in self._books.offers(ask):
            for uuid in msgspec.json.decode(raw, type=_Offered).allocations:
                if uuid in self._by_uuid:
                    offers.setdefault(uuid, raw)
        return [self._by_uuid[uuid] for uuid in offers], offers

    def _request(self, ask: Ask) -> Any:
        asked = objects.RequestSpec.obj_from_primitive(spec_primitive(spec_of(ask)))
        if self._has_cells:
            asked.image = objects.ImageMeta(properties=objects.ImageMetaProps())
            asked.numa_topology = hardware.numa_get_constraints(
                asked.flavor, asked.image
            )
        if ask.group >= 0:
            # Names of members come from the database of instances, with each request.
            asked.instance_group.members = list(self._members.get(ask.group, ()))
        return asked


def _state(host: Host) -> host_manager.HostState:
    """What Nova's scheduler knows of the host that ``fleet_setup.stats_of``
    describes."""
    now = datetime.now(UTC)
    state = host_manager.HostState(host.name, host.name, "cell")
    state.uuid = host.uuid
    state.vcpus_total, state.vcpus_used = host.vcpus, host.vcpus_used
    state.total_usable_ram_mb = host.memory_mb
    state.free_ram_mb = host.memory_mb - host.memory_mb_used
    state.total_usable_disk_gb = host.disk_gb
    state.free_disk_mb = _MB * (host.disk_gb - host.disk_gb_used)
    state.hypervisor_type, state.hypervisor_version = "QEMU", 8_002_000
    state.hypervisor_hostname = host.name
    state.cpu_info, state.supported_instances = "{}", [["x86_64", "kvm", "hvm"]]
    state.stats = {"num_instances": "0", "io_workload": "0", "failed_builds": "0"}
    state.metrics = objects.MonitorMetricList(objects=[])
    state.cpu_allocation_ratio = CPU_RATIO
    state.ram_allocation_ratio = state.disk_allocation_ratio = 1.0
    state.service = host_manager.ReadOnlyDict(
        {"disabled": False, "forced_down": False, "last_seen_up": now, "host": "h"}
    )
    if host.cells:
        cells = [_cell(said) for said in cells_of(host)]
        state.numa_topology = objects.NUMATopology(cells=cells)
        state.pci_stats = PciDeviceStats(state.numa_topology)
        state.pci_stats.pools = [_pool(said) for said in cards_of(host)]
        state.allocation_candidates = [{"allocations": {}, "mappings": {}}]
    return state


def _cell(said: dict[str, Any]) -> Any:
    sets = {name: set(said[name]) for name in ("cpuset", "pcpuset", "pinned_cpus")}
    network = objects.NetworkMetadata(physnets=set(), tunneled=False)
    return objects.NUMACell(
        **{
            **said,
            **sets,
            "siblings": [set(core) for core in said["siblings"]],
            "mempages": [objects.NUMAPagesTopology(**one) for one in said["mempages"]],
            "network_metadata": network,
        }
    )


def _pool(said: dict[str, Any]) -> dict[str, Any]:
    flat = {name: value for name, value in said.items() if name != "tags"}
    return {**flat, **said["tags"]}
