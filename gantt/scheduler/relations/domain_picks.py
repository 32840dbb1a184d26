"""The relations of one request while its instances are picked: which hosts are shut for
the next one, how domains are weighed, and what the claim has to keep.

A domain that is shut now may be open after the next pick, so no host is removed for it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from msgspec import structs

from gantt.model.relations import DomainTerm
from gantt.placement.candidates.combination import Budget, Spent
from gantt.placement.domain_rules import DomainCounts
from gantt.scheduler.contract import Request, Weigher
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, skips_filters
from gantt.scheduler.feasibility.candidate_sources import HostMask
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.relations.locality import near_artifacts
from gantt.scheduler.relations.relation_sources import relations_of
from gantt.scheduler.relations.requirements import eligible
from gantt.scheduler.relations.spread import Key, search, soft_scores
from gantt.state.column import ALL, Bools, Floats, Int64s
from gantt.state.domains import NO_DOMAIN
from gantt.state.state import State


class SoftSpreadWeigher(Weigher):
    """Hosts in domains that have fewer; those without the key last."""

    option = "domain_spread_weight_multiplier"

    def __init__(self, soft: Sequence[DomainCounts]) -> None:
        self._soft = soft

    def score(self, hosts: Hosts, request: Request) -> Floats:  # noqa: ARG002
        found = np.zeros(len(hosts))
        for one in self._soft:
            domains = int(np.count_nonzero(one.eligible))
            scores = soft_scores(one.relation, one.counts, domains)
            scores[NO_DOMAIN] = scores.max(initial=0.0) + 1.0
            found -= scores[one.domains.codes[hosts.rows]]
        return found


class DomainPicks:
    """``hard`` relations shut hosts, ``soft`` ones weigh them. ``is_cut``: the search
    for a way to keep several at once ended at its bound."""

    def __init__(
        self,
        state: State,
        feasible: FeasibleHosts,
        terms: Sequence[DomainTerm],
        placing: Collection[str],
    ) -> None:
        group = feasible.job.spec.instance_group
        asks = "ComputeFilter" in feasible.asked
        counts = [
            DomainCounts(
                state,
                one,
                group,
                placing,
                asks_service=asks,
                placed=[
                    state.fleet.hosts.by_place[place]
                    for place in one.places
                    if place in state.fleet.hosts.by_place
                ],
            )
            for one in terms
        ]
        in_service = [one.eligible.copy() for one in counts]
        for one in counts:
            if not one.relation.is_fixed:  # nothing is compared
                one.eligible &= eligible(state, feasible, one.domains)
        self.hard = [one for one in counts if one.relation.is_hard]
        self.soft = [one for one in counts if not one.relation.is_hard]
        self.terms = tuple(
            structs.replace(
                one.term, left_out=_names(one, known & ~one.eligible), places=()
            )
            for one, known in zip(counts, in_service, strict=True)
            if one.relation.is_hard
        )
        self.is_cut = False
        self._quota: Int64s | None = None
        self._cell_of = np.zeros(state.fleet.hosts.height, np.int64)

    def weighed(self, feasible: FeasibleHosts) -> FeasibleHosts:
        """``feasible`` with a weigher more, where a relation is soft."""
        return feasible.weighed(SoftSpreadWeigher(self.soft)) if self.soft else feasible

    def shut(self, rows: Int64s) -> Bools | None:
        """bool[n]: which of the hosts at ``rows`` the next instance may not go to;
        None: it may go to any."""
        if not self.hard:
            return None
        if self._quota is not None:
            return self._quota[self._cell_of[rows]] < 1
        found = None
        for one in self.hard:
            is_open = one.open()
            if not (one.domains.is_whole and ALL(is_open[NO_DOMAIN + 1 :])):
                shut = ~is_open[one.domains.codes[rows]]
                found = shut if found is None else found | shut
        return found

    def put(self, row: int) -> None:
        """The next instance is on the host at ``row``."""
        for one in (*self.hard, *self.soft):
            one.put(row)
        if self._quota is not None:
            self._quota[self._cell_of[row]] -= 1

    def masks(self, feasible: FeasibleHosts) -> tuple[HostMask, ...]:
        """What each hard relation leaves of all hosts for the next instance, by its
        name."""
        rows = feasible.all_rows
        return tuple(
            HostMask(one.term.text, one.open()[one.domains.codes[rows]])
            for one in self.hard
        )

    # -- several keys at once -----------------------------------------------------

    @property
    def needs_search(self) -> bool:
        """Whether one instance after the other may end where all together would not."""
        return len([one for one in self.hard if not one.relation.is_fixed]) > 1

    def settle(self, rows: Int64s, room: Int64s, count: int, steps: int) -> bool:
        """Find a way for ``count`` instances at once: from now on hosts are shut where
        it puts none. ``room``: int64[n], how many each of the hosts at ``rows`` has
        room for. False: there is none, or the search ended."""
        columns = [one.domains.codes[rows] for one in self.hard]
        each = np.stack(columns, axis=1).astype(np.int64)
        cells, place = np.unique(each, axis=0, return_inverse=True)
        place = place.reshape(-1)
        in_cells = np.bincount(place, room, len(cells)).astype(np.int64)
        in_cells[(cells == NO_DOMAIN).any(axis=1)] = 0
        keys = [
            Key(one.relation, one.counts, one.eligible, cells[:, number])
            for number, one in enumerate(self.hard)
        ]
        try:
            found = search(keys, in_cells, count, Budget(count + steps))
        except Spent:
            self.is_cut = True
            found = None
        self._quota = None
        if found is not None:
            self._cell_of[:] = len(cells)
            self._cell_of[rows] = place
            self._quota = np.append(found, 0)
        return found is not None


def domain_picks(
    state: State,
    feasible: FeasibleHosts,
    placing: Collection[str],
    more: Sequence[DomainTerm] = (),
) -> DomainPicks | None:
    """``more``: relations besides those of the spec. None: the request asks for no
    relation, or none applies, as where an operator forces hosts. Raises Invalid."""
    spec = feasible.job.spec
    terms = (*map(DomainTerm, relations_of(state, spec)), *more)
    if not terms or spec.is_rebuild or skips_filters(spec):
        return None
    return DomainPicks(state, feasible, terms, placing)


def weighed(
    state: State, feasible: FeasibleHosts, domains: DomainPicks | None
) -> FeasibleHosts:
    """``feasible`` with what a request's own words add to weighers: artifacts, and soft
    relations."""
    feasible = near_artifacts(state.fleet, feasible)
    return feasible if domains is None else domains.weighed(feasible)


def restricted(state: State, feasible: FeasibleHosts) -> FeasibleHosts:
    """The hosts to which the one instance of a request may go."""
    domains = domain_picks(state, feasible, (feasible.job.spec.instance_uuid or "",))
    feasible = weighed(state, feasible, domains)
    if domains is None:
        return feasible
    for one in domains.hard:
        order = feasible.best(len(feasible.hosts))
        is_open = one.open()[one.domains.codes[feasible.hosts.rows[order]]]
        feasible = feasible.only(order[is_open], one.term.text)
    return feasible


def _names(one: DomainCounts, codes: Bools) -> frozenset[str]:
    return frozenset([one.domains.names[code] for code in np.flatnonzero(codes)])
