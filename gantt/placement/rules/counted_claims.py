"""When the claim of an instance on cells or devices is no longer pending.

The host's report contains the instance, which is told in two ways. By its numbers: use
rose by what the claim promises (``topology.reported_claims``); then the claim takes
nothing more, but stays, because which of several alike rose is not known. By its times:
the host names the instance, and saved a report after that; then the claim ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.rows import BookingRow
from gantt.model.topology import HostTopology
from gantt.placement.fleet_queries import SAVED, has_agents_cells
from gantt.placement.rules import booked_names
from gantt.placement.rules.draft import Draft
from gantt.state.state import State
from gantt.topology import reported_claims
from gantt.topology.promised_topology import (
    PromisedTopology,
    from_text,
    running,
    to_text,
)
from gantt.topology.reported_claims import Numbered


class Seen(Struct, frozen=True):
    """Two reports of a host that followed one another. ``saved_at``: of the second;
    ``is_ordered``: nothing says that it may be the older one."""

    before: HostTopology
    after: HostTopology
    saved_at: int
    is_ordered: bool


def current(draft: Draft, row: BookingRow) -> BookingRow | None:
    """The claim as this draft leaves it."""
    found = draft.get(t.BOOKINGS, row.id)
    return found if isinstance(found, BookingRow) and found.is_claim else None


def name(draft: Draft, row: BookingRow, host: str, saved_at: int | None) -> None:
    """The instance is there since ``saved_at``, unless it was before it was promised:
    then it is to be resized there, which has not happened yet. It was launched, so the
    lease ends."""
    counted_at, promised_at = row.counted_at, row.created_at or 0
    if counted_at is None:
        counted_at = draft.now if saved_at is None else saved_at
        known = draft.state.fleet.instances.on(host).get(row.instance_uuid)
        known_at = None if known is None else known.updated_at or known.created_at
        was_there = known_at is not None and known_at <= promised_at
        if was_there and saved_at is None:
            return
        if second(counted_at) < second(promised_at) + was_there:
            return
    place = draft.state.fleet.hosts.row_by_id[row.host_id]
    report_at = draft.state.fleet.hosts.stats[place].get(SAVED)
    named_now = replace(row, counted_at=counted_at, leased_until=None)
    if named_now.is_counted:
        named_now = replace(named_now, vcpus=0, memory_mb=0, disk_mb=0)
    if report_at is not None and is_sure(draft.state, named_now, report_at):
        stats = draft.state.fleet.hosts.stats[place]
        end(draft, row, is_whole=not has_agents_cells(stats))
    elif named_now != row:
        draft.put(t.BOOKINGS, replace(named_now, updated_at=draft.now))


def is_sure(state: State, row: BookingRow, saved_at: int) -> bool:
    """Whether a report of the claim's host that was saved then contains its instance,
    by its time. One that was read before the claim was made does not, whatever its
    clock says."""
    hosts = state.fleet.hosts
    place = hosts.row_by_id[row.host_id]
    if saved_at <= hosts.stats[place].get(SAVED, -1):
        read_at = max(int(hosts.updated_at[place]), int(hosts.created_at[place]))
        if read_at < (row.created_at or 0):
            return False
    return row.counted_at is not None and is_later(saved_at, row.counted_at)


def is_later(saved_at: int, counted_at: int) -> bool:
    """Whether a report was saved after an instance was named. Nova's database has whole
    seconds: within one, nothing tells which was first."""
    return second(counted_at) < second(saved_at)


def second(at: int) -> int:
    """The second of a time in microseconds."""
    return at // 1_000_000


def end(draft: Draft, row: BookingRow, *, is_whole: bool) -> None:
    """The host reports the instance and its amounts. ``is_whole``: and what it uses of
    cells and devices, so that the claim ends. Agents do not tell whose these are: what
    is promised of them stays until the claim is released or its allocations go."""
    pending = None if row.topology is None else from_text(row.topology)
    if is_whole or pending is None or not (pending.fit or pending.wanted.devices):
        remove(draft, row)
        return
    draft.put(
        t.BOOKINGS,
        replace(
            row,
            vcpus=0,
            memory_mb=0,
            disk_mb=0,
            leased_until=None,
            counted_at=draft.now,
            updated_at=draft.now,
            topology=to_text(running(pending)),
        ),
    )


def remove(draft: Draft, row: BookingRow) -> None:
    """The claim ends."""
    row = current(draft, row) or row
    promised_again(draft, row)
    booked_names.end(draft, row)


def promised_again(
    draft: Draft, row: BookingRow
) -> tuple[tuple[int, PromisedTopology], ...]:
    """The claim makes way. If no report was seen to contain it, one may have all the
    same, and what rose with it was taken for another claim: that one is promised its
    own again; the ids of such claims, and what they were promised. Said once of each
    claim, in this draft."""
    if row.topology is None or row.is_counted or not _may_be_seen(draft.state, row):
        return ()
    credited = {
        one.id: from_text(one.topology or "")
        for one in _on(draft, row.host_id)
        if one.is_counted
    }
    ended = from_text(row.topology)
    hosts = draft.state.fleet.hosts
    obeys = hosts.obeys(hosts.row_by_id[row.host_id])
    found = []
    for key in reported_claims.given_back(ended, credited, obeys=obeys):
        _mark(draft, key, credited[key], is_counted=False)
        found.append((key, replace(credited[key], is_counted=False)))
    draft.put(
        t.BOOKINGS, replace(row, topology=to_text(replace(ended, is_counted=True)))
    )
    return tuple(found)


def read(draft: Draft, host_id: int, seen: Seen, ended: Iterable[BookingRow]) -> None:
    """A report says something new of cells or devices. ``ended``: the claims that it
    contains by its time, which end."""
    mine = [one for one in _on(draft, host_id) if not one.is_open]
    sure = {one.id for one in ended}
    if not seen.is_ordered or seen.after.obeys:
        was = [one for one in mine if one.is_counted and one.id not in sure]
        pendings = _numbered(was)
        for key in reported_claims.counted(seen.after, seen.before, pendings):
            _mark(draft, key, dict(pendings)[key], is_counted=False)
    asked = [
        one
        for one in mine
        if not one.is_counted
        and (one.id in sure or second(one.created_at or 0) <= second(seen.saved_at))
    ]
    # What is sure to be there takes its part first.
    asked.sort(key=lambda one: (one.id not in sure, not one.is_running, one.id))
    pendings = _numbered(asked)
    for key in reported_claims.counted(seen.before, seen.after, pendings):
        pending = dict(pendings)[key]
        # What runs as it was told keeps that, whatever a report says.
        if not pending.is_running or pending.fit is None:
            _mark(draft, key, pending, is_counted=True)


def _may_be_seen(state: State, row: BookingRow) -> bool:
    """Whether the host saved a report since the claim was made."""
    hosts = state.fleet.hosts
    place = hosts.row_by_id.get(row.host_id)
    if place is None:
        return False
    saved_at: int | None = hosts.stats[place].get(SAVED)
    if saved_at is not None:
        return second(row.created_at or 0) <= second(saved_at)
    said_at = max(int(hosts.updated_at[place]), int(hosts.created_at[place]))
    return (row.created_at or 0) <= said_at


def _on(draft: Draft, host_id: int) -> list[BookingRow]:
    """Claims on cells or devices of a host as this draft leaves them, the oldest
    first."""
    table = draft.state.fleet.claims
    rows = (current(draft, table.by_instance[uuid]) for uuid in table.on(host_id))
    found = [
        row
        for row in rows
        if row is not None and row.topology is not None and row.host_id == host_id
    ]
    return sorted(found, key=lambda row: row.id)


def _numbered(rows: Sequence[BookingRow]) -> list[Numbered]:
    return [(row.id, from_text(row.topology or "")) for row in rows]


def _mark(
    draft: Draft, key: int, pending: PromisedTopology, *, is_counted: bool
) -> None:
    """Amounts are counted twice no longer than until the host names the instance, too,
    as those of all claims."""
    row = draft.get(t.BOOKINGS, key)
    assert isinstance(row, BookingRow), "what is marked is there"
    text = to_text(replace(pending, is_counted=is_counted))
    row = replace(row, topology=text, updated_at=draft.now)
    if row.is_reported:
        row = replace(row, vcpus=0, memory_mb=0, disk_mb=0)
    draft.put(t.BOOKINGS, row)
