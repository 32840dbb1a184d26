"""Carries out a what-if on a copy of the books, by the ordinary commands.

So nothing here decides: what these commands refuse is refused, and the copy answers as
a service with such hosts and such a policy would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.errors import DuplicateName, Invalid, NoValidHost
from gantt.model import commands as c
from gantt.model.answers import Inventory
from gantt.model.fleet_lists import HostAggregateQuery
from gantt.model.hosts import HostAggregate, HostStats, Service
from gantt.model.spec import RequestSpec
from gantt.placement import queries
from gantt.replay.machines import (
    Machine,
    SubProvider,
    machine_commands,
    name_commands,
    of_machine,
    uuid_of,
)
from gantt.replay.snapshots import LoadedSnapshot
from gantt.replay.what_if import (
    Added,
    AllocationRatio,
    WhatIf,
    entries,
    expect,
    new_machines,
    no_inventory,
    within,
)
from gantt.scheduler.evaluation.known_drivers import driver_of
from gantt.scheduler.evaluation.known_names import check_names
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from gantt.state.column import NO_ROW
from gantt.state.host_table import HostTable
from gantt.state.state import State

_RATIO_FIELDS: Final = {
    "VCPU": "cpu_allocation_ratio",
    "MEMORY_MB": "ram_allocation_ratio",
    "DISK_GB": "disk_allocation_ratio",
}
_ZONE: Final = "availability_zone"


class Known(Struct, frozen=True):
    """A host that there is, as a machine that stands empty. ``has_books``: it has a
    provider, ``providers`` by resource class."""

    host: str
    node: str
    machine: Machine
    stats: HostStats
    has_books: bool
    providers: dict[str, list[str]]


def tried(snapshot: LoadedSnapshot, what_if: WhatIf) -> Gantt:
    """A copy in memory, changed, that judges no names in requests
    (``check_names_of``). Raises Invalid, and what commands refuse."""
    with what_if.named():
        options = what_if.policy(snapshot.options or SchedulerOptions())
        with within("options"):
            policy = policy_of(options)  # refuses names of filters that there are not
            if "driver" in what_if.options:
                driver_of(policy)
    gantt = replace(snapshot, options=options).engine(names_are_checked=True)
    try:
        with what_if.named():
            _Trying(gantt, options).carry_out(what_if)
    except BaseException:
        gantt.close()
        raise
    return gantt


def check_names_of(
    copies: Sequence[tuple[Gantt, SchedulerOptions]], spec: RequestSpec
) -> None:
    """Raises Invalid, NoValidHost: ``spec`` has a name that none of the copies, by
    these options, knows. A zone that one of them lacks is a zone without hosts
    there."""
    refusals = [_refusal(gantt, options, spec) for gantt, options in copies]
    if None not in refusals:
        raise next(filter(None, refusals))
    for gantt, options in copies:
        zone = spec.availability_zone or options.default_availability_zone
        if not (zone == options.default_availability_zone or _has_zone(gantt, zone)):
            gantt.set_host_aggregates([_zone(zone, frozenset())])


def _refusal(
    gantt: Gantt, options: SchedulerOptions, spec: RequestSpec
) -> Invalid | NoValidHost | None:
    try:
        gantt.read(check_names, spec, driver_of(policy_of(options)))
    except (Invalid, NoValidHost) as refusal:
        return refusal
    return None


def _has_zone(gantt: Gantt, zone: str) -> bool:
    return bool(gantt.list_host_aggregates(HostAggregateQuery(zone=zone, limit=1)))


def _zone(zone: str, hosts: frozenset[str]) -> HostAggregate:
    return HostAggregate(uuid_of("zone", zone), zone, None, hosts, {_ZONE: zone})


class _Trying:
    def __init__(self, gantt: Gantt, options: SchedulerOptions) -> None:
        self._gantt = gantt
        self._options = options

    def carry_out(self, what_if: WhatIf) -> None:
        gantt = self._gantt
        names = gantt.read(_names)
        hosts = {host for host, _ in names}
        what_if.expect(hosts)
        taken = set(hosts)
        for entry, one in entries("add", what_if.add):
            with within(entry):
                expect(hosts, (one.like,) if one.like else ())
                self._add(one, taken)
        for entry, ratio in entries("ratios", what_if.ratios):
            with within(entry):
                self._set_ratio(ratio)
        for host in what_if.drain:
            gantt.update_service(Service(host, disabled=True))
        for host, node in names:
            if host in what_if.remove:
                gantt.delete_host(host, node)

    def _add(self, one: Added, taken: set[str]) -> None:
        gantt = self._gantt
        like = None
        if one.like:
            (like, *_) = gantt.read(_known, (one.like,))
        joined = list(new_machines(one, None if like is None else like.machine, taken))
        if like is None:
            self._add_names(joined)
        for machine in joined:
            if like is None or like.has_books:
                with of_machine(machine.name):
                    for command in machine_commands(machine):
                        gantt.submit(command)
            if like is not None:
                uuid = uuid_of(machine.name)
                stats = replace(like.stats, uuid=uuid, hypervisor_hostname=machine.name)
                gantt.submit(
                    c.UpdateHost(
                        machine.name,
                        machine.name,
                        stats,
                        uuid,
                        writes_books=False,
                    )
                )
            if self._options.requires_service:
                gantt.update_service(Service(machine.name, disabled=False))
        for aggregate in self._aggregates(one.like, joined):
            gantt.set_host_aggregates((aggregate,))

    def _add_names(self, new: list[Machine]) -> None:
        for command in name_commands(new):
            with suppress(DuplicateName):
                self._gantt.submit(command)

    def _aggregates(self, like: str, new: list[Machine]) -> Iterator[HostAggregate]:
        """Those of ``like``, or of the zones of ``new``, with the new hosts."""
        known = self._gantt.list_host_aggregates()
        names = {one.name for one in new}
        if like:
            for one in known:
                if like in one.hosts:
                    yield replace(one, hosts=one.hosts | names)
            return
        for zone in {one.zone for one in new if one.zone is not None}:
            mine = frozenset(one.name for one in new if one.zone == zone)
            there = [one for one in known if one.metadata.get(_ZONE) == zone]
            if there:
                yield replace(there[0], hosts=there[0].hosts | mine)
            else:
                yield _zone(zone, mine)

    def _set_ratio(self, ratio: AllocationRatio) -> None:
        gantt, name = self._gantt, ratio.resource_class
        field = _RATIO_FIELDS.get(name)
        hosts = gantt.read(_known, ratio.hosts)
        if field is None and not any(one.providers.get(name) for one in hosts):
            raise no_inventory(ratio)
        for one in hosts:
            for uuid in one.providers.get(name, ()):
                mine = gantt.get_inventories(uuid).inventories[name]
                changed = replace(mine, allocation_ratio=ratio.ratio)
                gantt.submit(c.SetInventory(uuid, name, changed))
            if field is not None:
                stats = replace(HostStats(), **{field: ratio.ratio})
                uuid = uuid_of(one.host)
                gantt.submit(
                    c.UpdateHost(one.host, one.node, stats, uuid, writes_books=False)
                )


def _names(state: State) -> list[tuple[str, str]]:
    return [(row.host, row.node) for row in state.fleet.hosts.rows()]


def _known(state: State, names: tuple[str, ...]) -> list[Known]:
    """The hosts with these names; (): all."""
    rows = state.fleet.hosts.live_rows().tolist()
    hosts = state.fleet.hosts.hosts
    wanted = set(names) or set(hosts)
    return [_host(state, row) for row in rows if hosts[row] in wanted]


def _host(state: State, row: int) -> Known:
    table = state.fleet.hosts
    whole = table.at(row)
    provider = int(table.provider[row])
    inventories: dict[str, Inventory] = {}
    traits: tuple[str, ...] = ()
    parts: list[SubProvider] = []
    providers: dict[str, list[str]] = {}
    if provider != NO_ROW:
        for member in state.providers.tree(provider):
            amounts = _inventories(state, member)
            for name in amounts:
                uuid = state.providers.uuids[member]
                providers.setdefault(name, []).append(uuid)
            if member == provider:
                inventories, traits = amounts, _traits(state, member)
            else:
                name = state.providers.names[member]
                parts.append(SubProvider(name, amounts, _traits(state, member)))
    machine = Machine(whole.host, inventories, traits, None, (), tuple(parts))
    reported = msgspec.json.decode(whole.stats, type=HostStats)
    return Known(
        whole.host,
        whole.node,
        machine,
        _empty(reported, table, row),
        provider != NO_ROW,
        providers,
    )


def _inventories(state: State, provider: int) -> dict[str, Inventory]:
    found = queries.inventories(state, state.providers.uuids[provider])
    return {} if found is None else found.inventories


def _traits(state: State, provider: int) -> tuple[str, ...]:
    found = queries.traits(state, state.providers.uuids[provider])
    return () if found is None else tuple(found.traits)


def _empty(reported: HostStats, table: HostTable, row: int) -> HostStats:
    """The host as it would report without instances. Of cells and devices, what is in
    use there is in use here: a report does not tell which instance uses what."""
    return replace(
        reported,
        id=UNSET,
        service_id=UNSET,
        vcpus_used=0,
        memory_mb_used=0,
        local_gb_used=0,
        free_ram_mb=reported.memory_mb,
        free_disk_gb=reported.local_gb,
        disk_available_least=reported.local_gb,
        running_vms=0,
        current_workload=0,
        stats=UNSET,
        instances=(),
        traits=UNSET,
        cpu_allocation_ratio=float(table.cpu_ratio[row]),
        ram_allocation_ratio=float(table.ram_ratio[row]),
        disk_allocation_ratio=float(table.disk_ratio[row]),
    )
