"""Why no host was found: what removed hosts, the nearest, and the smallest change that
helps.

Costs nothing until a request is refused or explained: it reads the masks of the
decision, and tries changes (``advice``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from gantt.errors import GanttError
from gantt.model.diagnosis import Diagnosis, Miss, shortened
from gantt.model.selection import Near, Score, Scoring, Why
from gantt.placement.candidates.explain import ExplanationBudget, explain
from gantt.scheduler.evaluation import feasible_hosts
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, steps_of
from gantt.scheduler.explain.lacks import Lacks
from gantt.scheduler.explain.smallest_change import SmallestChange, smallest
from gantt.scheduler.explain.trials import Trials
from gantt.scheduler.feasibility.candidate_sources import BOOKS, HostMask
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.request.requested_topology import DEVICES_FILTER, TOPOLOGY_FILTER
from gantt.scheduler.scoring.scale import all_scales, part, samples
from gantt.scheduler.selection.start_picks import STARTS, StartPicks
from gantt.state.column import NO_TIME, Int64s
from gantt.state.state import State

PICKED = "earlier instances of this request"
EXACT = "fit of all parts together"
_MOST_NEAR = 10


class Ending(Struct, frozen=True, eq=False):
    """How the picking ended. ``kept``: int64 rows of ``state.hosts`` that filters still
    pass after the last pick; ``refused``: int64, those of them where the exact search
    finds no place; ``picked`` instances have one. ``masks``: what relations leave for
    the next one; ``starts``: how many hosts start, where that has a limit."""

    kept: Int64s
    refused: Int64s
    picked: int = 0
    masks: tuple[HostMask, ...] = ()
    starts: StartPicks | None = None


def why(
    state: State,
    feasible: FeasibleHosts,
    ending: Ending,
    trials: Trials | None = None,
) -> Why:
    """Explains why feasible hosts were too few, from their masks and from what was left
    in the end. ``trials``: of the request that was refused; None: none was."""
    lost = _in_the_end(feasible, ending, Lacks(state, feasible))
    more = (*ending.masks, *lost)
    masks = (*feasible.masks, *more)
    steps = tuple(steps_of(masks, len(feasible.all_rows))) if more else feasible.steps
    books = None
    is_left = feasible_hosts.all_of(masks, len(feasible.all_rows)).any()
    if feasible.surveys and not (ending.picked or is_left):
        best = _removed_most(masks)
        if best == BOOKS or more or not feasible.has_room_anywhere:
            books = _ask(state, feasible)
    misses = () if books is None else books.misses
    near = nearest(state, feasible, masks, misses, starts=ending.starts)
    # Last: others may write while changes are tried, which invalidates row numbers.
    found = (
        SmallestChange()
        if trials is None
        else smallest(trials, feasible, ending.picked)
    )
    return Why(
        steps,
        near,
        found.text,
        books,
        found.changes,
        found.is_truncated,
    )


def why_at_once(trials: Trials) -> Why:
    """Explains a request that was refused before hosts were judged."""
    found = smallest(trials, None)
    return Why(
        change=found.text, given_up=found.changes, is_truncated=found.is_truncated
    )


def nearest(
    state: State,
    feasible: FeasibleHosts,
    masks: tuple[HostMask, ...],
    misses: tuple[Miss, ...] = (),
    most: int = _MOST_NEAR,
    starts: StartPicks | None = None,
) -> tuple[Near, ...]:
    """Hosts that the fewest masks removed, fewest first; of these, those first that
    lack the least of their cells and devices, then those of ``misses``, in its order:
    the trees that lack the least in the books."""
    failures = _failures(masks, len(feasible.all_rows))
    removed = np.flatnonzero(failures)
    lacks = Lacks(state, feasible)
    about = lacks.about(feasible.all_rows[removed])
    hosts = state.fleet.hosts
    rank = {miss.tree: number for number, miss in enumerate(misses)}
    rows: list[int] = feasible.all_rows[removed].tolist()
    ranks = np.array(
        [rank.get(hosts.uuids[row] or "", len(rank)) for row in rows], np.int64
    )
    order = removed[np.lexsort((ranks, about, failures[removed]))][:most]
    found = []
    for place in order.tolist():
        row = int(feasible.all_rows[place])
        names = tuple(s.name for s in masks if not s.mask[place])
        missing, lack = lacks.of(row)
        miss = rank.get(hosts.uuids[row] or "") if BOOKS in names else None
        if miss is not None:
            said = _said(misses[miss], hosts.nodes[row])
            lack = said if lack is None else f"{said}; {lack}"
        if starts is not None and STARTS in names:
            said = starts.said(row)
            lack = said if lack is None else f"{said}; {lack}"
        near = Near(hosts.hosts[row], hosts.nodes[row], names, lack)
        found.append((int(failures[place]), missing, near))
    found.sort(key=lambda one: one[:2])
    return tuple(near for *_, near in found)


def _said(miss: Miss, node: str) -> str:
    """What it lacks; the host's own name is beside it."""
    return "; ".join(
        lack.text.removeprefix(node).removeprefix(":").strip()
        if lack.provider_name == node
        else lack.text
        for lack in miss.lacks
    )


def _failures(masks: tuple[HostMask, ...], size: int) -> Int64s:
    """int64[n]: how many masks removed each host. Devices that are missing fail both
    filters that look at them, which counts once."""
    found = np.zeros(size, np.int64)
    counted = {one.name: one.mask for one in masks}
    for one in masks:
        found += ~one.mask
    if TOPOLOGY_FILTER in counted and DEVICES_FILTER in counted:
        found -= ~(counted[TOPOLOGY_FILTER] | counted[DEVICES_FILTER])
    return found


def _in_the_end(
    feasible: FeasibleHosts, ending: Ending, lacks: Lacks
) -> Iterator[HostMask]:
    """Hosts that passed at first and were lost on the way, as masks of their own: those
    that an instance would have fitted before any was picked, and the others."""
    fell = np.setdiff1d(feasible.hosts.rows, ending.kept)
    if ending.masks:
        is_open = feasible_hosts.all_of(ending.masks, len(feasible.all_rows))
        fell = np.intersect1d(fell, feasible.all_rows[is_open])
    refused = ending.refused.tolist() if ending.picked else []
    filled = [row for row in refused if lacks.fits(row)]
    others = np.setdiff1d(ending.refused, filled)
    for name, rows in ((PICKED, np.union1d(fell, filled)), (EXACT, others)):
        if len(rows):
            yield HostMask(name, ~np.isin(feasible.all_rows, rows))


class Scoreboard:
    """The best ``most`` feasible hosts as they are now; ``scoring`` formats it on
    request, which is rare. ``most`` None: all hosts, and also raw scores without
    effect: of a single host, which is not weighed, and of weighers that are switched
    off."""

    def __init__(
        self, state: State, feasible: FeasibleHosts, now: int, most: int | None
    ) -> None:
        places = feasible.best(len(feasible.hosts) if most is None else most)[:most]
        hosts, rows = state.fleet.hosts, feasible.hosts.rows[places].tolist()
        self._names = [(hosts.hosts[row], hosts.nodes[row]) for row in rows]
        self._now = now
        self._said_at = np.maximum(hosts.updated_at[rows], hosts.created_at[rows])
        self._weights = feasible.weights[places]
        scales = feasible.scales
        if most is None:
            all_hosts = Hosts(state.fleet, feasible.hosts.rows)
            weighers = feasible.policy.weighers
            scales = tuple(all_scales(scales, all_hosts, feasible.request, weighers))
        self._samples = samples(scales, places)

    def scoring(self) -> Scoring:
        """Hosts with their weights by weigher, the best first."""
        now = self._now
        ages = [
            None if at == NO_TIME or at > now else (now - at) / 1_000_000
            for at in self._said_at.tolist()
        ]
        parts = [part(*one) for one in self._samples]
        return Scoring(self._names, self._weights.tolist(), ages, parts)

    def scores(self) -> tuple[Score, ...]:
        """The scores, per host."""
        return self.scoring().scores()


def _removed_most(masks: tuple[HostMask, ...]) -> str | None:
    """The one without which the most hosts would be left; None: no single one."""
    counts = {one.name: _left_without(masks, one) for one in masks}
    best = max(counts, key=counts.__getitem__, default=None)
    return best if best is not None and counts[best] else None


def _left_without(masks: tuple[HostMask, ...], one: HostMask) -> int:
    others = [other for other in masks if other is not one]
    return int(
        np.count_nonzero(feasible_hosts.all_of(others, len(one.mask)) & ~one.mask)
    )


def _ask(state: State, feasible: FeasibleHosts) -> Diagnosis | None:
    """The diagnosis for one instance, without advice: that is for the request."""
    budget = feasible.policy.options.explain_budget
    try:
        question = feasible.job.questions[0]
        limits = ExplanationBudget(misses=_MOST_NEAR)
        found = explain(
            state, question, budget=budget, limits=limits, is_advising=False
        )
    except GanttError:
        return None  # invalid requests were refused before
    return shortened(found)
