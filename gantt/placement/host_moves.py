"""What is on its way from or to a host, as the database of its cell says. Pure.

Kept within the stats of the host: under ``MOVING`` the migrations that have not ended
and their instances, under ``MOVES`` since when (``since``) that is told, and when
(``ended``) one of them was not told any more, for as long as it has anything at the
host. Uuids are canonical, times are microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gantt.model.fleet import Move
from gantt.model.names import canonical
from gantt.placement.fleet_queries import MOVES
from gantt.placement.listings import is_held
from gantt.state.report_decoder import MOVING
from gantt.state.state import State


def is_moving(state: State, uuid: str) -> bool:
    """Whether it is a migration that has not ended, or its instance."""
    return canonical(uuid) in state.fleet.hosts.movers.rows


def is_told(state: State, row: int) -> bool:
    """Whether it is known what is on its way from or to the host at ``row``."""
    return MOVES in state.fleet.hosts.stats[row]


def told_since(state: State, row: int) -> int:
    """Since when; 0: it is not."""
    known = state.fleet.hosts.stats[row].get(MOVES)
    return 0 if known is None else int(known["since"])


def ended_at(state: State, row: int, uuid: str) -> int:
    """When a move of it from or to the host at ``row`` ended last; 0: none did."""
    known = state.fleet.hosts.stats[row].get(MOVES)
    return 0 if known is None else int(known["ended"].get(canonical(uuid), 0))


def names_of(said: Iterable[Move]) -> list[str]:
    """The migrations and their instances, as they are kept."""
    uuids = {uuid for one in said for uuid in (one.migration_uuid, one.instance_uuid)}
    return sorted(canonical(one) for one in uuids if one is not None)


def noted(state: State, row: int, names: list[str], now: int) -> dict[str, Any] | None:
    """What is kept of the host at ``row`` once ``names`` move; None: the same as
    now."""
    stats = state.fleet.hosts.stats[row]
    known, before = stats.get(MOVES), stats.get(MOVING, [])
    if known is None:
        return {MOVING: names, MOVES: {"since": now, "ended": {}}}
    if before == names:
        return None
    gone = set(before).difference(names)
    ended = {**known["ended"], **dict.fromkeys(gone, now)}
    held = {one: ended[one] for one in sorted(ended) if is_held(state, row, one)}
    return {MOVING: names, MOVES: {"since": known["since"], "ended": held}}
