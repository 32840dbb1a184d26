"""How much of what is asked hosts lack, by passes over arrays; and that those that lack
least are named first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model.selection import Why
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.model.topology import DeviceRequest, Fit, HostTopology, InstanceCell, Wanted
from gantt.scheduler.feasibility.topology_masks import missing_of
from gantt.scheduler.hosts import Hosts
from gantt.topology.fit import fit
from tests.scheduler.small_cells import (
    NIC,
    PINNED,
    cell,
    options,
    report,
    uuid,
)
from tests.scheduler.test_topology_mask import SEEDS, drawn, fleet_of, seen
from tests.topology import synthetic

FOUR = InstanceCell(0, 0, 0b1111, 1_024, policy="dedicated")
VF = DeviceRequest(None, 2, ({"physical_network": "physnet1", "vendor_id": "8086"},))


@pytest.mark.parametrize("seed", SEEDS)
def test_hosts_that_fit_lack_nothing(seed: int) -> None:
    hosts, requests = drawn(seed)
    fleet = fleet_of(hosts)
    fitting = 0
    for wanted in requests:
        missing = missing_of(seen(fleet), wanted)
        fits = [isinstance(fit(one, wanted, {}), Fit) for one in fleet.hosts.left]
        assert not missing[fits].any()
        fitting += sum(fits)
    assert fitting


def missing(wanted: Wanted, *hosts: HostTopology) -> list[float]:
    return [round(one, 3) for one in missing_of(seen(fleet_of([*hosts])), wanted)]


def test_shares_of_what_is_missing_add_up() -> None:
    small, large = synthetic.single_cell(), synthetic.four_cells()
    assert missing(Wanted((FOUR,)), small, large) == [0.0, 0.0]
    eight = replace(FOUR, pcpus=0xFF)
    assert missing(Wanted((eight,)), small, large, HostTopology()) == [0.5, 0.0, 2.0]
    # 16 pages of 1 GB; and the small one has none of that size.
    huge = replace(eight, memory=32_768, page_kib=synthetic.HUGE)
    assert missing(Wanted((huge,)), small, large) == [1.5, 0.5]
    # Each instance cell is on a host cell of its own.
    assert missing(Wanted((eight, eight)), small, large) == [2.5, 0.0]
    cards = synthetic.network_cards()
    assert missing(Wanted(devices=(VF,)), small, cards) == [1.0, 0.0]
    assert missing(Wanted((FOUR,), devices=(replace(VF, count=8),)), cards) == [0.5]


def test_hosts_without_a_report_lack_everything() -> None:
    fleet = fleet_of([synthetic.single_cell()])
    beyond = Hosts(fleet, np.array([0, 10_000]))
    assert missing_of(beyond, Wanted((FOUR,), devices=(VF,))).tolist() == [1.0, 3.0]


# -- nearest hosts ------------------------------------------------------------------


def nearest(engine: Gantt, spec: RequestSpec) -> list[tuple[str, str | None]]:
    with pytest.raises(NoValidHost) as refused:
        engine.schedule(ScheduleRequest(spec, (uuid(1),)))
    assert isinstance(refused.value.why, Why)
    return [(one.host, one.lacks) for one in refused.value.why.nearest]


def cell_of(free: int, total: int = 16, **more: Any) -> dict[str, Any]:
    pinned = list(range(total - free))
    found = cell(0, ()) | {"pcpuset": list(range(total)), "pinned_cpus": pinned}
    return found | {"memory": 8192} | more


def test_the_smallest_lack_comes_first_of_many_hosts() -> None:
    wanted = replace(PINNED, flavor=replace(PINNED.flavor, vcpus=16))
    with open_gantt("memory://", options()) as engine:
        for number in range(30):
            free = (7 * number) % 16
            cells = [cell_of(free)]
            report(engine, f"h{number:02}", numa_topology={"cells": cells})
        found = nearest(engine, wanted)
    most = sorted(((7 * number) % 16 for number in range(30)), reverse=True)[:10]
    assert [said for _, said in found] == [
        f"cell 0 has {count} of 16 free pinned CPUs" for count in most
    ]


def test_pages_and_cpus_count_together() -> None:
    flavor = Flavor(16, 2048, extra_specs={**PINNED.flavor.extra_specs})
    flavor.extra_specs["hw:mem_page_size"] = "2MB"
    pages = {"size_kb": 2048, "total": 1024}

    def facts(free: int, used: int) -> Any:
        small = {"size_kb": 4, "total": 1_000_000}
        return {"cells": [cell_of(free, mempages=[small, {**pages, "used": used}])]}

    with open_gantt("memory://", options()) as engine:
        report(engine, "neither", numa_topology=facts(8, 512))
        report(engine, "pages", numa_topology=facts(16, 512))
        report(engine, "cpus", numa_topology=facts(15, 0))
        assert nearest(engine, RequestSpec(flavor)) == [
            ("cpus", "cell 0 has 15 of 16 free pinned CPUs"),
            ("pages", "cell 0 has 2 MB pages: 512 of 1,024"),
            (
                "neither",
                "cell 0 has 8 of 16 free pinned CPUs; 2 MB pages: 512 of 1,024",
            ),
        ]


def test_devices_that_two_filters_look_at_count_once() -> None:
    """Else a host that lacks all CPUs would be nearer than one that lacks a device."""
    wanted = replace(
        PINNED, pci_requests=({"count": 3, "request_id": "n", "spec": [NIC]},)
    )
    with open_gantt("memory://", options()) as engine:
        many = {**NIC, "numa_node": 1, "count": 3}
        report(engine, "full", 0, 1, 2, 3, pci_stats=[many])
        report(engine, "almost", pci_stats=[{**many, "count": 2}])
        found = nearest(engine, wanted)
    assert [host for host, _ in found] == ["almost", "full"]
