"""Every invariant of the fleet; ``check`` has those of the books.

What a column or an index holds is worked out anew here from rows alone, by the plain
way and not the quick one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from gantt.model.facts import labels_in, size_in
from gantt.model.forms.device_pools import read_pools
from gantt.model.forms.host_topology import read_cells
from gantt.model.rows import NO_HOST, BookingRow, FactRow, FleetRow, ServiceRow
from gantt.state.column import NO_ROW, time_in
from gantt.state.factors import Factor
from gantt.state.fleet_columns import Fleet
from gantt.state.fleet_tables import (
    COMPUTE,
    BookingTable,
    FleetTable,
    InstanceTable,
    grouped,
)
from gantt.state.holdings import Holdings
from gantt.state.listers import NamedBy
from gantt.state.report_decoder import AMOUNTS, amounts, topology_of
from gantt.state.state import State
from gantt.state.topology_columns import TopologyColumns
from gantt.topology.promised_topology import from_text, remaining

Pause = Callable[[], None]
_Claimed = dict[int, tuple[int, ...]]
_CLAIMED = (
    "claimed_vcpus",
    "claimed_memory_mb",
    "claimed_disk_mb",
    "claimed_instances",
    "starting",
)
_NET = {
    "vcpus_used": ("reported_vcpus_used", 1, "claimed_vcpus"),
    "free_ram_mb": ("reported_free_ram_mb", -1, "claimed_memory_mb"),
    "free_disk_mb": ("reported_free_disk_mb", -1, "claimed_disk_mb"),
    "num_instances": ("reported_instances", 1, "claimed_instances"),
    "num_io_ops": ("reported_io_ops", 1, "claimed_instances"),
}


def _go_on() -> None:
    """Do not pause."""


def fleet_problems(state: State, pause: Pause = _go_on) -> Iterator[str]:
    """What is wrong within ``state.fleet``, or between it and the books; see
    ``check.problems``."""
    fleet = state.fleet
    anew = _Anew(state)
    for row in fleet.hosts.live_rows().tolist():
        pause()
        if not fleet.hosts.is_live[row]:
            continue
        found = list(_of_host(state, row, anew))
        if found and anew.applied != state.applied:
            # What was worked out is of another State.
            anew = _Anew(state)
            found = list(_of_host(state, row, anew))
        where = f"host {fleet.hosts.hosts[row]}/{fleet.hosts.nodes[row]}"
        for what in found:
            yield f"{where}: {what}"
    yield from _left_over(fleet, pause)
    yield from _named_by(fleet, fleet.hosts.listers, pause)
    yield from _named_by(fleet, fleet.hosts.movers, pause)
    yield from _holdings(fleet)
    yield from _services(fleet, pause)
    yield from _facts(fleet, pause)
    yield from _aggregates(fleet, pause)
    yield from _instances(fleet, pause)
    yield from _groups(fleet, pause)
    yield from _claims(fleet, pause)


class _Anew:
    """What claims and aggregates say of hosts, worked out of all their rows."""

    def __init__(self, state: State) -> None:
        fleet = state.fleet
        self.applied = state.applied
        self.claimed = _claimed(fleet)
        self.bearers = _bearers(fleet)
        self.promised: dict[int, list[BookingRow]] = {}
        for one in fleet.claims.claims():
            if one.topology is not None:
                self.promised.setdefault(one.host_id, []).append(one)


def _of_host(state: State, row: int, anew: _Anew) -> Iterator[str]:
    fleet = state.fleet
    yield from _host_indexes(state, row)
    yield from _host_columns(fleet, row, anew.claimed)
    yield from _host_service(fleet, row)
    yield from _host_aggregates(fleet, row, anew.bearers)
    yield from _host_factors(fleet, row)
    yield from _host_topology(fleet, row)
    yield from _host_promises(fleet, row, anew)


R = TypeVar("R", bound=FleetRow)


def _each(table: FleetTable[R], pause: Pause) -> Iterator[R]:
    """Every row that is still there when its turn comes."""
    for key in sorted(table.by_id):
        pause()
        row = table.by_id.get(key)
        if row is not None:
            yield row


def _named_by(fleet: Fleet, index: NamedBy, pause: Pause) -> Iterator[str]:
    hosts, known, key = fleet.hosts, index.rows, index.key
    wrong = f"the index of hosts by {key} is wrong"
    for row in hosts.live_rows().tolist():
        pause()
        if any(row not in known.get(one, ()) for one in hosts.stats[row].get(key, ())):
            yield wrong
            return
    for name in list(known):
        pause()
        rows = known.get(name, ())
        if any(name not in hosts.stats[row].get(key, ()) for row in rows):
            yield wrong
            return


def _host_indexes(state: State, row: int) -> Iterator[str]:
    hosts = state.fleet.hosts
    host, uuid, provider = hosts.hosts[row], hosts.uuids[row], int(hosts.provider[row])
    if hosts.row_by_id.get(int(hosts.id[row])) != row:
        yield "its id leads to another row"
    if hosts.row_of(host, hosts.nodes[row]) != row:
        yield "its names lead to another row"
    if row not in hosts.rows_of(host):
        yield "not among the nodes of its host"
    if uuid is not None and hosts.row_of_uuid(uuid) is None:
        yield f"provider uuid {uuid} leads nowhere"
    known = None if uuid is None else state.providers.row_of(uuid)
    if provider != (NO_ROW if known is None else known):
        yield f"its provider is row {provider}, uuid {uuid} is row {known}"
    if provider != NO_ROW and row not in hosts.rows_by_provider.get(provider, ()):
        yield "not among the hosts of its provider"


def _host_columns(fleet: Fleet, row: int, claimed: _Claimed) -> Iterator[str]:
    hosts = fleet.hosts
    stats = msgspec.json.decode(hosts.at(row).stats)
    if stats != hosts.stats[row]:
        yield "what it reports was read as something else"
    wanted = dict(zip(AMOUNTS, amounts(stats), strict=True))
    mine = claimed.get(int(hosts.id[row]), (0,) * len(_CLAIMED))
    wanted |= dict(zip(_CLAIMED, mine, strict=True))
    for net, (reported, sign, taken) in _NET.items():
        wanted[net] = wanted[reported] + sign * wanted[taken]
    for column, amount in wanted.items():
        found = getattr(hosts, column)[row]
        if found != amount:
            yield f"{column} is {found}, not {amount}"


def _claimed(fleet: Fleet) -> _Claimed:
    """Host id -> sums over its claims, in the order of _CLAIMED."""
    found: _Claimed = {}
    for one in fleet.claims.claims():
        zero = (0,) * len(_CLAIMED)
        vcpus, memory, disk, count, starting = found.get(one.host_id, zero)
        found[one.host_id] = (
            vcpus + one.vcpus,
            memory + one.memory_mb,
            disk + one.disk_mb,
            count + (not one.is_reported),
            starting + one.is_starting,
        )
    return found


def _host_service(fleet: Fleet, row: int) -> Iterator[str]:
    hosts = fleet.hosts
    host = hosts.hosts[row]
    service = fleet.services.by_place.get((host, COMPUTE))
    agent, word = fleet.facts.of("agent", host), fleet.facts.of("operator", host)
    found = (
        bool(hosts.has_service[row]),
        bool(hosts.is_disabled[row]),
        bool(hosts.is_forced_down[row]),
        int(hosts.last_seen_up[row]),
        hosts.cells[row],
    )
    if found != _of_service(service, agent, word):
        yield (
            f"bears {found} of its service {service}, of its agent {agent} and of what "
            f"an operator said, {word}"
        )


def _of_service(
    service: ServiceRow | None, agent: FactRow | None, word: FactRow | None
) -> tuple[bool, bool, bool, int, str | None]:
    is_gone = agent is not None and agent.away
    is_off = word is not None and word.disabled
    if service is None:
        return (False, is_off, is_gone, time_in(None), None)
    return (
        True,
        service.disabled or is_off,
        service.forced_down or is_gone,
        time_in(service.last_seen_up),
        service.cell_uuid,
    )


def _bearers(fleet: Fleet) -> dict[str, set[int]]:
    """Host -> the columns of the aggregates that name it."""
    found: dict[str, set[int]] = {}
    for row in fleet.aggregates.rows():
        for host in msgspec.json.decode(row.hosts):
            found.setdefault(host, set()).add(fleet.aggregates.index[row.uuid])
    return found


def _host_aggregates(
    fleet: Fleet, row: int, bearers: dict[str, set[int]]
) -> Iterator[str]:
    wanted = bearers.get(fleet.hosts.hosts[row], set())
    found = set(fleet.hosts.aggregates.labels_of(row))
    if found != wanted:
        yield f"bears the aggregates {found}, not {wanted}"


def _host_factors(fleet: Fleet, row: int) -> Iterator[str]:
    stats = fleet.hosts.stats[row]
    for factor in fleet.hosts.factors():
        again = Factor(factor.path, 1)
        again.set(0, stats)
        wanted, code = again.values[again.codes[0]], int(factor.codes[row])
        if bool(code) != bool(again.codes[0]) or _text(wanted) != _text(
            factor.values[code]
        ):
            yield f"{'.'.join(factor.path)} is taken for {factor.values[code]!r}"


def _host_topology(fleet: Fleet, row: int) -> Iterator[str]:
    hosts = fleet.hosts
    if hosts.reported[row] != topology_of(hosts.stats[row], read_cells, read_pools):
        yield "its cells and devices were read as something else"
    again = TopologyColumns()
    again.put(0, hosts.left[row])
    wanted, found = again.of_row(0), hosts.topology.of_row(row)
    for name, value in wanted.items():
        is_coded = name not in ("facts", "beyond")
        if found[name] != value and not (is_coded and hosts.topology.is_full):
            yield f"{name} of its topology are {found[name]}, not {value}"


def _host_promises(fleet: Fleet, row: int, anew: _Anew) -> Iterator[str]:
    """What pending claims leave of cells and devices."""
    hosts, key = fleet.hosts, int(fleet.hosts.id[row])
    mine, report = hosts.promises[row], hosts.reported[row]
    wanted = [
        (one.id, from_text(one.topology or "")) for one in anew.promised.get(key, ())
    ]
    left = remaining(report, [pending for _, pending in wanted])
    if mine.report != report:
        yield "its claims are fitted onto another report"
    elif list(mine.pendings()) != wanted:
        yield f"what it was promised is not that of claims {[one for one, _ in wanted]}"
    elif mine.left != left:
        yield "what is left of its cells and devices is not what claims leave"
    if hosts.left[row] != left.host:
        yield "more is left of its cells and devices than may be promised, or less"
    if hosts.pci_free[row] != left.host.free_devices:
        yield f"pci_free is {hosts.pci_free[row]}, not {left.host.free_devices}"


def _text(value: object) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _left_over(fleet: Fleet, pause: Pause) -> Iterator[str]:
    """Rows in which there is no host."""
    hosts = fleet.hosts
    nothing = TopologyColumns().of_row(0)
    for row in range(hosts.height):
        pause()
        if hosts.is_live[row]:
            continue
        if hosts.aggregates.labels_of(row):
            yield f"row {row}: no host, yet it is in an aggregate"
        if hosts.topology.of_row(row) != nothing:
            yield f"row {row}: no host, yet there are cells or devices"
    for factor in list(hosts.factors()):
        pause()
        if factor.codes[: hosts.height][~hosts.is_live[: hosts.height]].any():
            yield f"factor {'.'.join(factor.path)}: has a value where there is no host"


def _services(fleet: Fleet, pause: Pause) -> Iterator[str]:
    services = fleet.services
    for row in _each(services, pause):
        if services.by_place.get((row.host, row.binary)) is not row:
            yield f"service {row.id}: its host and binary lead elsewhere"
    if len(services.by_place) != len(services.by_id):
        yield f"services: {len(services.by_place)} places of {len(services.by_id)} rows"
    versions = [s.version or 0 for s in services.rows() if s.binary == COMPUTE]
    if services.oldest_compute != min(versions, default=None):
        yield f"services: the oldest is said to be {services.oldest_compute}"


def _facts(fleet: Fleet, pause: Pause) -> Iterator[str]:
    facts = fleet.facts
    for row in _each(facts, pause):
        if facts.by_subject.get((row.kind, row.subject)) is not row:
            yield f"fact {row.id}: its kind and subject lead elsewhere"
        if row.id in fleet.services.by_id:
            yield f"fact {row.id}: a service has the same id"
    if len(facts.by_subject) != len(facts.by_id):
        yield f"facts: {len(facts.by_subject)} subjects of {len(facts.by_id)} rows"
    off = {row.subject for row in facts.of_kind("cell") if row.disabled}
    if facts.disabled_cells != off:
        yield f"facts: cells {set(facts.disabled_cells)} count as disabled, not {off}"
    labels = {row.subject: labels_in(row) for row in facts.of_kind("labels")}
    if facts.labels != labels:
        yield f"facts: {facts.labels} are the labels of hosts, not {labels}"
    told = {row.subject: row.reason or "" for row in facts.of_kind("relations")}
    if facts.relations != told:
        yield f"facts: {facts.relations} are the relations of groups, not {told}"
    sizes = {row.subject: size_in(row) for row in facts.of_kind("artifact")}
    if facts.artifacts != sizes:
        yield f"facts: {facts.artifacts} are the artifacts, not {sizes}"


def _holdings(fleet: Fleet) -> Iterator[str]:
    known, held = fleet.hosts, Holdings()
    instances, claims = InstanceTable(), BookingTable()
    for row in known.row_by_id.values():
        held.change(row, {}, known.stats[row])
    for uuid in fleet.instances.artifacts:
        instances.put(fleet.instances.by_uuid[uuid])
    for claim in fleet.claims.claims():
        claims.put(claim)
    anew = held.of, instances.using, claims.using
    if anew != (known.held.of, fleet.instances.using, fleet.claims.using):
        yield "the index of artifacts by hosts is wrong"


def _aggregates(fleet: Fleet, pause: Pause) -> Iterator[str]:
    table = fleet.aggregates
    for row in _each(table, pause):
        where = f"host aggregate {row.uuid}"
        if table.by_uuid.get(row.uuid) is not row:
            yield f"{where}: its uuid leads elsewhere"
        if row.number is not None and row.number not in table.by_number:
            yield f"{where}: number {row.number} leads nowhere"
        if table.hosts.get(row.uuid) != frozenset(msgspec.json.decode(row.hosts)):
            yield f"{where}: its hosts are not {row.hosts}"
        if table.metadata.get(row.uuid) != msgspec.json.decode(row.metadata):
            yield f"{where}: its metadata are not {row.metadata}"
        for host in table.hosts.get(row.uuid, ()):
            if row.uuid not in table.of_host(host):
                yield f"{where}: not among the aggregates of {host}"
    for number, row in table.by_number.items():
        if table.get(row.id) is not row or row.number != number:
            yield f"host aggregates: number {number} leads to {row.uuid}"
    indexes = Counter(table.index.values())
    if (
        table.index.keys() != table.by_uuid.keys()
        or max(indexes.values(), default=1) > 1
    ):
        yield f"host aggregates: the columns are {dict(table.index)}"


def _instances(fleet: Fleet, pause: Pause) -> Iterator[str]:
    table = fleet.instances
    for row in _each(table, pause):
        if table.by_uuid.get(row.uuid) is not row:
            yield f"instance {row.uuid}: its uuid leads elsewhere"
        if table.on(row.host).get(row.uuid) is not row:
            yield f"instance {row.uuid}: not among those on {row.host}"
        group = grouped(row)
        members = table.of_group(group) if group else ()
        if table.group_of(row.uuid) != group or (group and row.uuid not in members):
            yield f"instance {row.uuid}: not the member of group {group} that it is"
    on_hosts = sum(len(table.on(host)) for host in table.hosts())
    if on_hosts != len(table.by_id):
        yield f"instances: {on_hosts} on hosts, {len(table.by_id)} in all"


def _groups(fleet: Fleet, pause: Pause) -> Iterator[str]:
    table = fleet.groups
    for row in _each(table, pause):
        if table.by_uuid.get(row.uuid) is not row:
            yield f"server group {row.uuid}: its uuid leads elsewhere"
        if table.members.get(row.uuid) != frozenset(msgspec.json.decode(row.members)):
            yield f"server group {row.uuid}: its members are not {row.members}"


def _claims(fleet: Fleet, pause: Pause) -> Iterator[str]:
    table = fleet.claims
    for row in _each(table, pause):
        whats = _claim(fleet, row) if row.is_claim else _name(row)
        yield from (
            f"claim {row.claim} of {row.instance_uuid}: {what}" for what in whats
        )
    yield from _plans(table)
    if table.leased.keys() - table.by_id.keys():
        yield "claims: a lease of no claim"
    if table.by_instance.keys() != {row.instance_uuid for row in table.claims()}:
        yield "claims: an instance without a claim is said to have one"


def _plans(table: BookingTable) -> Iterator[str]:
    """At once: while it rests, others place and end."""
    of_plan: dict[tuple[str, str], set[str]] = {}
    booked, plans = {}, {}
    for row in table.by_id.values():
        if row.name:
            booked[row.instance_uuid] = row
            of_plan.setdefault((row.project, row.plan), set()).add(row.instance_uuid)
        elif row.plan:
            plans[row.project, row.plan] = row
    if (booked, plans) != (table.booked, table.plans):
        yield "bookings: a name or a plan leads to another"
    if any(set(table.of_plan(*place)) != mine for place, mine in of_plan.items()):
        yield "bookings: a plan leads to other things than it placed"
    ended = [row for place, row in plans.items() if place not in of_plan]
    if sorted(ended, key=lambda row: row.id) != table.ended_plans():
        yield "bookings: a plan has ended, or lives, and wrongly so"


def _name(row: BookingRow) -> Iterator[str]:
    if row.host_id != NO_HOST or row.vcpus or row.memory_mb or row.disk_mb:
        yield "it has ended, and takes something"
    if row.leased_until is not None or row.topology is not None:
        yield "it has ended, and is promised"


def _claim(fleet: Fleet, row: BookingRow) -> Iterator[str]:
    table = fleet.claims
    if table.by_instance.get(row.instance_uuid) is not row:
        yield "its instance leads to another"
    if row.held_by is not None and row not in table.held_by(row.held_by):
        yield "what holds it does not lead to it"
    if row not in table.of(row.claim):
        yield "not among the rows of its claim"
    # What it holds elsewhere must still be given back, and what was confirmed may be.
    is_kept = row.is_over or row.host_id == NO_HOST
    if fleet.hosts.row_by_id.get(row.host_id) is None and not is_kept:
        yield f"host {row.host_id} is gone"
    if row.instance_uuid not in table.on(row.host_id):
        yield f"not among the claims on host {row.host_id}"
    group = row.group_uuid
    if group is not None and row.instance_uuid not in table.of_group(group):
        yield f"not among the claims of group {group}"
    leased_until = None if row.is_over else row.leased_until
    if table.leased.get(row.id) != leased_until:
        yield f"leased until {table.leased.get(row.id)}, not {leased_until}"
    if (row in table.over()) != row.is_over:
        yield "among those that are over, or not, and wrongly so"
