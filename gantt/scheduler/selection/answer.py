"""From picks to selections: the result of ``select_destinations``.

Names are looked up at the very end, by the ids of hosts: a row may belong to another
host by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import json

from gantt.errors import ClaimLost
from gantt.model.answers import Claimed, Repeat
from gantt.model.cpu_sets import numbers_of
from gantt.model.scheduling import Selections
from gantt.model.selection import CellPlace, DevicePlace, Limits, Place, Selection
from gantt.model.spec import ScheduleRequest
from gantt.model.topology import Fit, FittedCell, TakenDevices
from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.selection.host_choice import Pick
from gantt.scheduler.selection.topology_fit import FitsSpent, Fitting, fitting_of
from gantt.state.column import NO_ROW, NO_TIME
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
    """Per instance its host, then alternates in the same cell, which are not claimed.
    Raises ClaimLost when a host that was claimed is gone."""
    taken = claimed.taken if claimed is not None else (0,) * len(picks)
    claim = None if claimed is None else claimed.claim
    chosen = [found[at] for found, at in zip(picks, taken, strict=True)]
    repeats = () if claimed is None else claimed.repeats
    for number, repeat in enumerate(repeats):
        if repeat is not None:
            chosen[number] = _again(state, repeat)
    others = picks[0] if len(picks) == 1 else spare
    used = {pick.host_id for pick in chosen}
    left = [pick for pick in others if pick.host_id not in used]
    writer = _writer(state, feasible, now)
    none = (None,) * len(picks)
    fits = none if claimed is None else claimed.fits or none
    answer = []
    for pick, fit in zip(chosen, fits, strict=True):
        mine = writer.selection(pick, claim, fit)
        more = (
            writer.alternates(left, mine.cell_uuid) if request.return_alternates else ()
        )
        answer.append((mine, *more))
    return tuple(answer)


def repeated(
    state: State, request: ScheduleRequest, policy: Policy, claimed: Claimed, now: int
) -> Selections:
    """What was answered before, for all instances, without alternates: no host is left
    for those. Raises ClaimLost when a host that was claimed is gone."""
    writer = _Writer(state, Request(request.spec, policy.options, now), now)
    fits = claimed.fits or (None,) * len(claimed.repeats)
    answer = []
    for repeat, fit in zip(claimed.repeats, fits, strict=True):
        assert repeat is not None, "a claim without choices only repeats"
        pick = _again(state, repeat)
        answer.append((writer.selection(pick, claimed.claim, fit),))
    return tuple(answer)


def _again(state: State, repeat: Repeat) -> Pick:
    row = state.fleet.hosts.row_by_id.get(repeat.host_id, NO_ROW)
    return Pick(row, repeat.host_id, repeat.candidate)


def zone_of(state: State, row: int, options: SchedulerOptions) -> str:
    """The availability zone of a host: that of its aggregates, else the default."""
    fleet = state.fleet
    for uuid in fleet.aggregates.of_host(fleet.hosts.hosts[row]):
        zone = fleet.aggregates.metadata[uuid].get("availability_zone")
        if zone is not None:
            return zone
    return options.default_availability_zone


def _writer(state: State, feasible: FeasibleHosts, now: int) -> _Writer:
    limiting: Sequence[Filter] = ()
    if feasible.policy.limiting:
        asked = feasible.asked
        limiting = [one for one in feasible.policy.limiting if one.name in asked]
    fitting = fitting_of(state, feasible) if feasible.policy.fits else None
    return _Writer(state, feasible.request, now, limiting, fitting)


class _Writer:
    def __init__(
        self,
        state: State,
        request: Request,
        now: int,
        limiting: Sequence[Filter] = (),
        fitting: Fitting | None = None,
    ) -> None:
        self._state = state
        self._options = request.options
        self._request = request
        self._now = now
        self._limiting = limiting
        self._fitting = fitting
        self._alternates: dict[str | None, list[Selection]] = {}

    def selection(
        self, pick: Pick, claim: str | None, fit: Fit | None = None
    ) -> Selection:
        """Raises ClaimLost when the host is gone."""
        # First: this calls plug-ins, after which row numbers may be invalid.
        limits = self._limits(pick.host_id) if self._limiting else None
        hosts = self._state.fleet.hosts
        row = hosts.row_by_id.get(pick.host_id)
        if row is None:
            raise _lost(pick.host_id)
        allocations, body = pick.candidate.allocations, {}
        for uuid, resources in allocations.items():
            body[uuid] = {"resources": resources}
        mappings = pick.candidate.mappings
        wire = {"allocations": body, "mappings": mappings} if body else None
        return Selection(
            hosts.uuids[row],
            hosts.hosts[row],
            hosts.nodes[row],
            hosts.cells[row],
            limits,
            json.encode(wire).decode(),
            MICROVERSION if body else None,
            zone_of(self._state, row, self._options),
            claim,
            age_s(self._state, row, self._now),
            None if fit is None else place_of(fit),
        )

    def alternates(self, picks: list[Pick], cell: str | None) -> list[Selection]:
        """The best of ``picks`` in ``cell``, as few as the options ask for."""
        found = self._alternates.get(cell)
        if found is None:
            found = self._alternates[cell] = []
            hosts, most = self._state.fleet.hosts, self._options.max_attempts - 1
            for pick in picks:
                if len(found) >= most:
                    break
                row = hosts.row_by_id.get(pick.host_id)
                if row is None or hosts.cells[row] != cell:
                    continue
                if self._fitting is None or self._is_free(self._fitting, row, pick):
                    found.append(self.selection(pick, None))
        return found

    def _is_free(self, fitting: Fitting, row: int, pick: Pick) -> bool:
        """Whether the cells and devices that an alternate needs are left there, as far
        as the limit on fits lets this be found out."""
        try:
            return fitting.fits(row, pick.candidate)
        except FitsSpent:
            return False

    def _limits(self, host_id: int) -> Limits:
        """Limits of the enabled filters for the host's own claim."""
        row = self._state.fleet.hosts.row_by_id.get(host_id)
        if row is None:
            raise _lost(host_id)
        host = Hosts(self._state.fleet, np.array([row], np.int64))
        found: dict[str, Any] = {}
        for one in self._limiting:
            found |= one.limits(host, self._request, 0)
        return Limits(**found)


def _lost(host_id: int) -> ClaimLost:
    return ClaimLost(f"Host {host_id} was deleted while it was claimed.")


def age_s(state: State, row: int, now: int) -> float | None:
    """Seconds since a report of the host at ``row`` was stored; None: unknown."""
    hosts = state.fleet.hosts
    at = max(hosts.updated_at.item(row), hosts.created_at.item(row))
    return None if at == NO_TIME or at > now else (now - at) / 1_000_000


def place_of(fit: Fit) -> Place:
    """Cells, CPUs, pages and devices of ``fit``."""
    return Place(tuple(map(_cell, fit.cells)), tuple(map(_devices, fit.devices)))


def _cell(one: FittedCell) -> CellPlace:
    return CellPlace(
        one.cell.id,
        one.host_cell,
        one.cell.memory,
        one.page_kib,
        one.pinning,
        tuple(numbers_of(one.cell.cpus)),
        tuple(numbers_of(one.emulator)),
    )


def _devices(one: TakenDevices) -> DevicePlace:
    return DevicePlace(
        one.request_id,
        one.count,
        one.numa_node,
        one.tags,
        tuple(device.address for device in one.devices),
        one.rp_uuid,
    )
