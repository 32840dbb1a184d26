"""Laws of claims over random fleets and commands, beside a plain reading of the rule.

Never over capacity, never a broken group, no trace of a refusal, every change undone by
its inverse, and the choices taken are those that one PUT after the other would get.
"""

from __future__ import annotations

from random import Random

import pytest

from gantt.errors import ClaimLost, DoesNotFit, GanttError
from gantt.model import commands as c
from gantt.model import rows as t
from gantt.model.changes import Change
from gantt.model.hosts import Instance, ServerGroup, Service
from gantt.model.rows import BookingRow
from gantt.model.spec import InstanceGroup
from gantt.placement import group_rules
from gantt.placement.rules import plan
from gantt.state import check
from gantt.state.state import State
from tests.placement.fleet_desk import (
    FleetDesk,
    choice,
    claim,
    report,
    server,
    undone,
    uuid_of,
)

HOSTS, SERVERS, STEPS = 5, 14, 60
POLICIES = ("affinity", "anti-affinity", "soft-affinity", None)
BOOKS = (t.ALLOCATIONS, t.CONSUMERS, t.BOOKINGS, t.INVENTORIES)


def capacities(state: State) -> dict[tuple[int, int], tuple[int, float]]:
    """Inventory -> (used, capacity)."""
    found = {}
    for key in state.inventories.ids():
        index, slot = state.inventories.place_by_id.get(key) or (0, 0)
        table = state.inventories.table(index)
        assert table is not None
        place = int(table.provider[slot]), index
        found[place] = int(table.used[slot]), float(table.capacity[slot])
    return found


def random_claim(rng: Random, name: str) -> c.Claim:
    size = {"VCPU": rng.randint(1, 3), "MEMORY_MB": 512 * rng.randint(1, 4)}
    instances = []
    for number in rng.sample(range(SERVERS), rng.randint(1, 4)):
        wanted = size if rng.random() < 0.8 else {}
        choices = tuple(
            choice(rng.randint(1, HOSTS + 1), wanted) for _ in range(rng.randint(1, 5))
        )
        instances.append(c.InstanceClaim(server(number), choices))
    group = None
    if rng.random() < 0.6:
        policy = rng.choice(POLICIES)
        hosts = frozenset({"h1"}) if rng.random() < 0.1 else frozenset[str]()
        # As Nova's callers do: they name what they place as members.
        members = frozenset(one.instance_uuid for one in instances)
        members |= {server(rng.randrange(SERVERS)) for _ in range(2)}
        uuid, most = f"{policy}-{rng.randrange(2)}", rng.randint(1, 2)
        group = InstanceGroup(uuid, policy, most, members, hosts)
    lease = rng.choice((None, 3, 30))
    return claim(name, *instances, group=group, leased_for_us=lease)


def random_command(rng: Random, step: int, open_claims: list[str]) -> c.Command[object]:
    """Anything that concerns hosts, instances and claims."""
    host, number = rng.randint(1, HOSTS), server(rng.randrange(SERVERS))
    name = f"h{host}"
    known = rng.choice(open_claims) if open_claims else "nothing"
    some = tuple(server(rng.randrange(SERVERS)) for _ in range(2))
    target = rng.choice(({}, {uuid_of(rng.randint(1, HOSTS)): {"VCPU": 1}}))
    put = c.ConsumerAllocations(number, target, "p", "u")
    makers = (
        lambda: report(host, vcpus=rng.randint(0, 9), cpu_allocation_ratio=1.0),
        lambda: report(host, instances=some, vcpus_used=rng.randint(0, 4)),
        lambda: c.UpdateService(Service(name, disabled=rng.random() < 0.3)),
        lambda: c.UpdateInstances(name, (Instance(number),)),
        lambda: c.SyncInstances(name, some),
        lambda: c.DeleteInstance(name, number),
        lambda: c.DeleteHost(name, f"n{host}") if rng.random() < 0.2 else None,
        lambda: c.SetServerGroup(
            ServerGroup(f"{rng.choice(POLICIES)}-0", members=frozenset(some))
        ),
        lambda: c.SetAllocations((put,)),
        lambda: c.DeleteAllocations(number),
        lambda: c.ConfirmClaim(known),
        lambda: c.ReleaseClaim(known),
        lambda: c.ExpireClaims(limit=rng.randint(1, 3)),
    )
    made = rng.choice(makers)()
    return made or random_claim(rng, f"claim-{step}")


def check_claim(desk: FleetDesk, command: c.Claim) -> None:
    """What a claim may not do, and that it does what single PUTs would."""
    fleet, group = desk.state.fleet, command.group
    room = capacities(desk.state)
    before = {} if group is None else group_rules.counts(fleet, group)
    # The plain reading knows no moves.
    is_plain = all(
        desk.consumer(one.instance_uuid) is None for one in command.instances
    )
    expected = plainly(desk.state, command, desk.now + 1) if is_plain else None
    try:
        assert undone(desk, command)
    except ClaimLost:
        assert expected is None
        desk.refusal(command, ClaimLost)
        return
    answer = desk.do(command)
    assert not is_plain or answer.taken == expected
    for place, (used, capacity) in capacities(desk.state).items():
        assert used <= max(capacity, room[place][0])
    if group is None:
        return
    after = group_rules.counts(fleet, group)
    if group.policy == "anti-affinity":
        most = group.max_server_per_host
        assert all(n <= max(most, before.get(h, 0)) for h, n in after.items())
    if group.policy == "affinity":
        assert len(after) <= max(1, len(group.hosts | before.keys()))


def plainly(state: State, command: c.Claim, now: int) -> tuple[int, ...] | None:
    """The choices that hold, one instance after the other, each written before the
    next is tried; None: an instance has none."""
    copied = copy_of(state)
    taken = []
    for instance in command.instances:
        for number, one in enumerate(instance.choices):
            if take_plainly(copied, command, instance.instance_uuid, one, now):
                taken.append(number)
                break
        else:
            return None
    return tuple(taken)


def copy_of(state: State) -> State:
    made = State()
    for table in t.ROW_TYPES:
        made.load(table, list(state.rows(table)))
    return made


def take_plainly(
    state: State, command: c.Claim, uuid: str, one: c.Choice, now: int
) -> bool:
    fleet = state.fleet
    row = fleet.hosts.row_by_id.get(one.host_id)
    if row is None or fleet.hosts.is_disabled[row]:
        return False
    host, group = fleet.hosts.hosts[row], command.group
    if group is not None:
        there = {*fleet.instances.on(host), *fleet.claims.on(one.host_id)}
        if not group_rules.keeps_rule(
            group,
            host,
            uuid,
            count=group_rules.counts(fleet, group).get(host, 0),
            group_hosts=group_rules.hosts(fleet, group),
            on_host=there,
        ):
            return False
    old = fleet.claims.by_instance.get(uuid)
    if one.allocations:
        wish = c.ConsumerAllocations(uuid, one.allocations, "project", "user")
        try:
            planned = plan(state, c.SetAllocations((wish,)), now)
        except DoesNotFit:
            return False
        state.apply(planned.changes, state.cursor)
    elif not has_room(state, row, command, old):
        return False
    new = BookingRow(
        id=state.next_id(t.BOOKINGS),
        claim=command.claim,
        instance_uuid=uuid,
        host_id=one.host_id,
        vcpus=command.vcpus,
        memory_mb=command.memory_mb,
        disk_mb=command.disk_mb,
        group_uuid=None if group is None else group.uuid,
        leased_until=None,
        consumer_generation=None,
        remote=None,
        created_at=now,
        updated_at=None,
    )
    stale = fleet.claims.by_instance.get(uuid)
    if stale is not None:
        state.apply([Change(t.BOOKINGS, stale.id, stale, None)], state.cursor)
    state.apply([Change(t.BOOKINGS, new.id, None, new)], state.cursor)
    return True


def has_room(state: State, row: int, command: c.Claim, old: BookingRow | None) -> bool:
    """Ram, Core and Disk, at a ratio of 1 unless reported; its own claim aside."""
    hosts = state.fleet.hosts
    mine = old if old is not None and hosts.row_by_id.get(old.host_id) == row else None
    ratio = hosts.cpu_ratio[row] or 1.0
    vcpus = hosts.vcpus_used[row] - (mine.vcpus if mine else 0) + command.vcpus
    memory = hosts.free_ram_mb[row] + (mine.memory_mb if mine else 0)
    disk = hosts.free_disk_mb[row] + (mine.disk_mb if mine else 0)
    return bool(
        (hosts.vcpus_total[row] == 0 or vcpus <= hosts.vcpus_total[row] * ratio)
        and (hosts.vcpus_total[row] == 0 or command.vcpus <= hosts.vcpus_total[row])
        and memory >= command.memory_mb
        and disk >= command.disk_mb
    )


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_asked_in_whatever_order(seed: int) -> None:
    rng = Random(seed)
    desk = FleetDesk(HOSTS)
    for step in range(STEPS):
        names = sorted({row.claim for row in desk.claims()})
        command = random_command(rng, step, names)
        desk.now += rng.choice((0, 0, 0, 10))
        if rng.random() < 0.4:
            command = random_claim(rng, f"claim-{step}")
        if isinstance(command, c.Claim):
            check_claim(desk, command)
            continue
        try:
            assert undone(desk, command)
        except GanttError as refusal:
            desk.refusal(command, type(refusal))
        else:
            desk.do(command)
        assert check.problems(desk.state) == []


@pytest.mark.parametrize("seed", range(40))
def test_a_claim_that_is_released_leaves_the_books_as_before(seed: int) -> None:
    rng = Random(seed)
    desk = FleetDesk(HOSTS)
    number = 0
    for step in range(STEPS):
        command = random_claim(rng, f"claim-{step}")
        uuids = {one.instance_uuid for one in command.instances}
        # A claim that replaces another one gives that back, and does not restore it.
        if any(row.instance_uuid in uuids for row in desk.claims()):
            leave = rng.choice(desk.claims()).claim
            desk.do(rng.choice((c.ReleaseClaim, c.ConfirmClaim))(leave))
            continue
        before = {table: shown(desk.books(table)[table]) for table in BOOKS}
        try:
            desk.do(command)
        except ClaimLost:
            continue
        if rng.random() < 0.6:
            number += 1
            end: c.Command[object] = c.ReleaseClaim(command.claim)
            if command.leased_for_us is not None:
                desk.now += 100
                end = c.ExpireClaims()
                before = without_leases(desk, command, before)
            desk.do(end)
            after = {table: shown(desk.books(table)[table]) for table in BOOKS}
            if before:
                assert after == before
    assert number > 2


def without_leases(
    desk: FleetDesk, command: c.Claim, before: dict[str, list[str]]
) -> dict[str, list[str]]:
    """Nothing to compare with when the sweep takes other leases along."""
    others = [row for row in desk.claims() if row.claim != command.claim]
    return {} if any(row.leased_until is not None for row in others) else before


def shown(rows: list[t.Row]) -> list[str]:
    """Rows as they are told, generations and times of kept ones aside."""
    found = []
    for row in rows:
        if isinstance(row, t.AllocationRow):
            found.append(f"{row.resource_provider_id} {row.consumer_id} {row.used}")
        elif isinstance(row, t.ConsumerRow):
            found.append(row.uuid)
        else:
            found.append(repr(row))
    return found
