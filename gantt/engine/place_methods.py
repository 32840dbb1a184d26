"""Places what a demand asks for in plain words, and what is placed so.

The items of a demand are requests that are placed together: the cycle decides and
claims them as it does any request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.commit.committer import Committer
from gantt.engine.reading.reader import Consistency
from gantt.engine.scheduling.decider import Scheduling
from gantt.engine.scheduling.local_books import LocalBooks
from gantt.engine.scheduling.state_access import StateAccess, StateMethods
from gantt.engine.scheduling_cycle import Planned, Run, placed
from gantt.engine.threads import Lock
from gantt.engine.uuids import new_uuid
from gantt.errors import (
    Busy,
    Conflict,
    GanttError,
    Invalid,
    NoValidHost,
    PluginFailed,
    Queued,
)
from gantt.model.answers import Claimed
from gantt.model.commands import AwaitRoom, Book, Claim, ConfirmClaim, Unbook
from gantt.model.demand import Demand
from gantt.model.paging import Listed, followed, length
from gantt.model.placements import PlacedQuery, PlacedView, Placement, Plan
from gantt.model.relations import DomainTerm
from gantt.model.request_identity import Booked, RequestIdentity
from gantt.model.scheduling import Selections
from gantt.model.selection import Why
from gantt.model.spec import ScheduleRequest
from gantt.placement import named_placements
from gantt.placement.domain_rules import broken_in
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.explain.plain_words import plainly
from gantt.scheduler.joint.joint_search import JointItem
from gantt.scheduler.relations.domain_picks import domain_picks
from gantt.scheduler.request.plain_item import Wish, wishes
from gantt.state.state import State
from gantt.state.waiting_demands import QueuedDemand

_ASSUMED: Final = Consistency.ASSUMED
_EVERY: Final = PlacedQuery()
_FEW_ITEMS: Final = 8
_FEW_THINGS: Final = 64
_TENANTS: Final = "AggregateMultiTenancyIsolation"


class _Resources(Struct, frozen=True):
    resources: dict[str, int]


class _Taken(Struct, frozen=True):
    """What a selection says of its allocations."""

    allocations: dict[str, _Resources]

    @property
    def amounts(self) -> dict[str, dict[str, int]]:
        """By provider and class."""
        return {uuid: one.resources for uuid, one in self.allocations.items()}


_TAKEN: Final = msgspec.json.Decoder(_Taken | None)


class DemandItems:
    """The items of a demand; implements ``RequestSet``. ``wishes``: as they were asked
    last; ``claimed``: what was booked for each; ``waiting``: the uuid under which it
    waits, ``shape``: of the queue that it goes by."""

    def __init__(
        self, at: Scheduling, demand: Demand, shape: str, waiting: str = ""
    ) -> None:
        self._at, self._demand = at, demand
        self._shape, self._waiting = shape, waiting
        self.wishes: Sequence[Wish] = ()
        self.claimed: Sequence[Claimed] = ()

    def requests(self, state: State) -> tuple[Sequence[ScheduleRequest], str]:
        """See RequestSet. Raises Invalid, AlreadyClaimed."""
        self.wishes = wishes(state, self._demand, self._at.options)
        requests = [one.request for one in self.wishes]
        return requests, self._demand.claim or new_uuid()

    def beside(
        self, request: ScheduleRequest, number: int, planned: Mapping[int, Planned]
    ) -> ScheduleRequest:
        """See RequestSet: on no host of an item that it must not be with."""
        apart = self.wishes[number].not_with
        taken = {
            host
            for other, one in planned.items()
            if not apart.isdisjoint(self.wishes[other].uuids)
            for host in one.hosts
        }
        if any(term.others for term in request.relations):
            places = self._places(planned)
            terms = [_beside(term, places) for term in request.relations]
            request = replace(request, relations=tuple(terms))
        return self.wishes[number].beside(request, taken)

    def order(self, counts: Sequence[int]) -> list[int]:
        """See RequestSet."""
        depths = [one.depth for one in self.wishes]
        return sorted(range(len(counts)), key=lambda at: (depths[at], counts[at]))

    @property
    def is_several(self) -> bool:
        """See RequestSet."""
        return len(self._demand.items) > 1

    def joint_item(
        self, state: State, number: int, feasible: FeasibleHosts
    ) -> JointItem:
        """See RequestSet."""
        wish = self.wishes[number]
        domains = domain_picks(state, feasible, wish.uuids, wish.request.relations)
        return JointItem(wish.uuids, feasible, domains, wish.not_with, wish.depth)

    def broken(self, state: State, planned: Sequence[Planned]) -> tuple[int, str]:
        """See RequestSet: of what is said of several items."""
        if not any(one.request.relations for one in self.wishes):
            return 0, ""
        rows = {
            uuid: [state.fleet.hosts.by_place[place]]
            for uuid, place in self._places(dict(enumerate(planned))).items()
        }
        for number, (one, wish) in enumerate(zip(planned, self.wishes, strict=True)):
            own = [rows[uuid][0] for uuid in wish.uuids]
            for term in one.claim.domains:
                where = broken_in(
                    state, term, own, rows, asks_service=one.claim.asks_service
                )
                if where is not None:
                    return number, f"{term.text}: not so in {where or 'no domain'}"
        return 0, ""

    def _places(self, planned: Mapping[int, Planned]) -> dict[str, tuple[str, str]]:
        """Consumer -> host and node that are planned for it."""
        return {
            uuid: place
            for number, one in planned.items()
            for uuid, place in zip(self.wishes[number].uuids, one.places, strict=True)
        }

    def submit(self, committer: Committer, planned: list[Planned]) -> Sequence[Claimed]:
        """See RequestSet. Raises Conflict besides."""
        pairs = zip(planned, self.wishes, strict=True)
        command = Book(
            tuple(self._named(one.claim, wish) for one, wish in pairs),
            self._waiting,
            self._shape,
            self._demand.priority,
        )
        self.claimed = committer.submit(command, self._demand.request_id)
        return self.claimed

    def _named(self, claim: Claim, wish: Wish) -> Claim:
        """The claim with what is called how."""
        demand, item = self._demand, wish.item
        digest, project = demand.digest, demand.project or ""
        instances = tuple(
            replace(one, booked=Booked(name, item.name, project, demand.plan, digest))
            for one, name in zip(claim.instances, item.names, strict=True)
        )
        return replace(
            claim,
            instances=instances,
            identity=RequestIdentity(),
            not_with=wish.not_with,
        )


def _beside(term: DomainTerm, places: Mapping[str, tuple[str, str]]) -> DomainTerm:
    """It counts what is planned, too."""
    found = tuple(places[uuid] for uuid in term.others if uuid in places)
    return replace(term, places=found)


class Placing(StateMethods):
    """The plain door: what is asked for in plain words. ``turn``: of demands that take
    long, for which they wait ``wait_s``."""

    def __init__(
        self, state: StateAccess, scheduling: Scheduling, turn: Lock, wait_s: float
    ) -> None:
        super().__init__(state)
        self._scheduling = scheduling
        self._turn, self._wait_s = turn, wait_s

    def place_demand(self, demand: Demand) -> Plan:
        local, at = self._local(), self._scheduling
        demand = self._checks.demand(demand)
        if demand.dry_run:  # it tells of now, and books nothing later either
            demand = replace(demand, wait_s=None)
        known = self._known(demand)
        if known is not None:
            return known
        items = DemandItems(at, demand, self._shape(demand))
        run = Run(at, local, items)
        try:
            with self._in_turn(demand):
                if demand.dry_run:
                    return _proposed(demand, run.plan(local.ask(again=False)))
                found = placed(run, local, at.options.claim_attempts)
        except Queued as ahead:
            if demand.wait_s is None:
                raise NoValidHost(ahead.message) from None
            return self._wait(demand)
        except Conflict:  # an equal demand was faster
            known = self._known(demand)
            if known is None:
                raise
            return known
        except (NoValidHost, PluginFailed) as refusal:
            known = self._known(demand)
            if known is not None:
                return known
            told = self._refused(run, items, refusal)
            if demand.wait_s is None or not isinstance(told, NoValidHost):
                raise told from None
            return self._wait(demand)
        claim = items.claimed[0]
        return Plan(
            tuple(_placements(items, found)),
            demand.plan,
            claim.claim,
            claim.leased_until,
        )

    # -- for room ---------------------------------------------------------------------

    def _shape(self, demand: Demand) -> str:
        options = self._scheduling.options
        by_project = (
            options.limit_tenants_to_placement_aggregate
            or _TENANTS in options.enabled_filters
        )
        return demand.shape(by_project=by_project)

    def _wait(self, demand: Demand) -> Plan:
        """It waits from now on. Raises Busy, Conflict."""
        given = demand, self._shape(demand), self._scheduling.options.max_waiting
        command = AwaitRoom(new_uuid(), *given)
        try:
            uuid = self._committer.submit(command, demand.request_id)
        except Conflict:  # an equal demand was faster
            known = self._known(demand)
            if known is None:
                raise
            return known
        return Plan((), demand.plan, demand=uuid)

    def place_waiting(self, one: QueuedDemand) -> None:
        """Place a demand that waits, now. Raises NoValidHost, Queued, Conflict and
        AlreadyClaimed, Invalid, Forbidden, PluginFailed."""
        local, at, entry = self._local(), self._scheduling, one.entry
        items = DemandItems(at, entry.demand, entry.shape, one.uuid)
        with self._in_turn(entry.demand, waits=False):
            placed(Run(at, local, items), local, at.options.claim_attempts)

    def why_not(self, demand: Demand) -> tuple[str, ...]:
        """Why it has no room now, in lines; (): it has. Nothing is booked."""
        local, at = self._local(), self._scheduling
        items = DemandItems(at, replace(demand, dry_run=True), "")
        run = Run(at, local, items)
        try:
            with self._in_turn(demand):
                run.plan(local.ask(again=False))
        except NoValidHost as refusal:
            told = plainly(refusal, items.wishes[run.deciding])
            return told.why.said if isinstance(told.why, Why) else ()
        except GanttError as error:
            return (error.message,)
        return ()

    def _local(self) -> LocalBooks:
        """Raises Invalid where another service keeps the amounts."""
        local = self._scheduling.local
        if local is None:
            raise Invalid(
                "A remote Placement keeps the amounts here, and what is asked for in "
                "plain words is booked only where this service does. Ask for hosts "
                "with 'gantt select'."
            )
        return local

    @contextmanager
    def _in_turn(self, demand: Demand, *, waits: bool = True) -> Iterator[None]:
        """While a demand is placed that takes long and much memory, no other such is.
        Raises Busy; Queued, where it is not to wait for these."""
        count = sum(item.count for item in demand.items)
        if len(demand.items) <= _FEW_ITEMS and count <= _FEW_THINGS:
            yield
            return
        if not self._turn.acquire(timeout=self._wait_s if waits else 0.0):
            if not waits:
                raise Queued("Another demand for many things is placed now.")
            raise Busy(
                f"Other demands for many things took more than {self._wait_s:g} s. "
                f"Nothing was placed. Ask again, or for at most {_FEW_ITEMS} items "
                f"and {_FEW_THINGS} things at once, which do not wait for them."
            )
        try:
            yield
        finally:
            self._turn.release()

    def _known(self, demand: Demand) -> Plan | None:
        if not demand.plan or demand.dry_run:
            return None
        return self._reader.read(named_placements.known_plan, demand)

    def _refused(
        self, run: Run, items: DemandItems, refusal: NoValidHost | PluginFailed
    ) -> NoValidHost | PluginFailed:
        """The refusal in plain words, recorded."""
        wish = items.wishes[run.deciding]
        if not wish.request.dry_run:
            run.refuse(refusal, wish.request)
        if isinstance(refusal, PluginFailed):
            return refusal
        if refusal.why is None:
            return NoValidHost(
                "Others took what was chosen, each time that it was decided. Nothing "
                "was placed. Ask again."
            )
        return plainly(refusal, wish)

    # -- what is placed ---------------------------------------------------------------

    def list_placements(self, query: PlacedQuery = _EVERY) -> tuple[PlacedView, ...]:
        def part(after: str, most: int) -> Listed[PlacedView]:
            more = replace(query, limit=most, after=after or query.after)
            return self.placement_page(more)

        return followed(part, query.limit)

    def placement_page(self, query: PlacedQuery) -> Listed[PlacedView]:
        asked = replace(query, limit=length(query.limit))
        return self._reader.survey(
            lambda state, rest: named_placements.placements(state, asked, rest)
        )

    def confirm_placement(
        self, name: str = "", *, plan: str = "", project: str | None = None
    ) -> None:
        given = _named(name, plan, project)
        for claim in self._reader.read(
            named_placements.claims_of, *given, consistency=_ASSUMED
        ):
            self._committer.submit(ConfirmClaim(claim))

    def release_placement(
        self, name: str = "", *, plan: str = "", project: str | None = None
    ) -> None:
        self._local()
        given = _named(name, plan, project)
        uuids = self._reader.read(named_placements.meant, *given, consistency=_ASSUMED)
        self._committer.submit(Unbook(uuids))


def _named(name: str, plan: str, project: str | None) -> tuple[str, str, str]:
    """Raises Invalid."""
    if bool(name) == bool(plan):
        raise Invalid("Give the name of what was placed, or that of its plan.")
    return name, plan, project or ""


def _proposed(demand: Demand, planned: Sequence[Planned]) -> Plan:
    """Where it would be; nothing is booked."""
    found = []
    for one, item in zip(planned, demand.items, strict=True):
        hosts = one.feasible.hosts.fleet.hosts
        for (pick, *_), name in zip(one.picks, item.names, strict=True):
            found.append(
                Placement(
                    name,
                    hosts.hosts[pick.row],
                    hosts.nodes[pick.row],
                    item.name,
                    demand.uuid(name),
                    pick.candidate.allocations,
                )
            )
    return Plan(tuple(found), demand.plan)


def _placements(items: DemandItems, found: Sequence[Selections]) -> Iterator[Placement]:
    for chosen, wish in zip(found, items.wishes, strict=True):
        item, uuids = wish.item, wish.request.instance_uuids or ()
        named = zip(item.names, uuids, chosen, strict=True)
        for name, uuid, (one, *_) in named:
            took = _TAKEN.decode(one.allocation_request or "null")
            yield Placement(
                name,
                one.service_host,
                one.nodename,
                item.name,
                uuid,
                {} if took is None else took.amounts,
            )
