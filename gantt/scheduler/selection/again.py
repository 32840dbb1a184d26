"""Another try for several instances, some of which found no host.

The best host for one instance may be too small for a group that must share a host, and
what one instance takes of a host's providers may leave none for the next. Only where
that comes out, others are tried: the ordinary path does not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from gantt.placement import groups
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility import amounts
from gantt.scheduler.hosts import Taken
from gantt.scheduler.selection.select import Pick

_FILTER: Final = "ServerGroupAffinityFilter"


class _Found(Protocol):
    @property
    def picks(self) -> list[list[Pick]]: ...


F = TypeVar("F", bound=_Found)
Attempt = Callable[[set[int], bool], F]
"""With hosts, by row, that come last; and whether to take the providers of a host that
have the most left."""


def with_more(first: F, feasible: FeasibleHosts, count: int, attempt: Attempt[F]) -> F:
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
    is_strict = group is not None and group.policy == groups.AFFINITY
    return is_strict and _FILTER in feasible.asked and len(feasible.hosts) > 1


def _on_another(
    first: F, feasible: FeasibleHosts, count: int, attempt: Attempt[F], is_loose: bool
) -> F:
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
