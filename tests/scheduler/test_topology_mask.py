"""The arrays exclude no host that fits, and most of those that do not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.model import topology as t
from gantt.model.cpu_sets import mask_of as cpus_of
from gantt.model.cpu_sets import numbers_of
from gantt.model.rows import HostRow
from gantt.model.topology import (
    DeviceRequest,
    Fit,
    HostCell,
    HostTopology,
    InstanceCell,
    Wanted,
)
from gantt.scheduler.feasibility.topology_masks import mask_of
from gantt.scheduler.hosts import Hosts
from gantt.state.column import NO_ROW
from gantt.state.fleet_columns import Fleet
from gantt.topology.fit import fit
from tests.topology import synthetic

SEEDS = range(12)
HOSTS, REQUESTS = 40, 40


def fleet_of(hosts: list[HostTopology]) -> Fleet:
    """Hosts that report these topologies."""
    fleet = Fleet()
    for number, host in enumerate(hosts, 1):
        stats = synthetic.plain_form(host)
        text = json.dumps({**stats, "obeys_claims": host.obeys}, sort_keys=True)
        row = HostRow(number, f"h{number}", f"h{number}", None, text, 1, None)
        fleet.put_host(row, NO_ROW, 1)
    return fleet


def seen(fleet: Fleet) -> Hosts:
    return Hosts(fleet, np.arange(fleet.hosts.height))


# -- random hosts and requests ----------------------------------------------------


def used(rng: random.Random, host: HostTopology) -> HostTopology:
    """The machine with some of everything taken."""
    cells = tuple(_used_cell(rng, cell) for cell in host.cells)
    if rng.random() < 0.1:
        cells = cells[: rng.randint(0, len(cells))]
    pools = host.pools
    if pools is not None:
        left = [rng.randint(0, pool.count) for pool in pools]
        pools = tuple(
            replace(pool, count=count, devices=pool.devices[:count])
            for pool, count in zip(pools, left, strict=True)
            if count
        )
    return HostTopology(cells, None if rng.random() < 0.05 else pools)


def _used_cell(rng: random.Random, cell: HostCell) -> HostCell:
    if rng.random() < 0.2:  # a host of before Train: one kind of CPUs
        every = cell.cpus | cell.pcpus
        cell = replace(cell, cpus=every, pcpus=every)
    taken = rng.choice((0.0, 0.0, 0.5, 0.9))
    pinned = [cpu for cpu in numbers_of(cell.pcpus) if rng.random() < taken]
    pages = tuple(
        replace(one, used=rng.randint(0, one.total), reserved=rng.randint(0, 3))
        for one in cell.pages
    )
    return replace(
        cell,
        pinned=cpus_of(pinned),
        cpu_usage=rng.randint(0, 40),
        memory_usage=rng.randint(0, cell.memory),
        pages=pages if rng.random() < 0.8 else (),
    )


def asked(rng: random.Random) -> Wanted:
    """A request for cells, devices and networks."""
    count = rng.choice((0, 1, 1, 1, 2, 2, 4))
    policy = rng.choice((None, "shared", "dedicated", "dedicated", "mixed"))
    cells = tuple(_asked_cell(rng, number, policy) for number in range(count))
    return Wanted(
        cells,
        isolates_emulator=policy in ("dedicated", "mixed") and rng.random() < 0.2,
        devices=tuple(_devices(rng) for _ in range(rng.choice((0, 0, 1, 2)))),
        physical_networks=frozenset(
            rng.sample(("physnet0", "physnet1", "physnet2"), rng.choice((0, 0, 1, 2)))
        ),
        is_tunnelled=rng.random() < 0.1,
        cpu_ratio=rng.choice((None, 1.0, 2.0)),
        ram_ratio=rng.choice((None, 1.0, 1.5)),
    )


def _asked_cell(rng: random.Random, number: int, policy: Any) -> InstanceCell:
    vcpus = rng.choice((1, 2, 4, 6))
    pinned = {"dedicated": vcpus, "mixed": vcpus - 1}.get(policy, 0)
    sizes = (t.SMALL_PAGES, t.LARGE_PAGES, t.ANY_PAGES, 2048, 1 << 20, 16)
    return InstanceCell(
        number,
        cpus_of(range(pinned, vcpus)),
        cpus_of(range(pinned)),
        rng.choice((512, 1_024, 4_096, 20_000)),
        rng.choice((None, None, *sizes)),
        policy,
        rng.choice((None, "prefer", "isolate", "require")) if pinned else None,
    )


def _devices(rng: random.Random) -> DeviceRequest:
    wanted: list[dict[str, Any]] = [
        {"physical_network": "physnet0"},
        {"physical_network": "physnet1", "dev_type": t.TYPE_PF},
        {"vendor_id": "10DE", "product_id": "20b5"},
        {"vendor_id": "8086", "trusted": "true"},
        {"dev_type": t.VDPA, "physical_network": "physnet0"},
        {"remote_managed": "True", "physical_network": "physnet0"},
        {"address": "0000:3b:00.0"},
        {"vendor_id": "none"},
    ]
    affinity: t.Affinity = rng.choice(t.Affinity.__args__)  # type: ignore[attr-defined]
    some = tuple(rng.sample(wanted, rng.choice((1, 1, 2))))
    return DeviceRequest(None, rng.choice((1, 1, 2, 3)), some, True, affinity)


def drawn(seed: int) -> tuple[list[HostTopology], list[Wanted]]:
    rng = random.Random(seed)
    machines = [make() for make in synthetic.MACHINES]
    hosts = [used(rng, rng.choice(machines)) for _ in range(HOSTS)]
    return hosts, [asked(rng) for _ in range(REQUESTS)]


def compared(seed: int) -> tuple[int, int]:
    """How many hosts do not fit, and how many of them are excluded."""
    hosts, requests = drawn(seed)
    fleet = fleet_of(hosts)
    left = fleet.hosts.left
    assert [len(one.cells) for one in left] == [len(one.cells) for one in hosts]
    unfit = excluded = 0
    for wanted in requests:
        mask = mask_of(seen(fleet), wanted)
        fits = [isinstance(fit(one, wanted, {}), Fit) for one in left]
        wrong = [n for n, one in enumerate(fits) if one and not mask[n]]
        assert not wrong, f"{wanted} fits {left[wrong[0]]}"
        unfit += fits.count(False)
        excluded += int((~mask).sum())
    return unfit, excluded


@pytest.mark.parametrize("seed", SEEDS)
def test_no_host_that_fits_is_excluded(seed: int) -> None:
    unfit, excluded = compared(seed)
    print(f"of {unfit} that do not fit, {excluded} are excluded")
    assert excluded > 0.9 * unfit > 0


def test_some_rows_are_those_of_all() -> None:
    hosts, requests = drawn(0)
    fleet = fleet_of(hosts)
    for rows in (np.array([5, 3, 20]), np.arange(HOSTS)[::-1]):
        for wanted in requests:
            every = mask_of(seen(fleet), wanted)
            assert mask_of(Hosts(fleet, rows), wanted).tolist() == every[rows].tolist()


# -- each condition alone ---------------------------------------------------------

PLAIN = InstanceCell(0, 0, 0b11, 1_024, policy="dedicated")
NIC = DeviceRequest(None, 1, ({"physical_network": "physnet1"},))


@pytest.mark.parametrize(
    ("make", "fits", "does_not"),
    [
        (synthetic.four_cells, Wanted((PLAIN,) * 4), Wanted((PLAIN,) * 5)),
        (
            synthetic.four_cells,
            Wanted((replace(PLAIN, pcpus=cpus_of(range(14))),)),
            Wanted((replace(PLAIN, pcpus=cpus_of(range(15))),)),
        ),
        (
            synthetic.four_cells,
            Wanted((replace(PLAIN, threads="require"),)),
            Wanted((replace(PLAIN, threads="isolate"),)),
        ),
        (
            synthetic.single_cell,
            Wanted((replace(PLAIN, threads="isolate"),)),
            Wanted((replace(PLAIN, threads="require"),)),
        ),
        (
            synthetic.four_cells,
            Wanted((replace(PLAIN, memory=16_384, page_kib=1 << 20),)),
            Wanted((replace(PLAIN, memory=17_408, page_kib=1 << 20),)),
        ),
        (
            synthetic.four_cells,
            Wanted((replace(PLAIN, memory=1_024, page_kib=t.LARGE_PAGES),)),
            Wanted((replace(PLAIN, memory=1_024, page_kib=64),)),
        ),
        (
            synthetic.four_cells,
            Wanted((InstanceCell(0, 0b11, 0, 1_024),), cpu_ratio=1.0),
            Wanted((InstanceCell(0, 0b11, 0, 1_024),), cpu_ratio=0.5),
        ),
        (
            synthetic.network_cards,
            Wanted((PLAIN,), devices=(replace(NIC, count=4, affinity="required"),)),
            Wanted((PLAIN,), devices=(replace(NIC, count=5, affinity="required"),)),
        ),
        (
            synthetic.network_cards,
            Wanted((PLAIN,), physical_networks=frozenset({"physnet0"})),
            Wanted((PLAIN,), physical_networks=frozenset({"physnet0", "physnet1"})),
        ),
        (
            synthetic.vdpa_card,
            Wanted(devices=(DeviceRequest(None, 2, ({"dev_type": t.VDPA},)),)),
            Wanted(devices=(DeviceRequest(None, 2, ({"product_id": "101e"},)),)),
        ),
    ],
)
def test_each_condition(
    make: Callable[[], HostTopology], fits: Wanted, does_not: Wanted
) -> None:
    host = make()
    fleet = fleet_of([host])
    for wanted, passes in ((fits, True), (does_not, False)):
        assert isinstance(fit(host, wanted, {}), Fit) is passes
        assert mask_of(seen(fleet), wanted).tolist() == [passes]


def test_hosts_that_report_neither_have_nothing_to_give() -> None:
    fleet = fleet_of([HostTopology()])
    assert mask_of(seen(fleet), Wanted()).tolist() == [True]
    assert mask_of(seen(fleet), Wanted((PLAIN,))).tolist() == [False]
    assert mask_of(seen(fleet), Wanted(devices=(NIC,))).tolist() == [False]
