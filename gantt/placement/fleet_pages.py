"""Services, server groups and aggregates of hosts, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, TypeVar

import msgspec

from gantt.errors import Invalid
from gantt.model.fleet import DEMAND
from gantt.model.fleet_lists import (
    GroupQuery,
    HostAggregateQuery,
    InstanceQuery,
    ServiceQuery,
)
from gantt.model.hosts import HostAggregate, ServerGroup, Service
from gantt.model.names import canonical, spellings
from gantt.model.paging import Listed, Place, page_of, read, text_of
from gantt.model.rows import ServerGroupRow, ServiceRow
from gantt.placement.pause import Pause, never
from gantt.state.state import State

_ZONE = "availability_zone"
_SLICE: Final = 5_000
Name = TypeVar("Name", str, tuple[str, str])
T = TypeVar("T")


def slices(names: Collection[T]) -> Iterator[list[T]]:
    """All of them, so many at a time that others need not wait for longer. A list that
    others write is read as it is then, anything else as it was at the beginning."""
    listed = names if isinstance(names, list) else list(names)
    for start in range(0, len(listed), _SLICE):
        yield listed[start : start + _SLICE]


def first(
    names: Iterable[list[Name]],
    most: int,
    is_meant: Callable[[Name], bool],
    rest: Pause,
) -> list[Name]:
    """The first ``most`` of those that are meant, in order, each once. ``rest`` is
    called between slices of ``names``, and may let others write."""
    found: list[Name] = []
    for some in names:
        if len(found) == most:
            last = found[-1]
            some = [one for one in some if one < last]
        found = sorted({one for one in some if is_meant(one)}.union(found))[:most]
        rest()
    return found


def page(
    places: list[Place],
    limit: int,
    show: Callable[[Place], T | None],
) -> Listed[T]:
    """A page of the first ``places``, one more than it has: some may be gone."""
    found, after = page_of(places, limit, show)
    return found, after or (text_of(places[-1]) if len(places) > limit else "")


def after_uuid(
    query: GroupQuery | InstanceQuery, is_known: Callable[[str], bool]
) -> str | None:
    """The uuid after which the page begins, as the books have it; None: it is the first
    page. Raises Invalid for a place of another form."""
    if query.after:
        found: str = read(query.after, tuple[str])[0]
        return found
    if query.marker is None or is_known(query.marker):
        return query.marker
    return canonical(query.marker)


def services(state: State, query: ServiceQuery, rest: Pause = never) -> Listed[Service]:
    """Raises Invalid for a place or marker of another form."""
    after: tuple[str, str] | None = None
    if query.after:
        after = read(query.after, tuple[str, str])
    elif query.marker is not None:
        after = _place(query.marker)
    fleet = state.fleet
    facts = [one for one in fleet.facts.by_place if one[1] != DEMAND]
    known = slices([*fleet.services.by_place, *facts])

    def is_meant(place: tuple[str, str]) -> bool:
        return (
            query.host in (None, place[0])
            and query.binary in (None, place[1])
            and (after is None or place > after)
        )

    def show(place: tuple[str, str]) -> Service | None:
        row = fleet.told(*place)
        return None if row is None else _service(row)

    return page(first(known, query.limit + 1, is_meant, rest), query.limit, show)


def _place(marker: str) -> tuple[str, str]:
    binary, at, host = marker.partition("@")
    if not at:
        raise Invalid(
            f"marker is {marker!r}; it must be BINARY@HOST of the last service of the "
            "page before, such as nova-compute@host1."
        )
    return host, binary


def _service(row: ServiceRow) -> Service:
    return Service(
        row.host,
        row.binary,
        row.disabled,
        row.forced_down,
        row.last_seen_up,
        row.availability_zone,
        row.cell_uuid,
        row.version,
        row.disabled_reason,
    )


def server_groups(
    state: State, query: GroupQuery, rest: Pause = never
) -> Listed[ServerGroup]:
    """Those that were told of. Raises Invalid for a place of another form."""
    table = state.fleet.groups
    after = after_uuid(query, table.by_uuid.__contains__)
    member = None if query.member is None else canonical(query.member)

    def is_meant(uuid: str) -> bool:
        return (after is None or uuid > after) and (
            member is None or member in table.members.get(uuid, ())
        )

    def show(place: tuple[str]) -> ServerGroup | None:
        row = table.by_uuid.get(place[0])
        return None if row is None else _group(row)

    uuids = first(slices(table.by_uuid), query.limit + 1, is_meant, rest)
    return page([(uuid,) for uuid in uuids], query.limit, show)


def _group(row: ServerGroupRow) -> ServerGroup:
    members = frozenset(msgspec.json.decode(row.members, type=list[str]))
    return ServerGroup(row.uuid, row.name, row.policy, row.max_server_per_host, members)


def host_aggregates(
    state: State, query: HostAggregateQuery, rest: Pause = never
) -> Listed[HostAggregate]:
    """Raises Invalid for a place of another form, or a marker that is not known."""
    table = state.fleet.aggregates
    after: tuple[str, str] | None = None
    if query.after:
        after = read(query.after, tuple[str, str])
    elif query.marker is not None:
        after = _named(state, query.marker)
    asked = None if query.uuid is None else spellings(query.uuid)

    def is_meant(place: tuple[str, str]) -> bool:
        uuid = place[1]
        return (
            uuid in table.by_uuid
            and (asked is None or uuid in asked)
            and (query.host is None or query.host in table.hosts[uuid])
            and query.zone in (None, table.metadata[uuid].get(_ZONE))
            and (after is None or place > after)
        )

    def show(place: tuple[str, str]) -> HostAggregate | None:
        uuid = place[1]
        return _aggregate(state, uuid) if uuid in table.by_uuid else None

    names = slices([(row.name, row.uuid) for row in table.rows()])
    return page(first(names, query.limit + 1, is_meant, rest), query.limit, show)


def _named(state: State, marker: str) -> tuple[str, str]:
    known = state.fleet.aggregates.by_uuid
    last = next((known[one] for one in spellings(marker) if one in known), None)
    if last is None:
        raise Invalid(
            f"marker {marker} is no aggregate of hosts, or no longer: begin without a "
            "marker."
        )
    return last.name, last.uuid


def _aggregate(state: State, uuid: str) -> HostAggregate:
    table = state.fleet.aggregates
    row = table.by_uuid[uuid]
    return HostAggregate(
        uuid, row.name, row.number, table.hosts[uuid], dict(table.metadata[uuid])
    )
