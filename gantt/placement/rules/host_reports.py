"""Rules for hosts: what one reports, and that it is gone.

Most reports say nothing new and must cost next to nothing: they are found out before
anything is written or encoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET, Struct, to_builtins
from msgspec.structs import replace

from gantt.errors import Invalid, NotFound
from gantt.model import rows as t
from gantt.model.commands import DeleteHost, UpdateHost
from gantt.model.hosts import HostView
from gantt.model.rows import BookingRow, HostRow, InstanceRow, ProviderRow
from gantt.placement import fleet_queries, listings
from gantt.placement.fleet_queries import ADOPTED, LISTING, PLACE, SAVED, UNREADABLE
from gantt.placement.rules import (
    counted_claims,
    host_identity,
    host_names,
    instances,
    labels,
    leases,
    report_news,
    reported_inventories,
)
from gantt.placement.rules.draft import Draft
from gantt.state.column import NO_ROW
from gantt.state.report_decoder import RATIOS, topology_of
from gantt.state.state import State

_LONGEST: Final = 400
"""Characters of why a column cannot be read."""
_LATE_US: Final = 600_000_000
"""A report that is older than the last one by more is of a clock that was set back."""


class _Taken(Struct, frozen=True):
    """What a report leaves: the host and its stats, the claims that ended, the
    instances that it listed, the claims that it brought back, and the instances that
    its whole list lacks."""

    row: HostRow
    stats: dict[str, Any]
    ended: list[BookingRow]
    listed: tuple[str, ...]
    back: Sequence[BookingRow] = ()
    gone: Sequence[InstanceRow] = ()


def update(draft: Draft, command: UpdateHost) -> HostView:
    """Takes a report in; answers with the host as it is then."""
    found = take_in(draft, command)
    if isinstance(found, int):
        return fleet_queries.host_at(draft.state, found)
    view = fleet_queries.host_to_be(
        draft.state, found.row, found.stats, found.ended, found.listed, found.back
    )
    if not found.gone:
        return view
    gone = {one.uuid for one in found.gone}
    left = tuple(uuid for uuid in view.instances if uuid not in gone)
    return replace(view, instances=left)


def take_in(draft: Draft, command: UpdateHost) -> _Taken | int:
    """Take in a report. Nothing changes when nothing is new: then the row of the host.

    Raises Invalid, UnknownName (a trait), Conflict (the provider is another host's),
    DuplicateName (its name is another provider's).
    """
    state, table = draft.state, draft.state.fleet.hosts
    if command.is_bare:
        command = _of_known_node(state, command)
    row = table.row_of(command.host, command.node)
    found = report_news.news(command.stats, {} if row is None else table.stats[row])
    if found and row is not None:
        found = _in_time(state, row, command, found)
    if (
        row is None
        or found
        or command.place is not None
        or not _is_settled(state, row, command)
    ):
        return _write(draft, command, row, found)
    is_due = _is_due(state, row, command, draft.now)
    if not is_due and not _names_any(state, row, command, draft.now):
        return row
    known, stats = table.at(row), table.stats[row]
    if is_due:
        known, stats = _renewed(draft, command, row)
    return _named(draft, command, known, stats)


def has_news(state: State, command: UpdateHost) -> bool:
    """Whether a report differs from the last one in what it says; cheap, and no more
    than a hint: ``as_known`` also looks at what the books made of it."""
    table = state.fleet.hosts
    if command.is_bare:
        rows = table.rows_of(command.host)
        row = rows[0] if len(rows) == 1 else None
    else:
        row = table.row_of(command.host, command.node)
    may_say_more = command.saved_at is not None or command.unreadable
    return (
        row is None
        or bool(
            (found := report_news.news(command.stats, table.stats[row]))
            and _in_time(state, row, command, found)
        )
        or bool(may_say_more and _says_more(state, row, command))
    )


def as_known(
    state: State, command: UpdateHost, now: int
) -> tuple[HostView | None, int]:
    """The host where ``update`` would change nothing, else None; and when what is said
    of it was touched last (``State.applied``). Raises Invalid."""
    table = state.fleet.hosts
    if command.is_bare:
        command = _of_known_node(state, command)
    row = table.row_of(command.host, command.node)
    if (
        row is None
        or (
            (found := report_news.news(command.stats, table.stats[row]))
            and _in_time(state, row, command, found)
        )
        or not _is_settled(state, row, command)
        or _is_due(state, row, command, now)
        or _names_any(state, row, command, now)
    ):
        return None, 0
    touched = max(int(table.touched[row]), state.fleet.context_touched)
    return fleet_queries.host_at(state, row), touched


def _of_known_node(state: State, command: UpdateHost) -> UpdateHost:
    """A report that names no node, as one that does. Raises Invalid where the host has
    several."""
    table = state.fleet.hosts
    nodes = sorted(table.nodes[row] for row in table.rows_of(command.host))
    if len(nodes) > 1:
        raise Invalid(
            f"Host {command.host!r} has {len(nodes)} nodes ({', '.join(nodes[:5])}): "
            "give the name as (host, node)."
        )
    return replace(command, node=nodes[0]) if nodes else command


def delete(draft: Draft, command: DeleteHost) -> None:
    """The host goes, and with its last node the instances that it named and what is
    known of its agent; its provider stays, without what its reports own there. What
    becomes of the claims on it: ``leases.fail``. Raises NotFound."""
    fleet = draft.state.fleet
    row = fleet.hosts.row_of(command.host, command.node)
    if row is None:
        raise NotFound(
            f"There is no host {command.host} with a node {command.node} to delete."
        )
    values = fleet.hosts.at(row)
    leases.fail(draft, values.id, values.uuid)
    record = fleet.hosts.stats[row].get(reported_inventories.OWNED, {})
    provider = draft.state.providers.find(values.uuid or "")
    if provider is not None and record.get("provider") == provider.id:
        reported_inventories.leave(draft, provider, record)
    if len(fleet.hosts.rows_of(command.host)) == 1:
        for instance in fleet.instances.on(command.host).values():
            draft.delete(t.INSTANCES, instance)
        for fact in (
            fleet.facts.of("agent", command.host),
            fleet.facts.of("operator", command.host),
            fleet.facts.of("labels", command.host),
        ):
            if fact is not None:
                draft.delete(t.FACTS, fact)
    draft.delete(t.HOSTS, values)


def _is_settled(state: State, row: int, command: UpdateHost) -> bool:
    """Whether the books, and the host's ratios, say already what it has reported; and
    the report says neither why it has no other news, nor when it was saved where that
    counts."""
    table = state.fleet.hosts
    provider, stats = int(table.provider[row]), table.stats[row]
    if stats.get(RATIOS) != reported_inventories.ratios(stats, command):
        return False
    may_say_more = command.saved_at is not None or command.unreadable
    if may_say_more and _says_more(state, row, command):
        return False
    if not command.writes_books:
        return True
    record = stats.get(reported_inventories.OWNED, {})
    return (
        provider != NO_ROW
        and record.get("provider") == state.providers.id[provider]
        and reported_inventories.is_settled(
            record["inventories"], reported_inventories.amounts(stats, command)
        )
    )


def _is_due(state: State, row: int, command: UpdateHost, now: int) -> bool:
    """Whether the last report that was written down is too old to stand for this."""
    table, after_us = state.fleet.hosts, command.renewed_after_us
    known = table.stats[row].get(LISTING)
    if known is not None and listings.is_due(known, command, now):
        return True
    said_at = max(int(table.updated_at[row]), int(table.created_at[row]))
    return after_us is not None and now - said_at >= after_us


def _renewed(
    draft: Draft, command: UpdateHost, row: int
) -> tuple[HostRow, dict[str, Any]]:
    """The host as a report without changes leaves it, written down."""
    table = draft.state.fleet.hosts
    old, stats = table.at(row), dict(table.stats[row])
    listings.note(draft.state, command, row, stats, draft.now)
    text = report_news.text_of(old.host, old.node, stats)
    new = replace(old, stats=text, updated_at=draft.now)
    draft.change(t.HOSTS, old, new)
    return new, stats


def _in_time(
    state: State, row: int, command: UpdateHost, found: dict[str, Any]
) -> dict[str, Any]:
    """What of the news is taken in. Of cells and devices the report that was saved last
    holds: it may have ended claims that an older one does not count."""
    if command.saved_at is not None and _is_late(state, row, command):
        return {
            key: value for key, value in found.items() if key not in report_news.FITTED
        }
    return found


def _is_late(state: State, row: int, command: UpdateHost) -> bool:
    """Whether the report was saved before the last one, and overtaken on its way."""
    known: int | None = state.fleet.hosts.stats[row].get(SAVED)
    if known is None or command.saved_at is None or command.place is not None:
        return False  # those of agents are in sequence
    return 0 < known - command.saved_at <= _LATE_US


def _says_more(state: State, row: int, command: UpdateHost) -> bool:
    """Whether a report without other news says why it has none, or when it was saved,
    where that counts."""
    why = _unreadable(command)
    if why and why != state.fleet.hosts.stats[row].get(UNREADABLE):
        return True
    return _is_awaited(state, row, command)


def _unreadable(command: UpdateHost) -> dict[str, str]:
    """What cannot be read of that which instances are fitted to."""
    said = command.unreadable
    return {name: said[name][:_LONGEST] for name in said if name in report_news.FITTED}


def _is_awaited(state: State, row: int, command: UpdateHost) -> bool:
    """Whether the time at which the report was saved may end a claim, now or once the
    host names the instance."""
    hosts, saved_at = state.fleet.hosts, command.saved_at
    if saved_at is None or hosts.promises[row].is_free:
        return False
    known: int = hosts.stats[row].get(SAVED, 0)
    return counted_claims.is_later(saved_at, known)


def _names_any(state: State, row: int, command: UpdateHost, now: int) -> bool:
    """Whether the report lists an instance that is not known to be there, lacks one
    that is, or counts one that the host was promised."""
    named = command.stats.instances
    if named is not UNSET:
        known = state.fleet.instances.on(command.host).keys()
        if not known >= set(named):
            host = state.fleet.hosts.at(row)
            if not known >= set(_own(state, host, command, named)):
                return True
        if listings.dropped(state, command, row, state.fleet.hosts.stats[row]):
            return True
    elif state.fleet.hosts.promises[row].is_free:
        return False  # only what is promised of cells or devices ends by time
    return bool(_ended(state, int(state.fleet.hosts.id[row]), command, now))


def _named(
    draft: Draft,
    command: UpdateHost,
    row: HostRow,
    stats: dict[str, Any],
    back: Sequence[BookingRow] = (),
    seen: counted_claims.Seen | None = None,
) -> _Taken:
    """The host, once what its report lists is known to be there, and not promised any
    more. What it does not list stays, unless the list is whole: it may be another
    node's, or newer. ``back``: claims that this report brings back to it; ``seen``:
    what it says that is new of cells and devices."""
    named = command.stats.instances
    state = draft.state
    place = state.fleet.hosts.row_by_id.get(row.id)
    listed: tuple[str, ...] = ()
    gone: Sequence[InstanceRow] = ()
    if named is not UNSET:
        listed = _own(state, row, command, named, back)
        gone = listings.dropped(state, command, place, stats)
    for instance in gone:
        heir = listings.lister(state, place, instance.uuid)
        if heir is None:
            draft.delete(t.INSTANCES, instance)
        else:  # it moved: it was listed there before it was missing here
            instances.put(draft, heir, instance.uuid, None)
    for uuid in listed:
        instances.put(draft, command.host, uuid, None)
        leases.found(draft, uuid)
    ended = _ended(draft.state, row.id, command, draft.now)
    for claim in back:
        if claim.instance_uuid in listed and not claim.is_open | claim.is_running:
            ended.append(claim)
    if seen is not None:
        counted_claims.read(draft, row.id, seen, ended)
    for claim in ended:
        is_told = not command.is_of_agent and (
            claim.instance_uuid in listed or not fleet_queries.has_agents_cells(stats)
        )
        counted_claims.end(
            draft, counted_claims.current(draft, claim) or claim, is_whole=is_told
        )
    return _Taken(row, stats, ended, listed, back, gone)


def _own(
    state: State,
    host: HostRow,
    command: UpdateHost,
    named: Sequence[str],
    back: Sequence[BookingRow] = (),
) -> tuple[str, ...]:
    """What the report names but for what is another host's: an agent lists that in
    vain. Nova moves an instance by naming it on another host."""
    listed = dict.fromkeys(named)
    if command.is_of_agent:
        new = listed.keys() - state.fleet.instances.on(command.host).keys()
        for claim in back:
            new.discard(claim.instance_uuid)
        for uuid in host_names.of_others(state, host, new) if new else ():
            del listed[uuid]
    return tuple(listed)


def _ended(
    state: State, host_id: int, command: UpdateHost, now: int
) -> list[BookingRow]:
    """The claims on the host that its report counts already: it lists the instance, or
    was saved after the host had named it. Agents count amounts, but not what of cells
    and devices is whose: of claims that name it, that stays."""
    named, table = command.stats.instances, state.fleet.claims
    promised = table.on(host_id)
    if not promised:
        return []
    listed = frozenset(() if named is UNSET else named)
    known = {} if named is UNSET else state.fleet.instances.on(command.host)
    saved_at = now if command.saved_at is None else command.saved_at
    stats = state.fleet.hosts.stats[state.fleet.hosts.row_by_id[host_id]]

    def is_counted(one: BookingRow) -> bool:
        if one.topology is not None and one.is_running:
            if command.is_of_agent:
                return False
            if fleet_queries.has_agents_cells(stats):
                return one.instance_uuid in listed
        if one.instance_uuid in listed:
            return True
        if named is not UNSET and one.instance_uuid in known:
            return False  # it is there, and this report does not know it yet
        return counted_claims.is_sure(state, one, saved_at)

    claims = [table.by_instance[uuid] for uuid in promised]
    return [one for one in claims if not one.is_open and is_counted(one)]


def _write(
    draft: Draft, command: UpdateHost, row: int | None, found: dict[str, Any]
) -> _Taken:
    table = draft.state.fleet.hosts
    if not command.host or not command.node:
        raise Invalid(
            "A host needs a name, and so does its node; "
            f"got {command.host!r} and {command.node!r}."
        )
    report_news.check(command.host, command.node, found)
    known = {} if row is None else table.stats[row]
    stats = {**known, **found}
    if command.saved_at is not None and (
        row is None or not _is_late(draft.state, row, command)
    ):
        stats[SAVED] = command.saved_at
    why = _unreadable(command) if command.unreadable else None
    is_fitted = not found.keys().isdisjoint(report_news.FITTED)
    if why:
        stats[UNREADABLE] = why
    elif is_fitted:
        stats.pop(UNREADABLE, None)
    if command.place is not None:
        stats[PLACE] = to_builtins(command.place)
    stats[RATIOS] = reported_inventories.ratios(stats, command)
    listings.note(draft.state, command, row, stats, draft.now)
    old = None if row is None else table.at(row)
    uuid = _settled_uuid(draft, command, old, stats, found)
    left = (
        host_identity.left_by(draft.state, command, uuid)
        if command.takes_uuid
        else None
    )
    text = report_news.text_of(command.host, command.node, stats)
    if old is not None and old.uuid == uuid and old.stats == text:
        new = old
    else:
        new = HostRow(
            draft.new_id(t.HOSTS) if old is None else old.id,
            command.host,
            command.node,
            uuid,
            text,
            draft.now if old is None else old.created_at,
            None if old is None else draft.now,
        )
        draft.change(t.HOSTS, old, new)
    if left is not None:
        host_identity.move_claims(draft, left, new.id)
    back: list[BookingRow] = []
    if uuid is not None and (old is None or old.uuid != uuid):
        back = leases.come_back(draft, new.id, uuid)
    seen = _seen(draft, command, row, stats) if row is not None and is_fitted else None
    return _named(draft, command, new, stats, back, seen)


def _seen(
    draft: Draft,
    command: UpdateHost,
    row: int,
    stats: dict[str, Any],
) -> counted_claims.Seen | None:
    """The last report and this one, which has news of cells or devices; None: nothing
    of them is promised."""
    hosts = draft.state.fleet.hosts
    if hosts.promises[row].is_free:
        return None
    known: int | None = hosts.stats[row].get(SAVED)
    saved_at, is_ordered = command.saved_at, True
    if saved_at is None:
        saved_at = draft.now
    elif known is not None and command.place is None:
        is_ordered = counted_claims.is_later(saved_at, known)
    return counted_claims.Seen(
        hosts.reported[row], topology_of(stats), saved_at, is_ordered
    )


def _settled_uuid(
    draft: Draft,
    command: UpdateHost,
    old: HostRow | None,
    stats: dict[str, Any],
    found: dict[str, Any],
) -> str | None:
    """The uuid of the host's provider, once the books say what ``stats`` do; what its
    reports own is put into ``stats``. None: a remote Placement has its provider, and
    it has not told which."""
    reported: str | None = stats.get("uuid")
    if reported is not None and old is not None and reported == stats.get(ADOPTED):
        reported = old.uuid
    if not command.writes_books:
        return host_identity.uuid_elsewhere(draft, command, old, reported)
    provider = host_identity.provider(draft, command, old, reported)
    record = stats.get(reported_inventories.OWNED, {})
    stats[reported_inventories.OWNED] = _settle(
        draft, command, provider, record, stats, found
    )
    return provider.uuid


def _settle(
    draft: Draft,
    command: UpdateHost,
    provider: ProviderRow,
    record: dict[str, Any],
    stats: dict[str, Any],
    found: dict[str, Any],
) -> dict[str, Any]:
    """Inventories, traits and, for a provider new to the host, aggregates; the new
    record of what reports own."""
    is_new = record.get("provider") != provider.id
    if is_new:
        record = {"inventories": {}, "traits": []}
        for uuid in draft.state.fleet.aggregates.of_host(command.host):
            labels.join(draft, provider, uuid)
    traits = record["traits"]
    if "traits" in stats and (is_new or "traits" in found):
        traits = reported_inventories.settle_traits(
            draft, provider, traits, stats["traits"]
        )
    wanted = reported_inventories.amounts(stats, command)
    inventories = reported_inventories.settle(
        draft, provider, record["inventories"], wanted
    )
    return {"provider": provider.id, "inventories": inventories, "traits": traits}
