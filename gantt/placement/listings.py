"""Lists of what runs on a host, by its agent or by Nova's databases.

An agent's list is kept within the stats of its host, with since when an instance is
missing, and set by its reports alone: what another writer says of the host makes no
list newer. A feed reads every instance of a cell: what it names on a host is a list of
the time at which the cell was read last. A cell that cannot be read has none, and what
moves meanwhile is not known either, so that then its agents' lists say too little.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET, Struct

from gantt.model.audit import Silence
from gantt.model.commands import UpdateHost
from gantt.model.names import canonical
from gantt.model.rows import FactRow, InstanceRow
from gantt.placement.fleet_queries import LISTING, MISSING
from gantt.state.column import NO_ROW
from gantt.state.report_decoder import LISTED
from gantt.state.state import State

LONGEST_GAP_US: Final = 300_000_000
"""A cell that was not read for longer is watched anew: what was missing before and
after may have been there in between."""


class InstanceList(Struct, frozen=True):
    """A whole list. ``names``: canonical uuids; ``at``: when it was made or found
    unchanged last; ``since``: when the first list was made that all these follow;
    ``missing``: when a name was first not in a list any more. Microseconds.
    ``is_of_cell``: of all nodes of the host together, by its cell's database."""

    names: frozenset[str]
    at: int
    since: int
    missing: dict[str, int]
    is_of_cell: bool = False

    def missing_since(self, instance: str) -> int:
        return max(self.missing.get(instance, 0), self.since)


def listing_at(
    state: State, row: int, now: int, fresh_us: int
) -> InstanceList | Silence:
    """The list of the host at ``row``, its agent's before its cell's, which is younger
    than ``fresh_us``; or why there is none."""
    stats, cell = state.fleet.hosts.stats[row], _cell_of(state, row)
    if cell is not None and (cell.away or now - _read_at(cell) > fresh_us):
        return "cell_unread"
    if _lists(stats):
        known = stats[LISTING]
        if now - known["at"] > fresh_us:
            return "old_list"
        times = known["at"], known["since"], known["missing"]
        return InstanceList(frozenset(stats[LISTED]), *times)
    return "no_list" if cell is None else _in_cell(state, row, cell)


def is_of_cell(state: State, row: int) -> bool:
    """Whether what its cell names on the host at ``row`` is its list."""
    stats = state.fleet.hosts.stats[row]
    return not _lists(stats) and _cell_of(state, row) is not None


def _lists(stats: dict[str, Any]) -> bool:
    """Whether its agent lists all that runs there."""
    return LISTING in stats and stats.get("lists_instances") is True


def _cell_of(state: State, row: int) -> FactRow | None:
    """The cell of the host; None: it was never told that it was read."""
    fleet = state.fleet
    found = fleet.facts.by_subject.get(("cell", fleet.hosts.cells[row] or ""))
    return None if found is None or found.at is None else found


def _read_at(cell: FactRow) -> int:
    """When it was told here: its own clock may be another."""
    return cell.updated_at or cell.created_at or 0


def _in_cell(state: State, row: int, cell: FactRow) -> InstanceList:
    """What its database names on the host, by all nodes of its compute."""
    hosts = state.fleet.hosts
    names = frozenset(map(canonical, state.fleet.instances.on(hosts.hosts[row])))
    missing = hosts.stats[row].get(MISSING, {})
    since = cell.created_at or 0
    return InstanceList(names, _read_at(cell), since, missing, is_of_cell=True)


def is_new_at(state: State, row: int, key: str, before: int, named: int) -> bool:
    """Whether an instance that the host at ``row`` lists, in whatever way its uuid is
    written, was first named after ``named``, or has moved or lost its allocations after
    ``before``: a list is older than what is made of it."""
    on = state.fleet.instances.on(state.fleet.hosts.hosts[row])
    found = state.fleet.instances.by_uuid.get(key) or next(
        (one for uuid, one in on.items() if canonical(uuid) == key), None
    )
    return found is not None and (
        (found.created_at or 0) > named or (found.updated_at or 0) > before
    )


def elsewhere(state: State, row: int | None, instance: str) -> str | None:
    """Another host than that at ``row`` which names or lists the instance."""
    hosts, key = state.fleet.hosts, canonical(instance)
    here = None if row is None else hosts.hosts[row]
    for uuid in (instance, key):
        named = state.fleet.instances.by_uuid.get(uuid)
        if named is not None and named.host != here:
            return named.host
    return lister(state, row, key)


def lister(state: State, row: int | None, instance: str) -> str | None:
    """Another host than that at ``row`` whose agent lists the instance."""
    hosts = state.fleet.hosts
    rows = hosts.listers.rows.get(canonical(instance), ())
    return min((hosts.hosts[one] for one in rows if one != row), default=None)


def dropped(
    state: State, command: UpdateHost, row: int | None, stats: dict[str, Any]
) -> list[InstanceRow]:
    """The instances that a whole list lacks, of which nothing is allocated or claimed
    there: they ended in order. The others may come back; the audit has them. An agent
    speaks for what it listed before; another writer, whose report says itself that it
    is whole, for all that the host names, if that has one node. ``stats``: of the host,
    after its report."""
    named = command.stats.instances
    if row is None or named is UNSET or stats.get("lists_instances") is not True:
        return []
    table = state.fleet.hosts
    known = state.fleet.instances.on(table.hosts[row])
    if command.place is not None:
        gone = set(table.stats[row].get(LISTED, ())).difference(stats[LISTED])
    elif command.stats.lists_instances is True and (
        len(table.rows_of(table.hosts[row])) == 1
    ):
        gone = set(map(canonical, known)).difference(map(canonical, named))
    else:
        return []
    if not gone:
        return []
    return [
        known[uuid]
        for uuid in sorted(known)
        if canonical(uuid) in gone and not is_held(state, row, uuid)
    ]


def is_due(known: dict[str, Any], command: UpdateHost, now: int) -> bool:
    """Whether a list that is found unchanged is so old that this is written down.
    ``known``: the ``LISTING`` of its host."""
    after_us = command.renewed_after_us
    if after_us is None or command.listed_at is None:
        return False
    return bool(min(command.listed_at, now) - known["at"] >= after_us)


def note(
    state: State, command: UpdateHost, row: int | None, stats: dict[str, Any], now: int
) -> None:
    """Put the list of a report into ``stats``, or that it is unchanged."""
    named = command.stats.instances
    before = stats.get(LISTED)
    after = before
    if command.place is not None and named is not UNSET:
        after = stats[LISTED] = sorted(set(map(canonical, named)))
    if stats.get("lists_instances") is not True:
        stats.pop(LISTING, None)
        return
    if command.listed_at is None or after is None:
        return
    at = min(command.listed_at, now)  # a clock that is ahead makes no list newer
    old = stats.get(LISTING, {"since": at, "missing": {}})
    gone = {**dict.fromkeys(set(before or ()).difference(after), at), **old["missing"]}
    there = frozenset(after)
    missing = {
        uuid: gone[uuid]
        for uuid in sorted(gone)
        if uuid not in there and is_held(state, row, uuid)
    }
    stats[LISTING] = {"at": at, "since": old["since"], "missing": missing}


def is_held(state: State, row: int | None, instance: str) -> bool:
    """Whether the instance has allocations or a claim on the host: of others it need
    not be known since when they are missing."""
    if row is None:
        return False
    hosts = state.fleet.hosts
    ids, roots = booked_at(state, instance)
    provider = int(hosts.provider[row])
    if int(hosts.id[row]) in ids:
        return True
    return provider != NO_ROW and int(state.providers.root[provider]) in roots


def booked_at(state: State, instance: str) -> tuple[set[int], set[int]]:
    """Ids of the hosts where it has a claim, and rows of the roots where it has
    allocations."""
    claims, consumer = state.fleet.claims, state.consumers.row_by_uuid.get(instance)
    ids = {one.host_id for one in claims.held_by(instance)}
    own = claims.by_instance.get(instance)
    if own is not None:
        ids.add(own.host_id)
    if consumer is None:
        return ids, set()
    table, roots = state.allocations, state.providers.root
    rows = table.by_consumer.rows_of(consumer)
    return ids, {int(roots[table.provider[one]]) for one in rows}
