"""The replay: each arrival decided and claimed, each departure given back.

    arrive    the cycle's pure part picks, the committer's rule claims
    depart    the allocations of one instance go
    report    hosts on which something changed report it, every so often
    sample    what a fleet looks like at a time (``measures``)

``pick_hosts`` is asked without a search for the change that would help: a trace has
thousands of refusals, which are counted by what removed the most hosts. The seed of a
decision is that of the replay and its number, so that none depends on how often the
ones before it drew.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Final

from msgspec import Struct, field

from gantt.engine.recording.dice import SeededDice
from gantt.errors import BudgetSpent, ClaimLost, Invalid, NoValidHost, UnknownName
from gantt.model.commands import DeleteAllocations
from gantt.model.spec import ScheduleRequest
from gantt.placement.candidates.combination import Budget
from gantt.replay.events import Arrival
from gantt.replay.machine_reports import MachineReports
from gantt.replay.machines import START, Machine, build, uuid_of
from gantt.replay.measures import Gauge, Sample
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.evaluation.known_drivers import driver_of
from gantt.scheduler.explain.refusal_reason import EXACT
from gantt.scheduler.feasibility.candidate_sources import BOOK_SOURCE, BOOKS
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from gantt.scheduler.selection.claim import claim_of
from gantt.scheduler.selection.picks import pick_hosts
from gantt.state.state import State

MINUTE: Final = 60_000_000
HOUR: Final = 3_600_000_000
LOST: Final = "claim lost"
_SEEDS: Final = 2**32


class ReplaySettings(Struct, frozen=True):
    """``options``: the policy. ``sample_us``: between two samples, in microseconds of
    the trace; ``report_us``: between two reports of a host. ``search_budget``: as in
    EngineOptions."""

    options: SchedulerOptions = SchedulerOptions()
    seed: int = 0
    sample_us: int = HOUR
    report_us: int = MINUTE
    search_budget: int = 100_000


class Decided(Struct, frozen=True, array_like=True):
    """What became of an arrival. ``hosts``: one for each instance; none: it was
    refused, by ``reason``."""

    number: int
    at: int
    names: tuple[str, ...]
    hosts: tuple[str, ...]
    reason: str = ""


class ReplayOutcome(Struct):
    """What a replay came to. Counts are of instances. ``refused``: by reason;
    ``conflicts``: claims that the committer's rule refused although the decision found
    room, which a serial replay never has; ``violations``: members placed against the
    rule of their group, counted apart from the code that enforces it."""

    arrived: int = 0
    placed: int = 0
    departed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    conflicts: int = 0
    violations: int = 0
    samples: list[Sample] = field(default_factory=list)


class Replay:
    """One pass over a trace, on machines that are empty at first. ``driver``: decides;
    None: the one that the options name. Raises Invalid, Refused for options that name
    what does not exist."""

    def __init__(
        self,
        machines: Sequence[Machine],
        settings: ReplaySettings,
        driver: Driver | None = None,
    ) -> None:
        self.books = books = build(machines)
        self.outcome = ReplayOutcome()
        self._settings = settings
        self._driver = driver or driver_of(policy_of(settings.options))
        self._gauge = Gauge(books.state)
        self._groups = Groups()
        self._reports = MachineReports(machines)
        self._reported_at = 0
        self._leaving: list[tuple[int, int, str, str]] = []
        self._number = 0
        self._sampled_at = 0

    def run(self, arrivals: Iterable[Arrival]) -> Iterator[Decided]:
        """A decision for each arrival, in order; these must not go back in time.
        ``outcome`` is whole at the end: then all has gone that goes, after the last
        sample. Raises Invalid."""
        last = 0
        for arrival in arrivals:
            if arrival.at < last:
                raise Invalid(
                    f"Arrival {arrival.names[0]} is at {arrival.at}, before {last}, "
                    "that of the one before it; sort the trace by time."
                )
            last = arrival.at
            self._move_to(arrival.at)
            yield self._arrive(arrival)
        self._sample(last)
        if self._leaving:
            self._empty()

    def _empty(self) -> None:
        while self._leaving:
            leaves_at, _, name, uuid = heappop(self._leaving)
            self._depart(leaves_at, name, uuid)
        self._reports.send(self.books)

    # -- time ---------------------------------------------------------------------

    def _move_to(self, at: int) -> None:
        """All that departs and is sampled until then."""
        while self._leaving and self._leaving[0][0] <= at:
            leaves_at, _, name, uuid = heappop(self._leaving)
            self._samples_until(leaves_at)
            self._depart(leaves_at, name, uuid)
        self._samples_until(at)
        self.books.now = START + at
        if at >= self._reported_at + self._settings.report_us:
            self._reports.send(self.books)
            self._reported_at = at

    def _samples_until(self, at: int) -> None:
        while self._sampled_at <= at:
            self._sample(self._sampled_at)
            self._sampled_at += self._settings.sample_us

    def _sample(self, at: int) -> None:
        outcome = self.outcome
        self.outcome.samples.append(
            self._gauge.sample(at, outcome.placed - outcome.departed)
        )

    # -- events -------------------------------------------------------------------

    def _arrive(self, arrival: Arrival) -> Decided:
        outcome, number = self.outcome, self._number
        self._number += 1
        count = len(arrival.names)
        outcome.arrived += count
        try:
            uuids = tuple(map(uuid_of, arrival.names))
            hosts = self._place(arrival, uuids, number)
        except ClaimLost:
            outcome.conflicts += 1
            hosts, reason = (), LOST
        except NoValidHost as refusal:
            hosts, reason = (), refusal.message
        except (BudgetSpent, Invalid, UnknownName) as refusal:
            hosts, reason = (), type(refusal).__name__
        else:
            reason = "" if hosts else self._reason
        if not hosts:
            outcome.refused[reason] += count
            return Decided(number, arrival.at, arrival.names, (), reason)
        outcome.placed += count
        outcome.violations += self._groups.join(arrival, hosts)
        each = zip(arrival.names, uuids, arrival.until, hosts, strict=True)
        for name, uuid, until, host in each:
            self._reports.placed(uuid, host, arrival.spec.flavor)
            if until is not None:
                heappush(self._leaving, (until, number, name, uuid))
        return Decided(number, arrival.at, arrival.names, hosts)

    def _place(
        self, arrival: Arrival, uuids: tuple[str, ...], number: int
    ) -> tuple[str, ...]:
        """The hosts, claimed; () where too few passed, and then ``_reason``."""
        books, state = self.books, self.books.state
        request = ScheduleRequest(
            arrival.spec, instance_uuids=uuids, return_alternates=False
        )
        found = pick_hosts(
            state,
            request,
            BOOK_SOURCE,
            self._driver,
            books.now,
            Budget(self._settings.search_budget),
            rng=SeededDice(self._settings.seed * _SEEDS + number),
        )
        if len(found.picks) < len(uuids):
            self._reason = reason_of(state, found.feasible, len(found.picks))
            return ()
        claim = claim_of(
            request, found.feasible, found.picks, str(number), found.domains
        )
        taken = books.submit(claim).taken
        self._gauge.note_demand(arrival.spec.flavor, len(uuids))
        return tuple(
            _host(state, choices[place].row)
            for choices, place in zip(found.picks, taken, strict=True)
        )

    def _depart(self, at: int, name: str, uuid: str) -> None:
        self.books.now = START + at
        self.books.submit(DeleteAllocations(uuid))
        self._reports.gone(uuid)
        self._groups.leave(name)
        self.outcome.departed += 1


def reason_of(state: State, feasible: FeasibleHosts, picked: int) -> str:
    """The mask that alone removed the most hosts, else the one that left none; of
    amounts, the resource class that the fewest hosts have enough of. After some picks,
    that hosts ran out."""
    if picked:
        return "not enough hosts for all instances"
    steps = feasible.steps
    best = max(steps, key=lambda one: one.removed_alone, default=None)
    if best is None or not best.removed_alone:
        best = next((one for one in steps if not one.after), None)
    if best is None:
        return EXACT
    return _shortest(state, feasible) if best.name == BOOKS else best.name


def _shortest(state: State, feasible: FeasibleHosts) -> str:
    """The resource class that the fewest providers have enough of."""
    have: dict[str, int] = {}
    for survey in feasible.surveys:
        for group in survey.request.groups:
            for name, amount in group.resources.items():
                index = state.classes.index_of(name)
                table = None if index is None else state.inventories.table(index)
                fits = 0 if table is None else int(table.has_room(amount).sum())
                have[name] = min(fits, have.get(name, fits))
    return min(have, key=have.__getitem__, default=BOOKS)


def _host(state: State, row: int) -> str:
    return state.fleet.hosts.hosts[row]


_TOGETHER: Final = "affinity"
_APART: Final = "anti-affinity"


class Groups:
    """Members by group and host."""

    def __init__(self) -> None:
        self._on: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._place_of: dict[str, tuple[str, str]] = {}

    def join(self, arrival: Arrival, hosts: tuple[str, ...]) -> int:
        """Count the placed members; how many of them are against their group's rule."""
        group = arrival.spec.instance_group
        if group is None or group.policy not in (_TOGETHER, _APART):
            return 0
        on, broken = self._on[group.uuid], 0
        for name, host in zip(arrival.names, hosts, strict=True):
            if group.policy == _APART:
                broken += on[host] >= group.max_server_per_host
            else:
                broken += bool(on) and host not in on
            on[host] += 1
            self._place_of[name] = group.uuid, host
        return broken

    def leave(self, name: str) -> None:
        """The instance is gone; one without a group is no error."""
        place = self._place_of.pop(name, None)
        if place is None:
            return
        on, host = self._on[place[0]], place[1]
        on[host] -= 1
        if not on[host]:
            del on[host]
