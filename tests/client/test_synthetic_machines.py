"""Whole stories of synthetic machines, in process and over HTTP: a report in Nova's
form, a claim, a second one on the rest, a refusal that says what lacks, and the same
request once something was given back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from gantt.errors import Invalid, NoValidHost
from gantt.model.forms.stats import read_stats
from gantt.model.protocol import GanttProtocol
from gantt.model.selection import Selection, Why
from gantt.model.spec import Flavor, NetworkMetadata, RequestSpec, ScheduleRequest
from gantt.model.topology import HostTopology
from gantt.scheduler.options import DEFAULT_FILTERS
from tests import inprocess
from tests.topology import synthetic

FILTERS = (*DEFAULT_FILTERS, "NUMATopologyFilter", "PciPassthroughFilter")
GPU = {"name": "gpu", "vendor_id": "10de", "product_id": "20b5"}
GPU["device_type"] = "type-PCI"
SETTINGS = f"""
[filter_scheduler]
enabled_filters = {",".join(FILTERS)}
[pci]
alias = {json.dumps(GPU)}
"""
HOST = "compute-7"
SIZES = {"vcpus": 64, "memory_mb": 262_144, "local_gb": 1_000}
TRAITS = ["COMPUTE_REMOTE_MANAGED_PORTS"]


def pinned(vcpus: int, memory_mb: int, **more: str) -> RequestSpec:
    """With ``hw:`` before each of ``more``."""
    extra_specs = {"hw:cpu_policy": "dedicated"}
    extra_specs |= {f"hw:{name}": value for name, value in more.items()}
    return RequestSpec(Flavor(vcpus, memory_mb, extra_specs=extra_specs))


def with_ports(spec: RequestSpec, *wanted: dict[str, str], policy: str) -> RequestSpec:
    """As Neutron's ports become PCI requests."""
    asked = tuple(
        {"count": 1, "request_id": str(place), "spec": [one], "numa_policy": policy}
        for place, one in enumerate(wanted)
    )
    return replace(spec, pci_requests=asked)


def with_gpus(spec: RequestSpec, count: int, policy: str) -> RequestSpec:
    extra_specs = {
        **spec.flavor.extra_specs,
        "pci_passthrough:alias": f"gpu:{count}",
        "hw:pci_numa_affinity_policy": policy,
    }
    return replace(spec, flavor=replace(spec.flavor, extra_specs=extra_specs))


NEAR = NetworkMetadata(frozenset({"physnet1"}))


class Story(NamedTuple):
    """``second`` fits beside ``first``, ``third`` fits only once ``first`` is gone;
    ``lacks``: what the refusal says. ``cells``: those that the first two are on, where
    the host obeys."""

    machine: Callable[[], HostTopology]
    first: RequestSpec
    second: RequestSpec
    third: RequestSpec
    lacks: str
    cells: tuple[list[int], list[int]]


def vf(network: str) -> dict[str, str]:
    return {"physical_network": network, "dev_type": "type-VF"}


VDPA = {"physical_network": "physnet0", "dev_type": "vdpa"}
REMOTE = {"physical_network": "physnet0", "remote_managed": "True"}
SMALL = pinned(2, 2_048)
STORIES = {
    "single cell": Story(
        synthetic.single_cell,
        pinned(3, 4_096),
        pinned(1, 2_048),
        pinned(1, 1_024),
        "cell 0 has 0 of 1 free pinned CPUs",
        ([0], [0]),
    ),
    "two sockets, four cells, huge pages": Story(
        synthetic.four_cells,
        pinned(24, 32_768, numa_nodes="2", mem_page_size="1GB"),
        pinned(10, 16_384, mem_page_size="1GB", cpu_thread_policy="require"),
        pinned(10, 16_384, mem_page_size="1GB"),
        "cell 3 has 8 of 10 free pinned CPUs",
        ([0, 1], [2]),
    ),
    "huge pages alone": Story(
        synthetic.four_cells,
        pinned(4, 65_536, numa_nodes="4", mem_page_size="1GB"),
        pinned(4, 16_384, mem_page_size="2MB"),
        pinned(1, 8_192, mem_page_size="1GB"),
        "1 GB pages: 0 of 8",
        ([0, 1, 2, 3], [0]),
    ),
    "NICs with two physical networks": Story(
        synthetic.network_cards,
        with_ports(SMALL, *[vf("physnet0")] * 3, policy="required"),
        with_ports(SMALL, vf("physnet0"), policy="required"),
        with_ports(SMALL, vf("physnet0"), policy="required"),
        "0 of 1 devices dev_type=type-VF physical_network=physnet0",
        ([0], [0]),
    ),
    "a PF beside VFs of its network": Story(
        synthetic.network_cards,
        with_ports(SMALL, {**vf("physnet1"), "dev_type": "type-PF"}, policy="required"),
        with_ports(SMALL, *[vf("physnet1")] * 4, policy="required"),
        with_ports(SMALL, {**vf("physnet1"), "dev_type": "type-PF"}, policy="legacy"),
        "0 of 1 devices dev_type=type-PF physical_network=physnet1",
        ([1], [1]),
    ),
    "a network near one cell": Story(
        synthetic.network_cards,
        replace(pinned(8, 4_096), network_metadata=NEAR),
        pinned(4, 4_096),
        replace(SMALL, network_metadata=NEAR),
        "cell",
        ([1], [0]),
    ),
    "GPUs near their cells": Story(
        synthetic.graphics_cards,
        with_gpus(SMALL, 2, "required"),
        with_gpus(SMALL, 1, "required"),
        with_gpus(SMALL, 1, "required"),
        "0 of 1 devices dev_type=type-PCI product_id=20b5 vendor_id=10de",
        ([0], [1]),
    ),
    "VDPA": Story(
        synthetic.vdpa_card,
        with_ports(SMALL, VDPA, policy="required"),
        with_ports(SMALL, VDPA, policy="required"),
        with_ports(SMALL, VDPA, policy="legacy"),
        "0 of 1 devices dev_type=vdpa physical_network=physnet0",
        ([1], [1]),
    ),
    "a port that another machine manages": Story(
        synthetic.vdpa_card,
        with_ports(SMALL, REMOTE, policy="preferred"),
        with_ports(SMALL, VDPA, policy="required"),
        with_ports(SMALL, REMOTE, policy="preferred"),
        "0 of 1 devices physical_network=physnet0 remote_managed=True",
        ([1], [1]),
    ),
}


@pytest.fixture(params=inprocess.DOORS)
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GanttProtocol]:
    with inprocess.opened(request.param, tmp_path, SETTINGS) as found:
        yield found
        assert not found.verify().problems


def report(books: GanttProtocol, stats: dict[str, Any]) -> None:
    books.update_host(HOST, HOST, read_stats({**SIZES, **stats, "traits": TRAITS}))


def as_columns(host: HostTopology) -> dict[str, Any]:
    """As the text columns of compute_nodes have it."""
    made = synthetic.nova_form(host)
    return {name: value and json.dumps(value) for name, value in made.items()}


def uuid(number: int) -> str:
    return f"77777777-7777-4777-8777-{number:012d}"


def claim(books: GanttProtocol, number: int, spec: RequestSpec) -> Selection:
    ((mine, *_),) = books.schedule(ScheduleRequest(spec, (uuid(number),)))
    assert mine.service_host == HOST
    return mine


def refusal(books: GanttProtocol, number: int, spec: RequestSpec) -> str:
    """What the machine lacks."""
    with pytest.raises(NoValidHost) as refused:
        claim(books, number, spec)
    assert isinstance(refused.value.why, Why)
    (near,) = refused.value.why.nearest
    assert near.host == HOST and near.lacks is not None
    return near.lacks


def release(books: GanttProtocol, mine: Selection) -> None:
    assert mine.claim is not None
    books.release_claim(mine.claim)


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
@pytest.mark.parametrize("form", [as_columns, synthetic.plain_form])
def test_a_machine_is_filled_and_emptied(
    books: GanttProtocol,
    story: Story,
    form: Callable[[HostTopology], dict[str, Any]],
) -> None:
    report(books, form(story.machine()))
    first = claim(books, 1, story.first)
    second = claim(books, 2, story.second)
    if form is synthetic.plain_form:
        places = [one.place for one in (first, second)]
        cells = [sorted(at.host_cell for at in one.cells) for one in places if one]
        assert tuple(cells) == story.cells
    else:
        assert first.place is None
    assert story.lacks in refusal(books, 3, story.third)
    release(books, first)
    third = claim(books, 3, story.third)
    release(books, second)
    release(books, third)
    claim(books, 4, story.first)
    claim(books, 5, story.second)


def test_a_device_near_no_cell_serves_those_that_do_not_mind(
    books: GanttProtocol,
) -> None:
    report(books, as_columns(synthetic.graphics_cards()))
    for number in range(3):
        claim(books, number, with_gpus(SMALL, 1, "required"))
    assert "affinity required" in refusal(books, 3, with_gpus(SMALL, 1, "required"))
    claim(books, 4, with_gpus(SMALL, 1, "legacy"))
    assert "0 of 1 devices" in refusal(books, 5, with_gpus(SMALL, 1, "preferred"))


def test_what_cannot_be_is_refused_and_the_last_report_stands(
    books: GanttProtocol,
) -> None:
    good = as_columns(synthetic.four_cells())
    report(books, good)
    twice = synthetic.nova_form(synthetic.four_cells())
    cells = twice["numa_topology"]["nova_object.data"]["cells"]
    cells[1]["nova_object.data"]["id"] = cells[0]["nova_object.data"]["id"]
    stats = replace(read_stats({**SIZES, **good}), numa_topology=twice["numa_topology"])
    with pytest.raises(Invalid, match=r"cells.1.id is 0, as of another cell"):
        books.update_host(HOST, HOST, stats)
    pools = [{"vendor_id": "8086", "count": -1}]
    with pytest.raises(Invalid, match=r"pci_stats.0.count"):
        books.update_host(
            HOST, HOST, replace(stats, numa_topology=UNSET, pci_stats=pools)
        )
    story = STORIES["two sockets, four cells, huge pages"]
    claim(books, 1, story.first)
    claim(books, 2, story.second)
    assert story.lacks in refusal(books, 3, story.third)
