"""Rules for what the database of a cell says of its hosts beside their reports: what is
on its way, what is not there any more, and since when it was read without a gap.

The audit asks for these. A host whose agent lists what runs keeps its own account.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.commands import SetMoves
from gantt.model.names import canonical
from gantt.model.rows import HostRow, ServiceRow
from gantt.placement import host_moves, listings
from gantt.placement.fleet_queries import MISSING
from gantt.placement.rules import report_news
from gantt.placement.rules.draft import Draft


def set_moves(draft: Draft, command: SetMoves) -> None:
    """A host that is not known has none."""
    names = host_moves.names_of(command.moves)
    for row in draft.state.fleet.hosts.rows_of(command.host):
        found = host_moves.noted(draft.state, row, names, draft.now)
        if found is not None:
            _keep(draft, row, found)


def missed(draft: Draft, host: str, uuids: Collection[str]) -> None:
    """The host does not name these any more. Since when is kept of those that have
    something there."""
    state, hosts = draft.state, draft.state.fleet.hosts
    for row in hosts.rows_of(host):
        if not listings.is_of_cell(state, row):
            continue
        held = [
            one
            for one in dict.fromkeys(map(canonical, uuids))
            if listings.is_held(state, row, one)
        ]
        if held:
            known = _stats(draft, row).get(MISSING, {})
            times = {
                uuid: at
                for uuid, at in known.items()
                if listings.is_held(state, row, uuid)
            }
            times |= dict.fromkeys(held, draft.now)
            _keep(draft, row, {MISSING: times})


def dated(old: ServiceRow, new: ServiceRow, now: int) -> ServiceRow:
    """The row of a cell is dated when the cell was read, and anew where it was not for
    long."""
    if new.last_seen_up == old.last_seen_up:
        return new
    before = old.updated_at or old.created_at or 0
    goes_on = old.last_seen_up is not None and now - before <= listings.LONGEST_GAP_US
    since = old.created_at if goes_on else now
    return replace(new, created_at=since, updated_at=now)


def _stats(draft: Draft, row: int) -> dict[str, Any]:
    """What the host at ``row`` reports, as the draft leaves it."""
    found: dict[str, Any] = msgspec.json.decode(_row(draft, row).stats)
    return found


def _row(draft: Draft, row: int) -> HostRow:
    found = draft.get(t.HOSTS, int(draft.state.fleet.hosts.id[row]))
    assert isinstance(found, HostRow)
    return found


def _keep(draft: Draft, row: int, values: dict[str, Any]) -> None:
    host = _row(draft, row)
    stats = {**_stats(draft, row), **values}
    text = report_news.text_of(host.host, host.node, stats)
    draft.put(t.HOSTS, replace(host, stats=text))
