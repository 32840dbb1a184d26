"""A request for instances, to hosts and to the claim that holds them, on one page.

    pre-filters, shape                 job
    -> who passes, how good each is    driver -> field
    -> a host per instance, each pick seen by the next          pick
    -> one claim for all, with places to fall back on           claim_of
    -> selections with alternates                               selections

Pure: the engine hands in the time and the randomness, submits the claim, and comes back
for new picks when every place of an instance was lost.
"""

from __future__ import annotations

from itertools import islice

from msgspec import Struct, json

from gantt.errors import ClaimLost, NoValidHost
from gantt.model.answers import Claimed
from gantt.model.commands import Choice, Claim, InstanceClaim
from gantt.model.selection import Selection
from gantt.model.spec import ScheduleRequest
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.explain import age_s, why
from gantt.scheduler.field import Field
from gantt.scheduler.job import Job
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.pick import Dice, Place, best_places, pick
from gantt.scheduler.places import Places
from gantt.scheduler.round import Round
from gantt.state.state import State

MICROVERSION = "1.36"


class Picks(Struct, frozen=True, eq=False):
    """``places``: per instance, in the order of trial; ``spare``: for alternates."""

    job: Job
    field: Field
    places: list[list[Place]]
    spare: list[Place]
    options: SchedulerOptions


def choose(
    state: State,
    request: ScheduleRequest,
    driver: Driver,
    *,
    now: int,
    by_books: bool,
    rng: Dice | None = None,
    budget: int | None = None,
) -> Picks:
    """A place for every instance; without ``rng`` the best where any of a few would do.
    Raises NoValidHost (with ``why``), Invalid,
    UnknownName, BudgetSpent."""
    steps = Budget(budget)
    job, field = driver.field(
        state, request.spec, now=now, by_books=by_books, budget=steps
    )
    options = driver.policy.options
    round_ = Round(field, job)
    places = Places(state, field, steps)
    picked = pick(round_, places, names(request), options, rng)
    if len(picked) < request.count:
        raise NoValidHost(_too_few(len(picked), request.count), why(state, job, field))
    spare: list[Place] = []
    if request.return_alternates and len(picked) > 1:
        wanted = len(picked) + options.max_attempts
        spare = [
            place for _, place in best_places(round_, places, wanted, options, rng)
        ]
    return Picks(job, field, picked, spare, options)


def names(request: ScheduleRequest) -> tuple[str, ...]:
    """What the instances are called; those that nobody named have no name."""
    if request.instance_uuids is not None:
        return request.instance_uuids
    return ("",) * request.count


def claim_of(request: ScheduleRequest, picks: Picks, claim: str) -> Claim:
    """The command that holds every place, or none."""
    spec, options = picks.job.spec, picks.options
    lease = request.lease_s
    return Claim(
        claim,
        tuple(
            InstanceClaim(
                uuid,
                tuple(
                    Choice(place.host_id, place.candidate.allocations)
                    for place in places
                ),
            )
            for uuid, places in zip(names(request), picks.places, strict=True)
        ),
        *picks.job.taken,
        spec.project_id or request.project_id or "",
        spec.user_id or request.user_id or "",
        request.spec.instance_group,
        (
            options.initial_cpu_allocation_ratio,
            options.initial_ram_allocation_ratio,
            options.initial_disk_allocation_ratio,
        ),
        None if lease is None else int(lease * 1_000_000),
    )


def selections(
    state: State,
    request: ScheduleRequest,
    picks: Picks,
    now: int,
    claimed: Claimed | None = None,
) -> tuple[tuple[Selection, ...], ...]:
    """Per instance its host, then alternates in the same cell: hosts that nothing
    holds."""
    taken = claimed.taken if claimed is not None else (0,) * len(picks.places)
    claim = None if claimed is None else claimed.claim
    chosen = [found[at] for found, at in zip(picks.places, taken, strict=True)]
    used = {place.host_id for place in chosen}
    answer = []
    shared = Alternates(state, picks.options, picks.spare, used, now)
    for place, found in zip(chosen, picks.places, strict=True):
        mine = _selection(state, picks.options, place, now, claim)
        row = [mine]
        if request.return_alternates:
            others = shared
            if len(chosen) == 1:
                others = Alternates(state, picks.options, found, used, now)
            row += others.in_cell(mine.cell_uuid)
        answer.append(tuple(row))
    return tuple(answer)


class Alternates:
    """Hosts that nothing holds, for the case that a chosen one fails: the best that
    nobody ``used``, as few as the options ask for, found once per cell."""

    def __init__(
        self,
        state: State,
        options: SchedulerOptions,
        places: list[Place],
        used: set[int],
        now: int,
    ) -> None:
        self._state = state
        self._options = options
        self._places = [place for place in places if place.host_id not in used]
        self._now = now
        self._found: dict[str | None, list[Selection]] = {}

    def in_cell(self, cell: str | None) -> list[Selection]:
        """Those of one cell."""
        if cell not in self._found:
            hosts = self._state.fleet.hosts
            mine = (
                place
                for place in self._places
                if (row := hosts.row_of_id(place.host_id)) is not None
                and hosts.cells[row] == cell
            )
            self._found[cell] = [
                _selection(self._state, self._options, place, self._now, None)
                for place in islice(mine, self._options.max_attempts - 1)
            ]
        return self._found[cell]


def _selection(
    state: State, options: SchedulerOptions, place: Place, now: int, claim: str | None
) -> Selection:
    """A host may have gone since it was picked: its claim has gone with it."""
    hosts = state.fleet.hosts
    row = hosts.row_of_id(place.host_id)
    if row is None:
        raise ClaimLost(f"Host {place.host_id} was deleted while it was claimed.")
    return Selection(
        hosts.uuids[row],
        hosts.hosts[row],
        hosts.nodes[row],
        hosts.cells[row],
        None,
        _allocation_request(place),
        MICROVERSION if place.candidate.allocations else None,
        zone_of(state, row, options),
        claim,
        age_s(state, row, now),
    )


def zone_of(state: State, row: int, options: SchedulerOptions) -> str:
    """The availability zone of a host: that of its aggregates, else the default."""
    fleet = state.fleet
    for uuid in fleet.aggregates.of_host(fleet.hosts.hosts[row]):
        zone = fleet.aggregates.metadata[uuid].get("availability_zone")
        if zone is not None:
            return zone
    return options.default_availability_zone


def _allocation_request(place: Place) -> str:
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


def _too_few(found: int, wanted: int) -> str:
    if found or wanted > 1:
        return (
            "No valid host was found. There are not enough hosts available: "
            f"{wanted} instances were asked for, {found} have a place."
        )
    return "No valid host was found."
