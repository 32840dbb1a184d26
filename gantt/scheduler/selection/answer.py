"""From picks to selections: what the caller of ``select_destinations`` hears.

Names are looked up at the very end, by the ids of hosts: a row may stand for another
host by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from msgspec import json

from gantt.errors import ClaimLost
from gantt.model.answers import Claimed
from gantt.model.scheduling import Selections
from gantt.model.selection import Limits, Selection
from gantt.model.spec import ScheduleRequest
from gantt.scheduler.explain.why import age_s
from gantt.scheduler.feasibility.feasible_hosts import FeasibleHosts
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.selection.select import Pick
from gantt.state.state import State

MICROVERSION = "1.36"


def selections(
    state: State,
    request: ScheduleRequest,
    feasible: FeasibleHosts,
    picks: list[list[Pick]],
    spare: Sequence[Pick],
    now: int,
    claimed: Claimed | None = None,
) -> Selections:
    """Per instance its host, then alternates in the same cell: hosts that nothing
    holds. Raises ClaimLost when a host that was claimed is gone."""
    taken = claimed.taken if claimed is not None else (0,) * len(picks)
    claim = None if claimed is None else claimed.claim
    chosen = [found[at] for found, at in zip(picks, taken, strict=True)]
    others = spare if len(chosen) > 1 else [place for one in picks for place in one]
    teller = _Teller(state, feasible, now)
    used = {place.host_id for place in chosen}
    alternates = _Alternates(
        teller, [place for place in others if place.host_id not in used]
    )
    answer = []
    for place in chosen:
        mine = teller.tell(place, claim)
        more = alternates.in_cell(mine.cell_uuid) if request.return_alternates else ()
        answer.append((mine, *more))
    return tuple(answer)


def zone_of(state: State, row: int, options: SchedulerOptions) -> str:
    """The availability zone of a host: that of its aggregates, else the default."""
    fleet = state.fleet
    for uuid in fleet.aggregates.of_host(fleet.hosts.hosts[row]):
        zone = fleet.aggregates.metadata[uuid].get("availability_zone")
        if zone is not None:
            return zone
    return options.default_availability_zone


class _Teller:
    """One host as a selection."""

    def __init__(self, state: State, feasible: FeasibleHosts, now: int) -> None:
        self.state = state
        self.options = feasible.policy.options
        self._request = feasible.request
        self._now = now
        self._limiting = feasible.policy.limiting

    def tell(self, place: Pick, claim: str | None) -> Selection:
        # First: plug-ins are asked, and rows may mean other hosts afterwards.
        limits = self._limits(self._row(place)) if self._limiting else None
        hosts, row = self.state.fleet.hosts, self._row(place)
        return Selection(
            hosts.uuids[row],
            hosts.hosts[row],
            hosts.nodes[row],
            hosts.cells[row],
            limits,
            _allocation_request(place),
            MICROVERSION if place.candidate.allocations else None,
            zone_of(self.state, row, self.options),
            claim,
            age_s(self.state, row, self._now),
        )

    def _row(self, place: Pick) -> int:
        row = self.state.fleet.hosts.row_by_id.get(place.host_id)
        if row is None:
            raise ClaimLost(f"Host {place.host_id} was deleted while it was claimed.")
        return row

    def _limits(self, row: int) -> Limits:
        """What the enabled filters want the host's own claim to keep to."""
        host = Hosts(self.state.fleet, np.array([row], np.int64))
        found: dict[str, Any] = {}
        for one in self._limiting:
            found |= one.limits(host, self._request, 0)
        return Limits(**found)


class _Alternates:
    """The best of ``places``, as few as the options ask for, found once per cell."""

    def __init__(self, teller: _Teller, places: list[Pick]) -> None:
        self._teller = teller
        self._places = places
        self._found: dict[str | None, list[Selection]] = {}

    def in_cell(self, cell: str | None) -> list[Selection]:
        if cell not in self._found:
            hosts = self._teller.state.fleet.hosts
            mine = (
                place
                for place in self._places
                if (row := hosts.row_by_id.get(place.host_id)) is not None
                and hosts.cells[row] == cell
            )
            most = self._teller.options.max_attempts - 1
            self._found[cell] = [
                self._teller.tell(place, None) for place in islice(mine, most)
            ]
        return self._found[cell]


def _allocation_request(place: Pick) -> str:
    candidate = place.candidate
    if not candidate.allocations:
        return "null"
    body = {
        "allocations": {
            uuid: {"resources": resources}
            for uuid, resources in candidate.allocations.items()
        },
        "mappings": candidate.mappings,
    }
    return json.encode(body).decode()
