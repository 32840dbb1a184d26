"""Decisions on small fleets, next to the best there is, found by trying everything.

``GANTT_ACCURACY_EXAMPLES`` sets how many fleets of each kind are tried; ``-rP`` prints
the rates.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from gantt.engine.factory import standard_names
from gantt.errors import NoValidHost
from gantt.model import commands as c
from gantt.model.answers import Inventory
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.model.topology import Fit
from gantt.placement.candidates.combination import Budget
from gantt.replay.machines import START, uuid_of
from gantt.replay.replay_books import ReplayBooks
from gantt.scheduler.evaluation.known_drivers import driver_of
from gantt.scheduler.feasibility.candidate_sources import BOOK_SOURCE
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from gantt.scheduler.selection.claim import claim_of
from gantt.scheduler.selection.picks import pick_hosts
from tests.scheduler.brute_force import (
    NOWHERE,
    Group,
    Host,
    Way,
    Wish,
    best_of,
    drawn_hosts,
    drawn_wish,
    fits,
    most,
)
from tests.scheduler.small_cells import FILTERS, NIC, cell_of

EXAMPLES = int(os.environ.get("GANTT_ACCURACY_EXAMPLES", "30"))
GPU, FAST = "CUSTOM_GPU", "CUSTOM_FAST"
GROUPS = (
    Group(uuid_of("group", "apart"), "anti-affinity", 1),
    Group(uuid_of("group", "two"), "anti-affinity", 2),
    Group(uuid_of("group", "together"), "affinity"),
)
OPTIONS: dict[str, Any] = {
    "enabled_filters": FILTERS,
    "disable_fallback_pcpu_query": True,
}


class Fleet:
    """``hosts``: the model; beside it Gantt's books of the same hosts, all empty."""

    def __init__(self, hosts: list[Host], **options: Any) -> None:
        self.hosts = hosts
        self._books = ReplayBooks(START)
        self._driver = driver_of(policy_of(SchedulerOptions(**OPTIONS, **options)))
        self._count = 0
        for command in _commands(hosts):
            self._books.submit(command)

    def ask(self, wish: Wish, count: int = 1) -> bool:
        """Let Gantt place ``count`` instances; whether it did. The model follows it,
        and checks that each is where it may be."""
        state = self._books.state
        names = tuple(uuid_of(f"i{self._count + n}") for n in range(count))
        self._count += count
        request = ScheduleRequest(
            _spec(wish), instance_uuids=names, return_alternates=False
        )
        try:
            found = pick_hosts(
                state, request, BOOK_SOURCE, self._driver, START, Budget(None)
            )
        except NoValidHost:
            return False
        if len(found.picks) < count:
            return False
        claim = claim_of(request, found.feasible, found.picks, names[0])
        claimed = self._books.submit(claim)
        wanted = claimed.fits or (None,) * count
        for picks, at, fit in zip(found.picks, claimed.taken, wanted, strict=True):
            pick = picks[at]
            host = self.hosts[int(state.fleet.hosts.hosts[pick.row][1:])]
            way = _way(host, wish, pick.candidate.allocations, fit)
            assert way in set(host.ways(wish)), (wish, way, host)
            host.take(wish, way)
        return True


def _commands(hosts: list[Host]) -> Iterator[c.Command[object]]:
    yield standard_names()
    yield c.CreateResourceClass(GPU)
    for trait in ("CUSTOM_A", "CUSTOM_B", FAST):
        yield c.CreateTrait(trait)
    for host in hosts:
        root = uuid_of(host.name)
        yield c.CreateProvider(root, host.name, None)
        stock = {"VCPU": host.vcpus, "MEMORY_MB": host.memory_mb}
        if host.cells:
            stock["PCPU"] = sum(host.cells)
        yield c.SetInventories(
            root, {name: Inventory(size) for name, size in stock.items()}
        )
        yield c.SetTraits(root, tuple(sorted(host.traits)))
        for number, (left, is_fast) in enumerate(host.gpus):
            gpu = uuid_of(host.name, f"gpu{number}")
            yield c.CreateProvider(gpu, f"{host.name}_gpu{number}", root)
            yield c.SetInventories(gpu, {GPU: Inventory(left)})
            if is_fast:
                yield c.SetTraits(gpu, (FAST,))
        stats = _stats(host)
        yield c.UpdateHost(host.name, host.name, stats, root, writes_books=False)


def _stats(host: Host) -> HostStats:
    first, cells = 0, []
    for number, size in enumerate(host.cells):
        cpus = range(first, first + size)
        first += size
        cells.append(cell_of(number, cpus, memory=4096))
    pools = [
        {**NIC, "numa_node": None if node == NOWHERE else node, "count": count}
        for node, count in sorted(host.cards.items())
        if count
    ]
    return HostStats(
        uuid=uuid_of(host.name),
        hypervisor_hostname=host.name,
        vcpus=host.vcpus + sum(host.cells),
        memory_mb=host.memory_mb,
        local_gb=0,
        vcpus_used=0,
        memory_mb_used=0,
        free_ram_mb=host.memory_mb,
        cpu_allocation_ratio=1.0,
        ram_allocation_ratio=1.0,
        numa_topology={"cells": cells} if cells else None,
        pci_stats=pools,
        obeys_claims=True,
    )


def _spec(wish: Wish) -> RequestSpec:
    extra: dict[str, str] = {}
    if wish.trait:
        extra[f"trait:{wish.trait}"] = "required"
    for number, piece in enumerate(wish.pieces, 1):
        extra[f"resources{number}:{GPU}"] = str(piece)
        if wish.fast:
            extra[f"trait{number}:{FAST}"] = "required"
    if len(wish.pieces) > 1:
        extra["group_policy"] = "isolate" if wish.isolate else "none"
    vcpus = wish.vcpus
    if wish.cells:
        vcpus = wish.cells * wish.cpus
        extra |= {"hw:cpu_policy": "dedicated", "hw:numa_nodes": str(wish.cells)}
    device = {"request_id": "nic", "spec": [NIC], "numa_policy": wish.near}
    group = wish.group
    return RequestSpec(
        Flavor(vcpus, wish.memory_mb, extra_specs=extra),
        pci_requests=({**device, "count": wish.cards},) if wish.cards else (),
        instance_group=None if group is None else InstanceGroup(*group),
    )


def _way(
    host: Host, wish: Wish, allocations: dict[str, dict[str, int]], fit: Fit | None
) -> Way:
    """What Gantt took, in the words of the model. Which piece is of which GPU does not
    matter where pieces are alike, as they are here."""
    gpus: list[int] = []
    for number in range(len(host.gpus)):
        taken = allocations.get(uuid_of(host.name, f"gpu{number}"), {}).get(GPU, 0)
        gpus += [number] * (taken // wish.pieces[0] if wish.pieces else 0)
    cells = () if fit is None else tuple(one.host_cell for one in fit.cells)
    cards: list[int] = []
    for one in () if fit is None else fit.devices:
        cards += [NOWHERE if one.numa_node is None else one.numa_node] * one.count
    return Way(tuple(gpus), cells, tuple(sorted(cards)))


@pytest.mark.parametrize("packing", ["spread", "stack", "room"])
def test_no_single_request_is_refused_that_has_a_place(packing: str) -> None:
    met: Counter[str] = Counter()
    for seed in range(EXAMPLES):
        dice = Random(seed)
        fleet = Fleet(drawn_hosts(dice), packing=packing)
        for _ in range(12):
            wish = drawn_wish(dice, GROUPS)
            has_place = fits(fleet.hosts, wish)
            assert fleet.ask(wish) == has_place, (seed, wish, fleet.hosts)
            met[f"placed {has_place}"] += 1
    assert min(met.values()) > EXAMPLES, "both were met"


@pytest.mark.parametrize("packing", ["spread", "room"])
def test_multi_creates_next_to_the_most_that_fit(packing: str) -> None:
    """Groups too. Members of one must not be refused because the best host for the
    first is too small for all; of pairs of GPUs the order matters."""
    met: Counter[str] = Counter()
    for seed in range(EXAMPLES):
        dice = Random(seed)
        fleet = Fleet(drawn_hosts(dice), packing=packing)
        for _ in range(6):
            wish, count = drawn_wish(dice, GROUPS), dice.randint(2, 4)
            best = most(fleet.hosts, wish, count)
            if fleet.ask(wish, count):
                assert best == count
                met["placed"] += 1
            else:
                met["missed" if best == count else "impossible"] += 1
    print(packing, dict(met))
    assert met["placed"] > EXAMPLES
    assert met["missed"] <= met["placed"] / 200


def test_arrivals_next_to_the_most_that_fit() -> None:
    """One after the other, next to what is placed by an order that knows all of them
    before it places the first."""
    placed = best = 0
    for seed in range(EXAMPLES):
        dice = Random(seed)
        hosts = drawn_hosts(dice, 3)
        wishes = [drawn_wish(dice, GROUPS) for _ in range(5)]
        best += best_of(hosts, wishes)
        fleet = Fleet(hosts)
        placed += sum(fleet.ask(wish) for wish in wishes)
    print(placed, "of", best)
    assert 0.9 * best <= placed <= best
