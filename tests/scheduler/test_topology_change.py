"""The smallest change of refused requests for cells, where less of an amount helps."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.connection import open_gantt
from gantt.errors import NoValidHost
from gantt.model.forms.instance_topology import plain_topology
from gantt.model.selection import Why
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.explain.topology_concessions import steps_of, with_smaller_cells
from gantt.scheduler.request.requested_topology import topology_of
from tests.scheduler.small_cells import NIC, options, report, uuid
from tests.scheduler.test_topology_missing import cell_of

DEDICATED = {"hw:cpu_policy": "dedicated"}
TWO = {"hw:numa_nodes": "2"}
LARGE = {"hw:mem_page_size": "2MB"}


def spec_of(vcpus: int, memory: int, extra_specs: dict[str, str]) -> RequestSpec:
    return RequestSpec(Flavor(vcpus, memory, extra_specs=extra_specs))


def as_nova_sends(spec: RequestSpec) -> RequestSpec:
    """With the topology that Nova's API derived."""
    given = topology_of(spec)
    assert given is not None
    return replace(spec, numa_topology=plain_topology(given))


def change(spec: RequestSpec) -> str | None:
    """Of a host with two cells, each with 12 of 16 CPUs and 512 pages of 2 MB free."""
    pages = [
        {"size_kb": 4, "total": 1_000_000},
        {"size_kb": 2048, "total": 1024, "used": 512},
    ]
    first = cell_of(12, mempages=pages)
    shift: dict[str, Any] = {
        name: [cpu + 16 for cpu in first[name]] for name in ("pcpuset", "pinned_cpus")
    }
    cells = [first, {**first, **shift, "id": 1}]
    with open_gantt("memory://", options()) as engine:
        report(engine, "a", numa_topology={"cells": cells}, vcpus=32)
        with pytest.raises(NoValidHost) as refused:
            engine.schedule(ScheduleRequest(spec, (uuid(1),)))
        assert isinstance(refused.value.why, Why)
        found = refused.value.why
        if found.given_up:
            (one,) = found.given_up
            lowered = with_smaller_cells(spec, one.names[0], one.lowered or 0)
            assert lowered.numa_topology is not None
        return found.change


@pytest.mark.parametrize("form", [replace, as_nova_sends])
@pytest.mark.parametrize(
    ("vcpus", "memory", "extra_specs", "expected"),
    [
        (16, 1024, DEDICATED, "ask for 12 instead of 16 PCPU"),
        (30, 1024, DEDICATED | TWO, "ask for 24 instead of 30 PCPU"),
        (4, 2048, DEDICATED | LARGE, "ask for 1 GiB instead of 2 GiB MEMORY_MB"),
        (4, 4096, DEDICATED | LARGE | TWO, "ask for 2 GiB instead of 4 GiB MEMORY_MB"),
    ],
)
def test_as_much_as_a_cell_has(
    form: Any, vcpus: int, memory: int, extra_specs: dict[str, str], expected: str
) -> None:
    assert change(form(spec_of(vcpus, memory, extra_specs))) == expected


def test_steps_are_cells_and_whole_pages() -> None:
    two_large = steps_of(spec_of(4, 4096, DEDICATED | LARGE | TWO))
    assert two_large == {"VCPU": 2, "PCPU": 2, "MEMORY_MB": 4}
    huge = steps_of(spec_of(4, 4096, {"hw:mem_page_size": "1GB"}))
    assert huge["MEMORY_MB"] == 1024
    for memory, step in ((4096, 1024), (1000, 8)):
        large = steps_of(spec_of(4, memory, {"hw:mem_page_size": "large"}))
        assert large["MEMORY_MB"] == step
    uneven = {"hw:numa_cpus.0": "0", "hw:numa_mem.0": "8"}
    uneven |= {"hw:numa_cpus.1": "1-3", "hw:numa_mem.1": "8"}
    assert steps_of(spec_of(4, 16, TWO | uneven)) == {}
    assert steps_of(spec_of(4, 16, {})) == {}
    assert steps_of(spec_of(3, 16, TWO)) == {}  # refused by itself


def test_every_cell_gets_less() -> None:
    spec = spec_of(8, 4096, DEDICATED | TWO | {"hw:emulator_threads_policy": "isolate"})
    for name, amount, expected in (
        ("PCPU", 4, [(0b11, 2048), (0b110000, 2048)]),
        ("MEMORY_MB", 1024, [(0b1111, 512), (0b11110000, 512)]),
        ("PCPU", 3, [(0b1111, 2048), (0b11110000, 2048)]),  # as it was
    ):
        found = topology_of(with_smaller_cells(spec, name, amount))
        assert found is not None
        assert [(cell.pcpus, cell.memory) for cell in found.cells] == expected
        assert found.isolates_emulator


def test_hosts_that_are_fitted_in_vain_use_up_the_search() -> None:
    """Two devices of one cell are asked for, and each cell has one: only an exact fit
    of each host tells."""
    wanted = {"count": 2, "request_id": "n", "spec": [NIC], "numa_policy": "required"}
    spec = replace(spec_of(4, 64, DEDICATED | TWO), pci_requests=(wanted,))
    pools = [{**NIC, "numa_node": node, "count": 1} for node in (0, 2)]
    third = {"pcpuset": [16, 17], "pinned_cpus": [16, 17], "id": 2}
    cells = [cell_of(2, 2), {**cell_of(2, 2), "id": 1, "pcpuset": [2, 3]}]
    cells.append({**cell_of(2, 2), **third})
    fits = []
    for budget in (200, 20_000):
        with open_gantt("memory://", options(change_budget=budget)) as engine:
            for number in range(20):
                name = f"h{number}"
                facts = {"numa_topology": {"cells": cells}, "pci_stats": pools}
                report(engine, name, **facts)
            with pytest.raises(NoValidHost) as refused:
                engine.schedule(ScheduleRequest(spec, (uuid(1),)))
            assert isinstance(refused.value.why, Why)
            fits.append(engine.counts()["topology_fits"])
            assert refused.value.why.is_truncated is (budget == 200)
    assert fits[0] <= 2 * 20 < fits[1]  # the request itself, and one trial
