"""Random stories of a host whose agent lists instances: what runs is promised to none
other, and nothing stays promised once its allocations are gone."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import ClaimLost
from gantt.model import commands as c
from gantt.model.topology import Fit, Wanted
from tests.placement.fleet_desk import FleetDesk, claim, on, report, server, uuid_of
from tests.placement.rules.test_topology_agents import agent, heartbeat
from tests.placement.rules.test_topology_claims import NIC as KIND
from tests.placement.rules.test_topology_claims import (
    PINNED,
    SECOND,
    WITH_NIC,
    cell,
    named,
)
from tests.placement.rules.test_topology_ends import allocated

ROOM = {"vcpus": 999, "memory_mb": 999_999, "local_gb": 99_999}
SPACE = {"free_ram_mb": 999_999, "free_disk_gb": 99_999}
ASKED = (PINNED, WITH_NIC, Wanted(PINNED.cells, devices=WITH_NIC.devices))
NICS = [{"address": f"0000:81:00.{number}"} for number in range(1, 6)]
Used = set[int | str]


def migration(number: int) -> str:
    return f"66666666-5555-4555-8555-{number:012d}"


def used_by(fit: Fit) -> Used:
    found: Used = {cpu for one in fit.cells for _, cpu in one.pinning}
    return found | {each.address for one in fit.devices for each in one.devices}


class Story:
    """``uses``: claim -> (the consumer that holds it, what its instance uses)."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.desk = FleetDesk()
        self.uses: dict[str, tuple[str, Used]] = {}
        self.here: dict[int, str] = {}
        self.moving: set[int] = set()
        self._reports = self._claims = self._instances = 0
        self._starts()
        there = {"numa_topology": self._cells(()), "cpu_allocation_ratio": 1.0}
        self.desk.do(report(2, **ROOM, **SPACE, **there))

    def step(self) -> None:
        self.desk.now += self.rng.choice((0, 1, SECOND, 5 * SECOND))
        steps = (
            self.start,
            self.start,
            self.list,
            self.list,
            self.beat,
            self.name,
            self.resize,
            self.move,
            self.confirm,
            self.revert,
            self.delete,
            self.lose,
        )
        self.rng.choice(steps)()

    def start(self) -> None:
        self._instances += 1
        lease = self.rng.choice((None, SECOND))
        if not self._claim(self._instances, leased_for_us=lease) or lease is None:
            return
        if self.rng.random() < 0.5:
            self.desk.do(c.ConfirmClaim(self.here[self._instances]))
        else:
            self.desk.now += 2 * SECOND
            self.desk.do(c.ExpireClaims())
            del self.uses[self.here.pop(self._instances)]

    def list(self) -> None:
        """Of some, whose CPUs it may count."""
        listed = [one for one in self.here if self.rng.random() < 0.8]
        fields: dict[str, Any] = {}
        if self.rng.random() < 0.5:
            known = [self.uses[self.here[one]][1] for one in listed]
            cpus = tuple(cpu for one in known for cpu in one if isinstance(cpu, int))
            fields["numa_topology"] = self._cells(cpus)
        count = self.rng.randrange(99)
        self._agent(instances=tuple(map(server, listed)), running_vms=count, **fields)

    def beat(self) -> None:
        heartbeat(self.desk, self._reports)

    def name(self) -> None:
        if self.here and self.rng.random() < 0.5:
            self.desk.do(named(self.rng.choice(list(self.here))))
        else:
            self.desk.do(c.SyncInstances("h1", tuple(map(server, self.here))))

    def resize(self) -> None:
        if (number := self._settled()) is not None:
            self.desk.do(named(number))
            self._claim(number)

    def move(self) -> None:
        if (number := self._settled()) is None:
            return
        self._give(server(number), migration(number))
        self.moving.add(number)
        if self.rng.random() < 0.5:
            self._claims += 1
            self.desk.do(claim(f"c{self._claims}", on(number, 2)))

    def confirm(self) -> None:
        if self.moving:
            number = self.moving.pop()
            self._end(migration(number))
            del self.here[number]

    def revert(self) -> None:
        if self.moving:
            number = self.moving.pop()
            self._give(migration(number), server(number))

    def delete(self) -> None:
        if (number := self._settled()) is not None:
            self._end(server(number))
            del self.here[number]

    def lose(self) -> None:
        """An operator deletes the host, and it comes back."""
        self.desk.do(c.DeleteHost("h1", "n1"))
        for _ in range(self.rng.randrange(3)):
            self.rng.choice((self.confirm, self.revert, self.delete))()
        listed = [one for one in self.here if self.rng.random() < 0.8]
        self._reports = 0
        self._starts(instances=tuple(map(server, listed)))

    def end(self) -> None:
        """Nothing has allocations any more."""
        for number in range(1, self._instances + 1):
            for uuid in (migration(number), server(number)):
                if self.desk.state.consumers.find(uuid) is not None:
                    self.desk.do(c.DeleteAllocations(uuid))

    def _claim(self, number: int, **more: Any) -> bool:
        """Whether there was room."""
        self._claims += 1
        name = f"c{self._claims}"
        wanted = self.rng.choice(ASKED)
        (row,) = self.desk.state.fleet.hosts.rows_of("h1")
        host_id = int(self.desk.state.fleet.hosts.id[row])
        choices = (c.Choice(host_id, on(number, 1).choices[0].allocations),)
        placed = c.InstanceClaim(server(number), choices)
        asked = claim(name, placed, wanted=wanted, **more)
        try:
            (fit,) = self.desk.do(asked).fits
        except ClaimLost:
            return False
        found = used_by(fit)
        for other, (_, used) in self.uses.items():
            assert not used & found, f"{other} uses what {name} is promised"
        self.uses[name] = server(number), found
        self.here[number] = name
        return True

    def _settled(self) -> int | None:
        found = [one for one in self.here if one not in self.moving]
        return self.rng.choice(found) if found else None

    def _give(self, giver: str, taker: str) -> None:
        """The allocations on host 1, and what they hold."""
        written = (
            replace(allocated(taker, 1), generation=self._generation(taker)),
            replace(allocated(giver), generation=self._generation(giver)),
        )
        self.desk.do(c.SetAllocations(written))
        for name, (holder, used) in self.uses.items():
            if holder == giver:
                self.uses[name] = taker, used

    def _end(self, holder: str) -> None:
        self.desk.do(c.DeleteAllocations(holder))
        kept = {name: one for name, one in self.uses.items() if one[0] != holder}
        self.uses = kept

    def _generation(self, uuid: str) -> int | None:
        found = self.desk.state.consumers.find(uuid)
        return None if found is None else found.generation

    def _starts(self, **fields: Any) -> None:
        """The agent's first report."""
        pool = {**KIND, "count": len(NICS), "numa_node": 0, "devices": NICS}
        facts = {"numa_topology": self._cells(()), "pci_stats": [pool], **ROOM, **SPACE}
        self._agent(**facts, **fields, uuid=uuid_of(1), lists_instances=True)

    def _agent(self, **fields: Any) -> None:
        self._reports += 1
        agent(self.desk, self._reports, **fields)

    def _cells(self, pinned: tuple[int, ...]) -> dict[str, Any]:
        """Two of four CPUs."""
        found = []
        for number, cpus in enumerate((range(4), range(4, 8))):
            taken = tuple(cpu for cpu in cpus if cpu in pinned)
            found.append({**cell(number, cpus, taken), "memory": 65_536})
        return {"cells": found}


@pytest.mark.parametrize("seed", range(30))
def test_what_runs_is_promised_once_and_ends_with_its_allocations(seed: int) -> None:
    story = Story(seed)
    for _ in range(60):
        story.step()
    story.end()
    assert not story.desk.claims()
