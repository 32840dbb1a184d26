"""The laws of a revision, checked on plain rows and a naive model.

Separate from the checker because these laws do not depend on callers or time: two
states of the books, the command between them, and what it may have changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import GanttError
from gantt.model import commands as c
from gantt.model import rows as t
from gantt.model.answers import Claimed
from gantt.model.changes import Cursor, LogEntry
from gantt.model.rows import ROW_TYPES, Row
from gantt.placement.rules import plan
from gantt.state.state import State
from tests.simulation import (
    claim_laws,
    demand_laws,
    domain_laws,
    start_laws,
    topology_laws,
)
from tests.simulation.history import Finding, Op, Tables
from tests.simulation.reference import Reference
from tests.simulation.snapshot import Snapshot

_RESHAPED = "Reshape"
_SOFT = frozenset({None, "soft-affinity", "soft-anti-affinity"})


class Step(Struct):
    """From one revision to the next; ``command`` None: an engine's own."""

    before: Tables
    after: Tables
    entry: LogEntry
    command: c.Command[object] | None = None
    op: Op | None = None


def judge(step: Step) -> Iterator[Finding]:
    """Violations in this step."""
    before, after = Snapshot(step.before), Snapshot(step.after)
    yield from _capacity(before, after)
    yield from _generations(step)
    yield from _identities(step)
    yield from _leases(step)
    command = step.command
    yield from claim_laws.booked(step.before, step.after, command)
    yield from demand_laws.kept(step.before, step.after, command, step.entry)
    if command is not None:
        yield from topology_laws.early(step.before, step.after, command)
        yield from topology_laws.risen(step.before, step.after, command)
    if isinstance(command, c.SetAllocations):
        yield from topology_laws.moved(step.before, step.after, command)
    if isinstance(command, c.Claim):
        yield from _claim(step, command, after)
        yield from _group(command, before, after)
        yield from start_laws.capped(step.before, step.after, command)
        kept = claim_laws.kept(step.before, step.after, command)
        group = command.group
        members = {} if group is None else _members(before, group.uuid)
        yield from domain_laws.spread(command, step.before, step.after, kept, members)
        made = tuple(one for one in command.instances if one.instance_uuid not in kept)
        yield from topology_laws.once(replace(command, instances=made), step.after)
    elif command is not None and has_model(command):
        yield from _as_modelled(before, after, command)


def _capacity(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Usage that grows stays within the capacity. An overfull provider (its inventory
    shrank) may be emptied, which does not raise it."""
    for place, used in after.used.items():
        if used <= before.used.get(place, 0):
            continue
        stock = after.stock.get(place)
        capacity = 0.0
        if stock is not None:
            capacity = (stock.total - stock.reserved) * stock.allocation_ratio
        if used > capacity:
            yield Finding(
                "no write raises use above capacity",
                f"{place[1]} of {place[0]} went from {before.used.get(place, 0)} to "
                f"{used} of {capacity:g}",
            )


def _generations(step: Step) -> Iterator[Finding]:
    for table in (t.PROVIDERS, t.CONSUMERS):
        for key, old in step.before[table].items():
            new = step.after[table].get(key)
            if new is not None and new.generation < old.generation:  # type: ignore[union-attr]
                yield Finding("generations never fall", f"{table} {old} became {new}")


def _leases(step: Step) -> Iterator[Finding]:
    """Only claims whose lease has ended expire."""
    if step.entry.kind != "ExpireClaims":
        return
    for key, row in step.before[t.BOOKINGS].items():
        assert isinstance(row, t.BookingRow)
        if key in step.after[t.BOOKINGS]:
            continue
        if row.leased_until is None or row.leased_until > step.entry.at:
            yield Finding(
                "a lease ends at its time and not after it was confirmed",
                f"{row} expired at {step.entry.at}",
            )


def _claim(step: Step, command: c.Claim, after: Snapshot) -> Iterator[Finding]:
    """All instances have the allocations of one of their choices, or none has any."""
    claims = {row.instance_uuid: row for row in after.rows(t.BOOKINGS, t.BookingRow)}
    answer = step.op.answer if step.op is not None else None
    kept = claim_laws.kept(step.before, step.after, command)
    for number, instance in enumerate(command.instances):
        row = claims.get(instance.instance_uuid)
        law = "a claim is there whole"
        if instance.instance_uuid in kept:
            continue  # ``claim_laws`` has it
        if row is None or (row.claim != command.claim and not kept):
            yield Finding(law, f"{instance.instance_uuid} has no claim")
            continue
        fitting = [one for one in instance.choices if one.host_id == row.host_id]
        if isinstance(answer, Claimed):
            fitting = [instance.choices[answer.taken[number]]]
        shares = after.shares(instance.instance_uuid)
        if not any(_has(shares, choice, row) for choice in fitting):
            yield Finding(law, f"{row} with {shares} is none of {fitting}")


def _has(
    shares: dict[str, dict[str, int]], choice: c.Choice, row: t.BookingRow
) -> bool:
    # Earlier allocations of the instance on a provider are unchanged.
    return row.host_id == choice.host_id and choice.allocations.keys() <= shares.keys()


def _group(command: c.Claim, before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """New members on a host comply with the group's policy. Existing ones may stay
    (Nova's rule)."""
    group = command.group
    if group is None or group.policy in _SOFT:
        return
    law = "no claim breaks its group's rule"
    old, new = _whereabouts(before), _whereabouts(after)
    placed = {one.instance_uuid: new[one.instance_uuid] for one in command.instances}
    hosts = after.hosts()
    promised = {
        row.instance_uuid: {hosts[row.host_id]}
        for row in after.rows(t.BOOKINGS, t.BookingRow)
        if row.host_id != t.NO_HOST
    }
    members = _members(before, group.uuid)
    if group.policy == "affinity":
        homes = {host for hosts in members.values() for host in hosts}
        chosen = {h for one in placed for h in promised[one]} - homes
        if chosen and (homes or len(chosen) > 1):
            yield Finding(law, f"{group}: {sorted(chosen)} beside {sorted(homes)}")
        return
    others = Counter(
        host for one, hosts in members.items() if one not in placed for host in hosts
    )
    newcomers = Counter(h for one, hosts in placed.items() for h in hosts - old[one])
    for host, count in newcomers.items():
        if others[host] + count > group.max_server_per_host:
            yield Finding(law, f"{group}: {count} joined {others[host]} on {host}")


def _members(snapshot: Snapshot, group_uuid: str) -> dict[str, set[str]]:
    """Instances of the group -> hosts where they are: those that are claimed for it,
    and those that were; one that is claimed for another since is only where it was."""
    where = _whereabouts(snapshot)
    groups = {
        row.instance_uuid: row.group_uuid
        for row in snapshot.rows(t.BOOKINGS, t.BookingRow)
    }
    found = {uuid: where[uuid] for uuid, of in groups.items() if of == group_uuid}
    for row in snapshot.rows(t.INSTANCES, t.InstanceRow):
        if msgspec.json.decode(row.facts).get(t.GROUP) == group_uuid:
            is_others = groups.get(row.uuid) not in (None, group_uuid)
            found[row.uuid] = {row.host} if is_others else where[row.uuid]
    return found


def _whereabouts(snapshot: Snapshot) -> dict[str, set[str]]:
    """Instance -> the hosts that have a claim for it or report it."""
    hosts = snapshot.hosts()
    found: dict[str, set[str]] = defaultdict(set)
    for row in snapshot.rows(t.BOOKINGS, t.BookingRow):
        if row.host_id != t.NO_HOST:
            found[row.instance_uuid].add(hosts[row.host_id])
    for one in snapshot.rows(t.INSTANCES, t.InstanceRow):
        found[one.uuid].add(one.host)
    return found


def _identities(step: Step) -> Iterator[Finding]:
    """The owner of a row never changes."""
    for table in (t.PROVIDERS, t.CONSUMERS, t.ALLOCATIONS):
        for key, row in step.after[table].items():
            old = step.before[table].get(key)
            if old is not None and _name(old) != _name(row):
                # In one revision an id may be deleted and used again.
                changes = [one for one in step.entry.changes if one.key == key]
                if not any(one.new is None and one.table == table for one in changes):
                    yield Finding("rows stay whose they are", f"{old} became {row}")


def _name(row: Row) -> Any:
    return row.consumer_id if isinstance(row, t.AllocationRow) else row.uuid  # type: ignore[union-attr]


# -- the naive model ----------------------------------------------------------------


def has_model(command: c.Command[object]) -> bool:
    """Whether the reference model knows the command."""
    return hasattr(Reference, Reference.method_of(command))


def _as_modelled(
    before: Snapshot, after: Snapshot, command: c.Command[object]
) -> Iterator[Finding]:
    """The command has exactly the effect that it has in the naive model."""
    model = before.reference()
    law = "every revision is its command, whole"
    try:
        model.execute(command)
    except GanttError as refusal:
        yield Finding(law, f"the model refuses it: {type(refusal).__name__}")
        return
    expected, found = vars(model), vars(after.reference())
    for name in expected.keys() - {"fold"}:
        if expected[name] != found[name]:
            yield Finding(law, f"{name}: {found[name]}, expected {expected[name]}")


def verdict(tables: Tables, command: c.Command[object]) -> str | None:
    """The outcome of the command here: the name of a refusal, "no change", "change";
    None where it depends on the time."""
    if isinstance(command, c.ExpireClaims | c.Book | c.SweepDemands):
        return None
    if not has_model(command):
        return _by_the_rules(tables, command)
    model = Snapshot(tables).reference()
    before = {name: _frozen(value) for name, value in vars(model).items()}
    try:
        model.execute(command)
    except GanttError as refusal:
        return type(refusal).__name__
    after = {name: _frozen(value) for name, value in vars(model).items()}
    return "no change" if before == after else "change"


def _frozen(value: Any) -> str:
    return repr(sorted(value) if isinstance(value, set) else value)


def _by_the_rules(tables: Tables, command: c.Command[object]) -> str:
    """The outcome by the rule itself, which may differ from the naive model's."""
    state = State()
    for table in ROW_TYPES:
        state.load(table, [row for _, row in sorted(tables[table].items())])
    state.apply((), Cursor())
    try:
        planned = plan(state, command, 0)
    except GanttError as refusal:
        return type(refusal).__name__
    return "change" if planned.changes else "no change"


def differing(left: Tables, right: Tables) -> str | None:
    """The first difference between the two, ignoring times of links."""
    for table in ROW_TYPES:
        ours, theirs = left[table], right[table]
        for key in sorted(ours.keys() | theirs.keys()):
            a, b = ours.get(key), theirs.get(key)
            are_links = isinstance(a, t.LinkRow) and isinstance(b, t.LinkRow)
            if a != b and not are_links:
                return f"{table} {key}: {a} is not {b}"
    return None
