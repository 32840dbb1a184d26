"""What refused requests for cells and devices are told, how much of what is asked hosts
lack, and how many more fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.cli.refusal import why_text
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model.hosts import HostStats, Service
from gantt.model.selection import Near, Why
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.model.topology import (
    DeviceRequest,
    Fit,
    FitLack,
    HostTopology,
    InstanceCell,
    Wanted,
)
from gantt.scheduler.explain.lacks import Lacks
from gantt.scheduler.explain.refusal_reason import PICKED
from gantt.scheduler.feasibility.topology_masks import missing_of
from gantt.scheduler.hosts import Hosts
from gantt.topology.fit import fit
from tests.scheduler.small_cells import (
    NIC,
    PINNED,
    TWO_CELLS,
    WITH_NIC,
    cell,
    options,
    place,
    report,
    uuid,
)
from tests.scheduler.test_topology_mask import SEEDS, drawn, fleet_of, seen
from tests.topology import synthetic


@pytest.fixture(params=["caching", "filter"])
def engine(request: pytest.FixtureRequest) -> Iterator[Gantt]:
    with open_gantt("memory://", options(driver=request.param)) as found:
        yield found


def refusal(engine: Gantt, spec: RequestSpec, *numbers: int) -> Why:
    with pytest.raises(NoValidHost) as refused:
        engine.schedule(ScheduleRequest(spec, tuple(map(uuid, numbers or (90,)))))
    assert isinstance(refused.value.why, Why)
    return refused.value.why


def lacks(found: Why) -> dict[str, str | None]:
    return {near.host: near.lacks for near in found.nearest}


def test_the_nearest_hosts_say_what_a_cell_lacks(engine: Gantt) -> None:
    report(engine, "a", 0, 2)
    report(engine, "b", 0, 2, 3)
    report(engine, "c", numa_topology=None)
    found = refusal(engine, PINNED)
    assert lacks(found) == {
        "a": "cell 0 has 1 of 2 free pinned CPUs",
        "b": "cell 0 has 1 of 2 free pinned CPUs",
        "c": "the host has 0 of 1 NUMA cells that can carry the instance's",
    }
    assert "cell 0 has 1 of 2 free pinned CPUs" in why_text(found)
    (record, *_) = engine.decisions()
    assert record.why is not None
    assert lacks(record.why) == lacks(found)


def test_a_host_that_only_the_exact_fit_refuses_says_so_too(engine: Gantt) -> None:
    pool = {**NIC, "numa_node": 1, "count": 1}
    wanted = replace(
        TWO_CELLS,
        pci_requests=(
            {
                "count": 2,
                "request_id": "nic",
                "spec": [NIC],
                "numa_policy": "required",
            },
        ),
    )
    report(engine, "a", pci_stats=[pool])
    (said,) = lacks(refusal(engine, wanted)).values()
    assert said is not None
    assert said.startswith("the host has 1 of 2 devices")


def test_requests_without_a_topology_lack_none(engine: Gantt) -> None:
    report(engine, "a", vcpus=1, cpu_allocation_ratio=4.0)
    huge = replace(PINNED, flavor=replace(PINNED.flavor, vcpus=999, extra_specs={}))
    found = refusal(engine, huge)
    assert lacks(found) == {"a": "0 of 4 VCPU in use, max_unit 1 (999 asked)"}
    report(engine, "a", vcpus=64)
    engine.update_service(Service("a", disabled=True))
    found = refusal(engine, replace(huge, flavor=replace(huge.flavor, vcpus=1)))
    assert lacks(found) == {"a": None}
    assert "removed_by\n" in why_text(found)


def test_only_the_nearest_hosts_are_fitted(
    engine: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits: list[HostTopology] = []

    def counted(host: HostTopology, *args: Any, **more: Any) -> Fit | FitLack:
        fits.append(host)
        return fit(host, *args, **more)

    monkeypatch.setattr("gantt.topology.promised_topology.fit", counted)
    for number in range(40):
        report(engine, f"h{number:02}", 0, 2)
    assert len(refusal(engine, PINNED).nearest) == 10
    assert 1 <= len(fits) <= 11  # the last with the change that would help


def test_a_host_whose_claims_do_not_fit_its_report_is_closed(engine: Gantt) -> None:
    report(engine, "a")
    place(engine, 1)
    report(engine, "a", 0, 2)
    said = lacks(refusal(engine, PINNED))["a"]
    assert said == "pending claims do not fit the last report of the host"
    engine.update_host("a", "a", HostStats(instances=(uuid(1),)))
    assert not engine.host_topology("a", "a").is_closed


def test_few_of_the_hosts_that_were_filled_are_fitted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Others wait meanwhile."""
    asked: list[int] = []
    of = Lacks.of

    def noted(lacks: Lacks, row: int) -> tuple[float, str | None]:
        asked.append(row)
        return of(lacks, row)

    monkeypatch.setattr(Lacks, "of", noted)
    with open_gantt("memory://", options(explain_budget=100)) as engine:
        for number in range(30):
            report(engine, f"h{number}", 0)
        found = refusal(engine, PINNED, *range(200, 231))
    filled = [one for one in found.steps if one.name == PICKED]
    assert [one.before - one.after for one in filled] == [30]
    assert len(asked) <= 100 / 20 + 10


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


def filled(engine: Gantt, spec: RequestSpec) -> int:
    """How many are placed one by one until none has a host."""
    for number in range(1000):
        try:
            place(engine, number, spec=spec)
        except NoValidHost:
            return number
    raise AssertionError("no end")


def test_capacity_counts_what_fits(engine: Gantt) -> None:
    report(engine, "a")
    report(engine, "b", 0)
    report(engine, "c", 0, 2)
    report(engine, "d", numa_topology=None)
    found = engine.capacity(PINNED)
    assert found.hosts == {"a": 2, "b": 1}
    assert found.limits["NUMATopologyFilter"] == 4
    assert filled(engine, PINNED) == found.total


@pytest.mark.parametrize(
    ("spec", "expected"),
    [(TWO_CELLS, {"a": 1}), (WITH_NIC, {"a": 1, "b": 1})],
)
def test_capacity_counts_cells_and_devices_together(
    engine: Gantt, spec: RequestSpec, expected: dict[str, int]
) -> None:
    pool = {**NIC, "numa_node": 1, "count": 2}
    report(engine, "a", pci_stats=[pool])
    report(engine, "b", 0, pci_stats=[pool])
    found = engine.capacity(spec)
    assert found.hosts == expected
    assert filled(engine, spec) == found.total


def test_capacity_is_a_lower_bound_where_counting_ended() -> None:
    with open_gantt("memory://", options(topology_fits=4)) as engine:
        for host in "abcd":
            report(engine, host)
        found = engine.capacity(PINNED)
        assert found.hosts == {"a": 2, "b": 1}
        assert found.limits["topology_fits"] == 3  # one of b, and nothing of c and d
        assert found.is_lower_bound
        counts = engine.counts()
        # Counted once for the request, however many hosts were left.
        assert (counts["topology_fits"], counts["topology_fits_spent"]) == (4, 1)


def test_capacity_is_exact_where_it_is_not_said_otherwise(engine: Gantt) -> None:
    report(engine, "a")
    found = engine.capacity(PINNED)
    assert (found.total, found.is_lower_bound) == (2, False)


@pytest.mark.parametrize(
    ("name", "limit"), [("capacity_per_host", 1), ("topology_fits", 1)]
)
def test_nothing_is_hidden_by_a_limit(name: str, limit: int) -> None:
    with open_gantt("memory://", options(**{name: limit})) as engine:
        report(engine, "a")
        found = engine.capacity(PINNED)
        assert (found.total, found.is_lower_bound) == (1, True)
        assert found.limits[name] == 1


def test_capacity_of_none_says_why(engine: Gantt) -> None:
    report(engine, "a", 0, 2)
    found = engine.capacity(PINNED)
    assert found.total == 0
    assert found.nearest == (
        Near(
            "a",
            "a",
            ("NUMATopologyFilter",),
            "cell 0 has 1 of 2 free pinned CPUs",
        ),
    )
