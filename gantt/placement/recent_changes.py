"""Which hosts take no requests, and what the tables of the fleet say changed lately.

Rows have times of their own, so that this needs no log, which may be long or compacted:
it looks at what is there. Of what is gone they tell nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest, nsmallest
from typing import Final, TypeVar

from msgspec import Struct

from gantt.model.fleet_map import STATES
from gantt.model.printable import counted
from gantt.model.recent import MOST_NAMED, FleetChange, HostOut, OutCount
from gantt.model.rows import (
    FactRow,
    HostAggregateRow,
    ServerGroupRow,
    ServiceRow,
)
from gantt.placement import listings
from gantt.placement.fleet_pages import slices
from gantt.placement.fleet_queries import LISTING
from gantt.placement.pause import Pause
from gantt.placement.usages import states_of
from gantt.state.column import NO_TIME
from gantt.state.fleet_tables import COMPUTE, FleetTable
from gantt.state.report_decoder import LISTED
from gantt.state.state import State

SILENT: Final = "silent"
_FEW: Final = 10
_Dated = ServiceRow | FactRow | HostAggregateRow | ServerGroupRow
_Row = TypeVar("_Row", ServiceRow, FactRow, HostAggregateRow, ServerGroupRow)
_ENABLED: Final = STATES.index("enabled")


class RecentTerms(Struct, frozen=True):
    """Microseconds: ``down_after`` as in ``host_states``, ``fresh_us``: a list of what
    runs is good for so long."""

    now: int
    since: int
    down_after: int
    fresh_us: int


class FleetNews(Struct, frozen=True):
    """The part of ``Recent`` that a State tells."""

    out: tuple[HostOut, ...]
    states: tuple[OutCount, ...]
    changes: tuple[FleetChange, ...]
    changed: int
    versions: dict[str, int]


def fleet_news(state: State, rest: Pause, terms: RecentTerms) -> FleetNews:
    """``rest`` is called between parts, and may let others write."""
    out = list(_out(state, terms, rest))
    states = sorted(_counts(out), key=lambda one: (one.state == "disabled", -one.hosts))
    size = {one.state: one.hosts for one in states}
    rest()
    changes = list(_changes(state, terms.since, rest))
    return FleetNews(
        tuple(
            nsmallest(
                MOST_NAMED,
                out,
                key=lambda one: (size[one.state] > _FEW, -one.instances, one.host),
            )
        ),
        tuple(states),
        tuple(nlargest(MOST_NAMED, changes, key=lambda one: one.at)),
        len(changes),
        state.fleet.services.versions,
    )


def _counts(out: list[HostOut]) -> Iterator[OutCount]:
    for kind in {one.state for one in out}:
        some = [one for one in out if one.state == kind]
        first = min(some, key=lambda one: (one.since is None, one.since or 0, one.host))
        instances = sum(one.instances for one in some)
        yield OutCount(kind, len(some), instances, first.host, first.since)


def _out(state: State, terms: RecentTerms, rest: Pause) -> Iterator[HostOut]:
    table = state.fleet.hosts
    rows = table.live_rows()
    states = states_of(state, rows, terms.now, terms.down_after)
    ids = [int(table.id[row]) for row in rows]
    for host_id, code in zip(ids, states.tolist(), strict=True):
        row = table.row_by_id.get(host_id)
        if row is None:
            continue
        if code != _ENABLED:
            yield _host(state, row, STATES[code], *_why(state, row, STATES[code]))
        elif listings.listing_at(state, row, terms.now, terms.fresh_us) == "old_list":
            at = table.stats[row][LISTING]["at"]
            yield _host(state, row, SILENT, at, "no report of its agent", "")
        rest()


def _host(
    state: State, row: int, kind: str, since: int | None, by: str, reason: str
) -> HostOut:
    table = state.fleet.hosts
    host = table.hosts[row]
    named = {*state.fleet.instances.on(host), *table.stats[row].get(LISTED, ())}
    count = max(int(table.num_instances[row]), len(named))
    return HostOut(host, table.nodes[row], kind, since, by, reason, count)


def _why(state: State, row: int, kind: str) -> tuple[int | None, str, str]:
    """Since when it is so, by whom, and the reason that was given."""
    fleet, host = state.fleet, state.fleet.hosts.hosts[row]
    service = fleet.services.by_place.get((host, COMPUTE))
    word, agent = fleet.facts.of("operator", host), fleet.facts.of("agent", host)
    if kind == "disabled" and word is not None and word.disabled:
        return _latest(word), "an operator (gantt host disable)", word.reason or ""
    if kind == "disabled" and service is not None:
        return _latest(service), "its service (Nova)", service.disabled_reason or ""
    if kind == "down" and service is not None and service.forced_down:
        return _latest(service), "forced down by hand", ""
    if kind == "down" and agent is not None and agent.away:
        return agent.at, "no report of its agent", ""
    seen = int(fleet.hosts.last_seen_up[row])
    if kind == "down":
        return None if seen == NO_TIME else seen, "its service is silent", ""
    return None, "it has not said what it has left", ""


def _latest(row: ServiceRow | FactRow) -> int | None:
    return row.updated_at or row.created_at


def _changes(state: State, since: int, rest: Pause) -> Iterator[FleetChange]:
    """The last one of each row that has a time, if it is later."""
    fleet = state.fleet
    for service in _late(fleet.services, since, rest):
        yield _change(service, "service", service.host, _service(service))
    for fact in _late(fleet.facts, since, rest):
        yield _change(fact, fact.kind, fact.subject, _fact(fact))
    for one in _late(fleet.aggregates, since, rest):
        told = counted(len(fleet.aggregates.hosts[one.uuid]), "host")
        yield _change(one, "aggregate", one.name or one.uuid, told)
    for group in _late(fleet.groups, since, rest):
        told = f"policy {group.policy}"
        yield _change(group, "group", group.name or group.uuid, told)
    table = fleet.hosts
    rows = table.live_rows()
    for host_id in table.id[rows[table.created_at[rows] > since]].tolist():
        row = table.row_by_id.get(host_id)
        if row is not None:
            at = int(table.created_at[row])
            yield FleetChange(at, "host", table.hosts[row], "reports here", is_new=True)
        rest()


def _late(table: FleetTable[_Row], since: int, rest: Pause) -> Iterator[_Row]:
    """Its rows that changed later, as they are when they are looked at."""
    for some in slices(sorted(table.by_id)):
        for key in some:
            row = table.get(key)
            if row is not None and _time(row)[0] > since:
                yield row
                rest()  # one that is told costs much more than one that is not
        rest()


def _change(row: _Dated, what: str, name: str, now: str) -> FleetChange:
    at, is_new = _time(row)
    return FleetChange(at, what, name, now, is_new)


def _time(row: _Dated) -> tuple[int, bool]:
    """When it changed, and whether it came then; 0: it was only seen again."""
    if isinstance(row, ServiceRow) and _is_heartbeat(row):
        return 0, False
    is_new = row.updated_at is None or _is_read_again(row)
    return (row.created_at if is_new else row.updated_at) or 0, is_new


def _is_read_again(row: _Dated) -> bool:
    """Whether it is a cell as it should be, which is told of at every reading."""
    if not isinstance(row, FactRow) or row.kind != "cell":
        return False
    return not (row.away or row.disabled)


def _is_heartbeat(row: ServiceRow) -> bool:
    """Whether it is well and was only seen again."""
    is_off = row.disabled or row.forced_down
    return not (is_off or row.last_seen_up is None or row.updated_at is None)


def _service(row: ServiceRow) -> str:
    told = [
        "disabled" if row.disabled else "enabled",
        *(["forced down"] if row.forced_down else []),
        *([f"version {row.version}"] if row.version else []),
        *([row.disabled_reason] if row.disabled and row.disabled_reason else []),
    ]
    return ", ".join(told)


def _fact(row: FactRow) -> str:
    if row.kind == "operator":
        word = "disabled" if row.disabled else "enabled"
        return f"{word}, {row.reason}" if row.reason else word
    if row.kind == "demand":
        return "ended" if row.disabled else "waits for room"
    if row.kind == "switch":
        return "the books decide amounts"
    return "away" if row.away else "disabled" if row.disabled else "there"
