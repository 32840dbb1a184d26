"""Nova's NUMATopologyFilter and PciPassthroughFilter, one or both, and what ours and
the fit behind them say: the same hosts pass, with the same limits.

GANTT_NOVA_EXAMPLES makes a run longer (4 cases each), GANTT_NOVA_SEED another one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
from msgspec.structs import replace
from nova import objects

from gantt.model.rows import HostRow
from gantt.model.spec import Flavor, Image, NetworkMetadata, RequestSpec
from gantt.model.topology import Fit, FitLack, HostTopology, Wanted
from gantt.scheduler.contract import Request
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request.requested_topology import (
    DEVICES_FILTER,
    TOPOLOGY_FILTER,
    wanted_of,
)
from gantt.state.column import NO_ROW
from gantt.state.fleet_columns import Fleet
from gantt.state.view import pending_on
from tests.nova import known_topology as known
from tests.nova import upstream
from tests.nova.fits import Case, case
from tests.nova.pair import EXAMPLES, OURS, SEED, Tell, tell
from tests.nova.upstream_topology import (
    ascending,
    device_requests,
    device_stats,
    host_topology,
    instance_topology,
    mapping,
    packing,
)
from tests.scheduler.fleets import NOW
from tests.topology import synthetic

CPU_RATIO, RAM_RATIO = 2.0, 1.5
CHAINS = ((DEVICES_FILTER,), (TOPOLOGY_FILTER,), (DEVICES_FILTER, TOPOLOGY_FILTER))
OPTIONS = SchedulerOptions()
CASES = 4 * EXAMPLES


class State:
    """As much of a host state as the filters read there."""

    host = nodename = "h1"
    cpu_allocation_ratio, ram_allocation_ratio = CPU_RATIO, RAM_RATIO

    def __init__(self, one: Case) -> None:
        topology = host_topology(one.host)
        self.numa_topology = topology if one.host.cells else None
        self.pci_stats = device_stats(one.host, topology)
        self.allocation_candidates = [{"mappings": mappings_of(one)}]
        self.limits: dict[str, Any] = {}


def test_the_same_hosts_pass(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()
    met: Counter[str] = Counter()
    for number in range(CASES):
        one = case(Random(SEED * 10_000_000 + number))
        fleet = fleet_of(one.host)
        # With its pools in Nova's order.
        host = fleet.hosts.promises[0].report
        one = Case(host, divisible(one.wanted), one.providers, one.packs)
        with ascending(), packing(one.packs):
            for chain in CHAINS:
                _compare(one, fleet, chain, agreed, met)
    for told in ("pass, with cells and devices", "fail, with cells and devices"):
        assert agreed[told] > CASES / 20
    assert met.total() < agreed.total() / 20
    tell(record_property, agreed, met)


def _compare(
    one: Case,
    fleet: Fleet,
    chain: tuple[str, ...],
    agreed: Counter[str],
    met: Counter[str],
) -> None:
    spec = spec_of(one.wanted)
    state = State(one)
    theirs = passes(state, spec, chain)
    ours, limits, wanted = answer(fleet, spec, chain, one)
    if isinstance(ours, Fit) != theirs:
        has_devices = passes(State(one), spec, (DEVICES_FILTER,))
        # With the ids of the case, to which its providers belong.
        asked = replace(wanted or Wanted(), devices=one.wanted.devices)
        cause = known.of_filters(one._replace(wanted=asked), ours, has_devices)
        assert cause is not None, (one, chain, theirs, ours)
        met[cause] += 1
        return
    if theirs:
        assert limits == limits_of(state), spec
    asked = wanted or Wanted()
    named = (("cells", asked.cells), ("devices", asked.devices))
    parts = [name for name, some in named if some]
    told = f"{'pass' if theirs else 'fail'}, with {' and '.join(parts) or 'nothing'}"
    agreed[told] += 1


# -- what is asked --------------------------------------------------------------------


def divisible(wanted: Wanted) -> Wanted:
    """Others than such as pages divide are refused (docs/deviations.md)."""
    cells = []
    for cell in wanted.cells:
        page_mb = max(1, (cell.page_kib or 0) // 1024)
        memory = -(-cell.memory // page_mb) * page_mb
        cells.append(replace(cell, memory=memory))
    return replace(wanted, cells=tuple(cells))


def spec_of(wanted: Wanted) -> RequestSpec:
    """As Nova's API writes it."""
    has_cells = bool(wanted.cells)
    requests = tuple(
        {
            "count": one.count,
            "spec": one.spec,
            "alias_name": one.alias_name,
            "request_id": one.request_id,
            "numa_policy": one.numa_policy,
        }
        for one in device_requests(wanted.devices)
    )
    return RequestSpec(
        instance_uuid=upstream.uuid_of("instance"),
        flavor=Flavor(vcpus=1, memory_mb=64),
        image=Image(),
        network_metadata=NetworkMetadata(
            physnets=wanted.physical_networks, tunneled=wanted.is_tunnelled
        ),
        numa_topology=(
            instance_topology(wanted).obj_to_primitive() if has_cells else None
        ),
        pci_requests=requests,
        nulls=frozenset(() if has_cells else ("numa_topology",)),
    )


# -- both sides -----------------------------------------------------------------------


def passes(state: Any, spec: RequestSpec, chain: tuple[str, ...]) -> bool:
    asked = upstream.request_spec(spec)
    return all(upstream.FILTERS[name]().host_passes(state, asked) for name in chain)


def limits_of(state: Any) -> dict[str, Any]:
    """As the answer of Nova's scheduler has them."""
    made = objects.SchedulerLimits.from_dict(state.limits).numa_topology
    if made is None:
        return {}
    near = made.network_metadata
    return {
        "numa_topology": {
            "cpu_allocation_ratio": made.cpu_allocation_ratio,
            "ram_allocation_ratio": made.ram_allocation_ratio,
            "network_metadata": {
                "physnets": sorted(near.physnets),
                "tunneled": near.tunneled,
            },
        }
    }


def fleet_of(host: HostTopology) -> Fleet:
    stats = {
        **synthetic.nova_form(host),
        "cpu_allocation_ratio": CPU_RATIO,
        "ram_allocation_ratio": RAM_RATIO,
    }
    fleet = Fleet()
    row = HostRow(1, "h1", "h1", None, json.dumps(stats, sort_keys=True), 1, None)
    fleet.put_host(row, NO_ROW, 1)
    return fleet


def mappings_of(one: Case) -> dict[str, list[str]]:
    """Of a candidate, which always has a host."""
    return {
        "": [upstream.uuid_of("h1")],
        **mapping(one.wanted.devices, one.providers),
    }


def answer(
    fleet: Fleet, spec: RequestSpec, chain: tuple[str, ...], one: Case
) -> tuple[Fit | FitLack, Mapping[str, object], Wanted | None]:
    """What is found on the host, with which limits, and for what."""
    hosts, request = Hosts(fleet, np.arange(1)), Request(spec, OPTIONS, NOW)
    is_let = all(OURS[name].mask(hosts, request)[0] for name in chain)
    limits: Mapping[str, object] = {}
    if TOPOLOGY_FILTER in chain:
        limits = OURS[TOPOLOGY_FILTER].limits(hosts, request, 0)
    wanted = wanted_of(spec, OPTIONS, frozenset(chain))
    if wanted is None:
        assert is_let
        return Fit(), limits, None
    providers = {name: tuple(uuids) for name, uuids in mappings_of(one).items()}
    pending = pending_on(fleet.hosts, 0, wanted, providers, packs=one.packs)
    found = fleet.hosts.promises[0].fit(pending)
    assert is_let or isinstance(found, FitLack), "arrays exclude none that fits"
    return found, limits, pending.wanted
