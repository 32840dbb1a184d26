"""A pick for each instance of a request, on the hosts that pass.

Where several instances did not all find a host, it is made again, on the same masks and
scores in another order: the best host for one may be too small for a group that must
share a host, and what one takes of a host's providers may leave none for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from msgspec import Struct

from gantt.model.spec import ScheduleRequest
from gantt.placement import group_rules
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility import amounts
from gantt.scheduler.feasibility.candidate_sources import CandidateSource, HostMask
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.hosts import Taken
from gantt.scheduler.pauses import Pause, never, within
from gantt.scheduler.relations.domain_picks import DomainPicks, domain_picks, weighed
from gantt.scheduler.relations.refusal_words import words
from gantt.scheduler.request.job import spec_of_first
from gantt.scheduler.selection.held_hosts import hold
from gantt.scheduler.selection.host_choice import Pick, RandomSource, seed_of, select
from gantt.scheduler.selection.remaining_candidates import RemainingCandidates
from gantt.scheduler.selection.remaining_hosts import RemainingHosts
from gantt.scheduler.selection.start_picks import StartPicks, start_picks
from gantt.scheduler.stages import OTHER, PICK, Mark
from gantt.state.state import State
from gantt.state.view import View


class InstancePicks(Struct, frozen=True, eq=False):
    """``picks``: for each instance that found a host, its picks, best first: the claim
    takes the first that still holds, alternates come from the others. ``spare``:
    further picks, for the alternates of several instances. ``remaining``,
    ``candidates``: what is left after the picks; ``domains``: the relations of the
    request, if it has any."""

    feasible: FeasibleHosts
    picks: list[list[Pick]]
    remaining: RemainingHosts
    candidates: RemainingCandidates
    spare: tuple[Pick, ...] = ()
    domains: DomainPicks | None = None

    @property
    def starts(self) -> StartPicks | None:
        """How many hosts may start, where that has a limit."""
        return self.remaining.starts

    @property
    def related(self) -> tuple[str, ...]:
        """How relations and starts kept instances from hosts, in words."""
        found = () if self.domains is None else words(self.domains, self.feasible)
        starts = "" if self.starts is None else self.starts.words(self.feasible)
        return (*found, starts) if starts else found

    @property
    def kept_from(self) -> tuple[HostMask, ...]:
        """What these leave of all hosts for the next instance."""
        found = () if self.domains is None else self.domains.masks(self.feasible)
        return (
            found if self.starts is None else (*found, self.starts.mask(self.feasible))
        )


_FILTER: Final = "ServerGroupAffinityFilter"
Attempt: TypeAlias = Callable[[set[int], bool], InstancePicks]
"""With hosts, by row, that come last; and whether to take the providers of a host that
have the most left."""


class _Again(Struct, frozen=True, eq=False):
    """Another try on the same hosts: those at the rows ``last`` come last.
    ``is_loose``: of a host's providers those that have the most left are taken."""

    feasible: FeasibleHosts
    last: set[int]
    is_loose: bool


def pick_hosts(
    state: State,
    request: ScheduleRequest,
    source: CandidateSource,
    driver: Driver,
    now: int,
    budget: Budget,
    *,
    rng: RandomSource | None = None,
    is_trial: bool = False,
    pause: Pause = never,
    held: Mapping[int, HeldHost] = MappingProxyType({}),
    again: _Again | None = None,
    mark: Mark | None = None,
) -> InstancePicks:
    """Picks for all that find a host. ``is_trial``: one each. Raises as ``decide``."""
    if again is not None:
        feasible = again.feasible
    else:  # prepare, candidates, filter, score: ``evaluate``, or the same from a cache
        spec = spec_of_first(state, request)
        feasible = driver.feasible_hosts(
            state, spec, source, now=now, budget=budget, is_trial=is_trial, mark=mark
        )
    if mark is not None:  # select
        mark(PICK if len(feasible.hosts) else OTHER)
    options, spec, domains = driver.policy.options, feasible.job.spec, None
    names, passing, told = request.names, feasible, options.image_locality
    kin = request.relations or (spec.instance_group and state.fleet.facts.relations)
    if told or kin or spec.scheduler_hints or spec.flavor.extra_specs:  # few ask
        domains = domain_picks(state, feasible, names, request.relations)
        passing = weighed(state, feasible, domains)
    is_capped = options.max_starts or state.fleet.facts.starts
    starts = start_picks(passing, held) if is_capped else None
    remaining = RemainingHosts(passing, domains, len(names), starts)
    view, given = View(state), (state, request, source, driver, now, budget)
    is_first = not (held and hold(view, remaining, passing, held, budget))
    if again is not None:
        remaining.postpone(again.last)
    if driver.chooser is not None:  # of another package; columns may be newer then
        passing = remaining.ask(driver.chooser, passing, request.count, seed_of(rng))
    loose = again is not None and again.is_loose
    rest = RemainingCandidates.of(
        view, passing, budget, driver, is_loose=loose, is_first=is_first
    )
    picks = select(
        remaining,
        rest,
        names,
        options,
        rng,
        among=request.among,
        has_alternates=request.return_alternates and not is_trial,
        is_trial=is_trial,
        pause=pause if len(names) == 1 else within(state, passing, pause),
    )
    found = InstancePicks(passing, picks, remaining, rest, domains=domains)
    if again is not None or driver.chooser or len(names) in (1, len(picks)):
        return found
    more = {"rng": rng, "is_trial": is_trial, "pause": pause, "held": held}
    attempt = partial(_attempt, given, more, feasible)
    return _with_more(found, feasible, len(names), attempt)


def _attempt(
    given: tuple[Any, ...],
    more: dict[str, Any],
    feasible: FeasibleHosts,
    last: set[int],
    is_loose: bool,
) -> InstancePicks:
    return pick_hosts(*given, **more, again=_Again(feasible, last, is_loose))


def _with_more(
    first: InstancePicks, feasible: FeasibleHosts, count: int, attempt: Attempt
) -> InstancePicks:
    """The attempt that places all ``count`` instances, else the one that places most;
    ``first`` placed fewer. At most ``choices`` of the options are made of each kind."""
    best = first
    is_shared = _must_share(feasible)
    for is_loose in (False, True):
        if is_loose and feasible.candidates.is_per_host:
            break  # no host has a choice of providers
        current = attempt(set(), True) if is_loose else first
        if is_shared:
            current = _on_another(current, feasible, count, attempt, is_loose)
        if len(current.picks) > len(best.picks):
            best = current
        if len(best.picks) == count:
            break
    return best


def _must_share(feasible: FeasibleHosts) -> bool:
    """Whether all instances of the request go to one host, if to any, and there is a
    choice."""
    group = feasible.job.spec.instance_group
    is_strict = group is not None and group.policy == group_rules.AFFINITY
    return is_strict and _FILTER in feasible.asked and len(feasible.hosts) > 1


def _on_another(
    first: InstancePicks,
    feasible: FeasibleHosts,
    count: int,
    attempt: Attempt,
    is_loose: bool,
) -> InstancePicks:
    """The attempt that places most, each on another host."""
    best = current = first
    small = _too_small(feasible, count)
    tried: set[int] = set()
    for _ in range(feasible.policy.options.choices):
        row = current.picks[0][0].row if current.picks else None
        if len(best.picks) == count or row is None or row in tried:
            break
        tried.add(row)
        current = attempt(tried | small, is_loose)
        if len(current.picks) > len(best.picks):
            best = current
    return best


def _too_small(feasible: FeasibleHosts, count: int) -> set[int]:
    """Rows of hosts that have no room for all, by what they report."""
    each, hosts = feasible.taken, feasible.hosts
    taken = Taken(*(count * amount for amount in each))
    has_room = amounts.with_room(hosts, taken)
    return set(hosts.rows[~has_room].tolist())
