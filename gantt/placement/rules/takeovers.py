"""The rule for a known host that came back under another name, another uuid, or both.

The provider stays as it is, because every allocation and every client knows it by its
uuid: what changes is which host has it, and by which uuid that host may call it. So
nothing is counted twice at any moment.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import Conflict, Invalid, NotFound
from gantt.model import rows as t
from gantt.model.commands import AdoptHost, DeleteProvider
from gantt.model.fleet import LABELS, OPERATOR
from gantt.model.printable import counted
from gantt.model.rows import HostRow, ProviderRow, ServiceRow
from gantt.model.takeover import Takeover
from gantt.placement.fleet_queries import ADOPTED, PLACE
from gantt.placement.queries import shares_on
from gantt.placement.rules import (
    host_identity,
    leases,
    providers,
    report_news,
    services,
)
from gantt.placement.rules.draft import Draft
from gantt.state.column import NO_ROW, NO_TIME
from gantt.state.report_decoder import OWNED
from gantt.state.state import State


class _Two(Struct, frozen=True):
    """Rows of the host that is known and of the one that it became (None: it has not
    reported by that name); ``is_last``: the known host has no other node."""

    old: int
    new: int | None
    new_host: str
    new_node: str
    is_last: bool

    @property
    def is_same(self) -> bool:
        return self.old == self.new


def adopt(draft: Draft, command: AdoptHost) -> Takeover:
    """See the command."""
    state = draft.state
    two = _two(state, command)
    uuid = _reported(state, command, two)
    _check_alive(state, command, two, draft.clock)
    if command.writes_books:
        found, kept = _provider_moves(draft, command, two, uuid)
    else:
        found, kept = _uuid_moves(state, command, two, uuid)
    row = _host(draft, two, uuid, kept)
    if kept is not None:
        leases.come_back(draft, row.id, kept)
    if not two.is_same:
        host_identity.move_claims(draft, int(state.fleet.hosts.id[two.old]), row.id)
        draft.delete(t.HOSTS, state.fleet.hosts.at(two.old))
        if two.is_last:
            _move_names(draft, command.host, two.new_host)
    is_alias = found.provider_uuid is not None and uuid not in (
        None,
        found.provider_uuid,
    )
    return replace(found, reported_uuid=uuid if is_alias else None)


def _provider_moves(
    draft: Draft, command: AdoptHost, two: _Two, uuid: str | None
) -> tuple[Takeover, str | None]:
    """The host keeps the provider that it had; the uuid of that."""
    state = draft.state
    provider = _provider(state, two)
    other = _other_provider(state, two, uuid, provider)
    found = _preview(state, command, two, provider)
    kept = other if provider is None else provider
    if other is not None and other is not kept:
        providers.delete(draft, DeleteProvider(other.uuid))
        found = replace(found, deleted_provider=other.uuid)
    if provider is not None and found.provider_name != provider.name:
        host_identity.check_node(two.new_node)
        renamed = replace(provider, name=found.provider_name, updated_at=draft.now)
        draft.put(t.PROVIDERS, renamed)
    return found, None if kept is None else kept.uuid


def _uuid_moves(
    state: State, command: AdoptHost, two: _Two, uuid: str | None
) -> tuple[Takeover, str | None]:
    """Where reports do not write the books, providers stay as they are: the host stands
    for the one that it reports, else for the one that it had. Raises Conflict."""
    table = state.fleet.hosts
    if two.new is not None and not two.is_same:
        _check_unused(state, two)
    kept = uuid or table.uuids[two.old]
    owner = None if kept is None else table.row_of_uuid(kept)
    if owner not in (None, two.old, two.new):
        raise Conflict(
            f"The resource provider {kept} belongs to host {table.hosts[owner]}: name "
            "the uuid that the new host reports, or delete that host first."
        )
    return _preview(state, command, two, None), kept


def _two(state: State, command: AdoptHost) -> _Two:
    """Raises NotFound, Invalid."""
    table = state.fleet.hosts
    rows = table.rows_of(command.host)
    nodes = sorted(table.nodes[row] for row in rows)
    if command.node:
        rows = [row for row in rows if table.nodes[row] == command.node]
    if not rows:
        named = f", node {command.node}" if command.node else ""
        raise NotFound(
            f"There is no host {command.host}{named} to take over from: 'gantt host "
            "list' shows all hosts."
        )
    if len(rows) > 1:
        raise Invalid(
            f"Host {command.host!r} has {len(nodes)} nodes ({', '.join(nodes[:5])}): "
            "name the one to take over from."
        )
    old = rows[0]
    new_host = command.new_host or command.host
    new_node = command.new_node
    if not new_node:
        is_named = table.nodes[old] == command.host
        new_node = new_host if is_named else table.nodes[old]
    new = table.row_of(new_host, new_node)
    return _Two(old, new, new_host, new_node, len(nodes) == 1)


def _reported(state: State, command: AdoptHost, two: _Two) -> str | None:
    """The uuid by which its agent calls the provider; None: it says none. Raises
    Invalid (there is nothing to take over)."""
    table = state.fleet.hosts
    if command.new_uuid is not None:
        uuid: str | None = command.new_uuid
    else:
        uuid = table.stats[two.old if two.new is None else two.new].get("uuid")
    known = table.uuids[two.old], table.stats[two.old].get(ADOPTED)
    if two.is_same and (uuid is None or uuid in known):
        raise Invalid(
            f"Host {command.host} has that name and uuid already: name the host that "
            "it became, or the uuid that it reports."
        )
    return uuid


def _check_alive(state: State, command: AdoptHost, two: _Two, now: int) -> None:
    """A host that goes on reporting has not become another one. Raises Conflict."""
    if two.is_same:
        return
    fleet, host = state.fleet, command.host
    agent = fleet.facts.of("agent", host)
    seen = int(fleet.hosts.last_seen_up[two.old])
    is_seen = seen != NO_TIME and abs(now - seen) <= command.down_us
    is_forced = bool(fleet.hosts.is_forced_down[two.old])
    place = fleet.hosts.stats[two.old].get(PLACE)
    if agent is None and place is not None:  # one that reports now and then
        is_seen |= abs(now - place["taken_at"]) <= command.down_us
    if (agent is not None and not agent.away) or (is_seen and not is_forced):
        raise Conflict(
            f"Host {host} is up, so {two.new_host} is another machine, or {host} is "
            "not down yet. If it is gone, wait until 'gantt host list' shows it as "
            "down; else stop its agent first."
        )


def _provider(state: State, two: _Two) -> ProviderRow | None:
    row = int(state.fleet.hosts.provider[two.old])
    return None if row == NO_ROW else state.providers.at(row)


def _other_provider(
    state: State, two: _Two, uuid: str | None, provider: ProviderRow | None
) -> ProviderRow | None:
    """The provider that the new identity has, which goes. Raises Conflict."""
    table = state.fleet.hosts
    names = [] if uuid is None else [uuid]
    if two.new is not None and not two.is_same:
        _check_unused(state, two)
        names += [name for name in (table.uuids[two.new],) if name is not None]
    known = None if provider is None else provider.uuid
    found = {
        row.uuid: row
        for name in names
        if name != known and (row := state.providers.find(name)) is not None
    }
    if len(found) > 1:
        raise Conflict(
            f"Host {two.new_host} has the resource provider {min(found)}, and the uuid "
            f"that was given is another one, {max(found)}: leave it out."
        )
    other = next(iter(found.values()), None)
    if other is not None:
        _check_spare(state, two, other)
    return other


def _check_unused(state: State, two: _Two) -> None:
    """Raises Conflict."""
    assert two.new is not None, "it has reported"
    claims = tuple(state.fleet.claims.on(int(state.fleet.hosts.id[two.new])))
    if claims:
        raise Conflict(
            f"Host {two.new_host} has {counted(len(claims), 'claim')} of its own, so "
            "it is no longer only the other host under a new name: release them first, "
            "or move their instances."
        )


def _check_spare(state: State, two: _Two, other: ProviderRow) -> None:
    """Raises Conflict, where the provider is needed."""
    row = state.providers.row_by_id[other.id]
    owner = state.fleet.hosts.row_of_uuid(other.uuid)
    why = ""
    if owner is not None and owner != two.new:
        why = f"belongs to host {state.fleet.hosts.hosts[owner]}"
    elif not state.allocations.by_provider.is_empty(row):
        why = "has allocations of its own: move or delete them first"
    elif other.parent_provider_id is not None or state.providers.forest.children(row):
        why = "is part of a tree: delete its children first"
    if why:
        raise Conflict(
            f"The resource provider {other.uuid} of host {two.new_host} cannot be "
            f"given up for that of the known host: it {why}."
        )


def _preview(
    state: State, command: AdoptHost, two: _Two, provider: ProviderRow | None
) -> Takeover:
    fleet = state.fleet
    host, node = command.host, fleet.hosts.nodes[two.old]
    moves = two.is_last and not two.is_same
    found = Takeover(
        host=host,
        node=node,
        new_host=two.new_host,
        new_node=two.new_node,
        claims=tuple(sorted(fleet.claims.on(int(fleet.hosts.id[two.old])))),
        instances=tuple(sorted(fleet.instances.on(host))) if moves else (),
        services=tuple(row.binary for row in _services(state, host)) if moves else (),
        host_aggregates=fleet.aggregates.of_host(host) if moves else (),
        is_disabled=bool(fleet.hosts.is_disabled[two.old]),
    )
    if provider is None:
        return found
    row = state.providers.row_by_id[provider.id]
    inventories: dict[str, int] = {}
    for index in state.inventories.classes_of(row):
        place = state.inventories.slot(row, index)
        assert place is not None, "it has inventory of the class"
        inventories[state.classes.at(index).name] = int(place[0].total[place[1]])
    return replace(
        found,
        provider_uuid=provider.uuid,
        provider_name=two.new_node if provider.name == node else provider.name,
        inventories=inventories,
        allocations=_allocations(state, row),
        traits=_names(state.provider_traits.labels_of(row), state.traits),
        aggregates=_names(state.provider_aggregates.labels_of(row), state.aggregates),
    )


def _names(labels: Any, names: Any) -> tuple[str, ...]:
    return tuple(sorted(names.at(label).name for label in labels))


def _allocations(state: State, root: int) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for provider in state.providers.tree(root):
        for consumer, amounts in shares_on(state, provider).items():
            mine = found.setdefault(consumer, {})
            for name, amount in amounts.items():
                mine[name] = mine.get(name, 0) + amount
    return dict(sorted(found.items()))


def _host(
    draft: Draft, two: _Two, reported: str | None, provider: str | None
) -> HostRow:
    """The row of the host by its new identity, with the provider of the known one."""
    table = draft.state.fleet.hosts
    known = table.stats[two.old]
    stats = {**(known if two.new is None else table.stats[two.new])}
    if OWNED in known:
        stats[OWNED] = known[OWNED]
    stats.pop(ADOPTED, None)
    if reported is not None:
        stats["uuid"] = reported
        if reported != provider:
            stats[ADOPTED] = reported
    text = report_news.text_of(two.new_host, two.new_node, stats)
    if two.new is None:
        key, old = draft.new_id(t.HOSTS), None
        created, updated = draft.now, None
    else:
        old = table.at(two.new)
        key, created, updated = old.id, old.created_at or draft.now, draft.now
    row = HostRow(key, two.new_host, two.new_node, provider, text, created, updated)
    draft.change(t.HOSTS, old, row)
    return row


def _services(state: State, host: str) -> list[ServiceRow]:
    """Whose state moves; that of the agent is told anew."""
    rows = [row for row in state.fleet.services.rows() if row.host == host]
    words = [state.fleet.told(host, binary) for binary in (OPERATOR, LABELS)]
    return [*rows, *(word for word in words if word is not None)]


def _move_names(draft: Draft, host: str, new_host: str) -> None:
    """What is known by the name of the host."""
    fleet = draft.state.fleet
    for instance in fleet.instances.on(host).values():
        moved = replace(instance, host=new_host, updated_at=draft.now)
        draft.put(t.INSTANCES, moved)
    agent = fleet.facts.of("agent", host)
    if agent is not None:
        draft.delete(t.FACTS, agent)
    for service in _services(draft.state, host):
        services.delete(draft, service)
        there = fleet.told(new_host, service.binary)
        if there is None:
            key = services.new_id(draft)
            services.put(draft, replace(service, id=key, host=new_host))
        elif service.disabled and not there.disabled:
            disabled = replace(
                there,
                disabled=True,
                disabled_reason=service.disabled_reason,
                updated_at=draft.now,
            )
            services.put(draft, disabled)
    for uuid in fleet.aggregates.of_host(host):
        hosts = sorted(fleet.aggregates.hosts[uuid] - {host} | {new_host})
        row = fleet.aggregates.by_uuid[uuid]
        text = msgspec.json.encode(hosts).decode()
        draft.put(t.HOST_AGGREGATES, replace(row, hosts=text, updated_at=draft.now))
