"""Hosts that launch what was promised them, and report it late: it is always free.

A plain world beside the columns: what instances really use, what Nova's database says
of it and since when, and what of that was read. GANTT_TOPOLOGY_SEEDS makes it longer.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import ClaimLost
from gantt.model import commands as c
from gantt.model.hosts import Instance
from gantt.model.topology import (
    Device,
    DeviceRequest,
    Fit,
    HostCell,
    HostTopology,
    InstanceCell,
    Pool,
    Wanted,
)
from gantt.topology.fit import fit
from gantt.topology.host_remainder import take
from tests.placement.fleet_desk import FleetDesk, claim, on, report, server
from tests.scheduler.small_cells import cell_of

SEEDS = int(os.environ.get("GANTT_TOPOLOGY_SEEDS", "40"))
STEPS = 150
SECOND = 1_000_000
NIC: dict[str, Any] = {"vendor_id": "8086", "product_id": "154c", "dev_type": "type-VF"}


class Compute:
    """One host: what is used there, and its row in Nova's database."""

    def __init__(self, number: int, *, obeys: bool) -> None:
        names = tuple(Device(f"0000:81:00.{n}") for n in range(6)) if obeys else ()
        self.number = number
        self.empty = HostTopology(
            tuple(HostCell(n, 0, 0b1111 << 4 * n, 4096) for n in range(2)),
            (Pool(6, 0, NIC, None, names),),
            obeys,
        )
        self.now = self.empty
        self.launched: dict[int, Fit] = {}
        # Instances with a row in the database -> its time, in seconds.
        self.rows: dict[int, int] = {}
        self.saved: tuple[HostTopology, int] = (self.now, 0)
        # What was read of it, some of which comes again.
        self.told: list[c.UpdateHost] = []

    def launch(self, instance: int, wanted: Wanted, named: Fit | None, at: int) -> None:
        """The instance's row is written; the report is not yet."""
        found = named or fit(self.now, wanted, {})
        assert isinstance(found, Fit), f"{instance} was promised {found}"
        self.now = take(self.now, found)
        self.launched[instance] = found
        self.rows[instance] = at

    def delete(self, instance: int) -> None:
        del self.launched[instance], self.rows[instance]
        self.now = self.empty
        for found in self.launched.values():
            self.now = take(self.now, found)

    def statement(self) -> c.UpdateHost:
        """The row, as the feed reads it."""
        host, at = self.saved
        cells = [
            cell_of(
                cell.id,
                _numbers(cell.pcpus),
                _numbers(cell.pinned),
                memory=cell.memory,
                memory_usage=cell.memory_usage,
            )
            for cell in host.cells
        ]
        pools = [
            {
                **pool.tags,
                "numa_node": pool.numa_node,
                "count": pool.count,
                **(
                    {"devices": [{"address": a.address} for a in pool.devices]}
                    if pool.devices
                    else {}
                ),
            }
            for pool in host.pools or ()
        ]
        told = report(
            self.number,
            vcpus=64,
            cpu_allocation_ratio=1.0,
            numa_topology={"cells": cells},
            pci_stats=pools,
            obeys_claims=host.obeys,
        )
        self.told.append(replace(told, saved_at=at * SECOND))
        return self.told[-1]


def _numbers(cpus: int) -> list[int]:
    return [number for number in range(cpus.bit_length()) if cpus >> number & 1]


class World:
    """All sizes are equal, so that it does not matter in which order hosts launch."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.desk = FleetDesk()
        self.hosts = [Compute(n, obeys=n == 3) for n in (1, 2, 3)]
        mask = (1 << self.rng.choice((1, 2, 4))) - 1
        cells = (InstanceCell(0, 0, mask, 64, policy="dedicated"),)
        asked = DeviceRequest("nic", 1, (NIC,))
        self.wanted = Wanted(cells, devices=self.rng.choice(((), (asked,))))
        self.count = self.refused = 0
        # Instance -> (its host, what it must use), until it is launched.
        self.promised: dict[int, tuple[Compute, Fit | None]] = {}
        for host in self.hosts:
            self.desk.do(host.statement())

    @property
    def at(self) -> int:
        return self.desk.now // SECOND

    def step(self) -> None:
        often = (self.claim, self.save, self.read)
        rare = (self.launch, self.release, self.delete, self.wait, self.read_late)
        act = self.rng.choice((*often, *often, *rare))
        act()

    def claim(self) -> None:
        self.count += 1
        wish = [on(self.count, *self.rng.sample((1, 2, 3), 3), size={})]
        name = f"claim-{self.count}"
        try:
            found = self.desk.do(claim(name, *wish, wanted=self.wanted, vcpus=0))
        except ClaimLost:
            self.refused += 1
            return
        key = wish[0].choices[found.taken[0]].host_id
        self.promised[self.count] = self.hosts[key - 1], found.fits[0]

    def launch(self) -> None:
        if self.promised:
            instance = self.rng.choice(list(self.promised))
            host, named = self.promised.pop(instance)
            host.launch(instance, self.wanted, named, self.at)

    def save(self) -> None:
        host = self.rng.choice(self.hosts)
        host.saved = host.now, self.at

    def read(self) -> None:
        """The feed: a report, instances, or both in either order."""
        host = self.rng.choice(self.hosts)
        both = [self.read_report, self.read_instances]
        self.rng.shuffle(both)
        for part in both[: self.rng.choice((1, 2))]:
            part(host)

    def read_report(self, host: Compute) -> None:
        self.desk.do(host.statement())

    def read_late(self) -> None:
        """A report comes again, or after newer ones."""
        self.desk.do(self.rng.choice(self.rng.choice(self.hosts).told[-5:]))

    def read_instances(self, host: Compute) -> None:
        told = tuple(
            Instance(server(one), {}, at * SECOND) for one, at in host.rows.items()
        )
        name = f"h{host.number}"
        self.desk.do(c.UpdateInstances(name, told))
        self.desk.do(c.SyncInstances(name, tuple(one.uuid for one in told)))

    def release(self) -> None:
        if self.promised:
            instance = self.rng.choice(list(self.promised))
            del self.promised[instance]
            self.desk.do(c.ReleaseClaim(f"claim-{instance}"))

    def delete(self) -> None:
        host = self.rng.choice(self.hosts)
        if host.launched:
            instance = self.rng.choice(list(host.launched))
            host.delete(instance)
            self.desk.do(c.DeleteInstance(f"h{host.number}", server(instance)))

    def wait(self) -> None:
        self.desk.now += self.rng.choice((SECOND // 3, SECOND, 3 * SECOND))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_is_promised_is_free_until_it_is_launched(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    # All is quiet: everything is written, and read.
    world.desk.now += 5 * SECOND
    for host in world.hosts:
        host.saved = host.now, world.at
        world.read_instances(host)
        world.read_report(host)
    pending = {row.instance_uuid for row in world.desk.claims()}
    assert pending == {server(one) for one in world.promised}
    for one, (host, named) in world.promised.items():
        host.launch(one, world.wanted, named, world.at)


def test_worlds_are_full_now_and_then() -> None:
    refused = 0
    for seed in range(10):
        world = World(seed)
        for _ in range(STEPS):
            world.step()
        refused += world.refused
    assert refused > 20, "there was always room"
