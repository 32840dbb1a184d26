"""Why not: what removed hosts, the nearest, and the smallest change that would do.

Costs nothing until a request is refused, or asked about: it looks at the masks that the
decision was made of, and has the change tried (``advice``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from gantt.errors import GanttError
from gantt.model.diagnosis import Diagnosis, shortened
from gantt.model.requests import CandidateRequest
from gantt.model.selection import Near, Score, Scoring, Why
from gantt.placement.candidates.explain import explain
from gantt.scheduler.explain.advice import Advice, smallest
from gantt.scheduler.explain.trials import Trials
from gantt.scheduler.feasibility import feasible_hosts as fields
from gantt.scheduler.feasibility.feasible_hosts import Field, Sieve, steps_of
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.request.job import Job
from gantt.scheduler.scoring.scale import all_scales
from gantt.state.column import NO_TIME, Int64s
from gantt.state.state import State

PICKED = "instances picked before"
EXACT = "exact search"
_MOST_NEAR = 10


class Rest(Struct, frozen=True, eq=False):
    """How the picking ended. ``kept``: int64 rows of ``state.hosts`` that filters still
    pass after the last pick; ``refused``: int64, those of them where the exact search
    finds no place; ``picked`` instances have one."""

    kept: Int64s
    refused: Int64s
    picked: int = 0


def why(
    state: State,
    job: Job,
    field: Field,
    rest: Rest,
    trials: Trials | None = None,
) -> Why:
    """Everything that can be told about a field that is empty, or too small, and of
    what was left of it in the end. ``trials``: of the request that was refused; None:
    none was."""
    more = tuple(_in_the_end(field, rest))
    sieves = (*field.sieves, *more)
    steps = tuple(steps_of(sieves, len(field.all_rows))) if more else field.steps
    books = None
    is_left = fields.all_of(sieves, len(field.all_rows)).any()
    if field.surveys and not (rest.picked or is_left):
        best = _removed_most(sieves)
        if best == fields.BOOKS or more or not field.has_room_anywhere:
            books = _ask(state, job.questions[0], field)
    near = nearest(state, field, sieves)
    # Last: others may write while changes are tried, and rows mean other hosts then.
    found = Advice() if trials is None else smallest(trials, field, rest.picked)
    return Why(
        steps,
        near,
        found.text,
        books,
        found.changes,
        found.is_truncated,
    )


def why_at_once(trials: Trials) -> Why:
    """What can be told of a request that was refused before hosts were judged."""
    found = smallest(trials, None)
    return Why(
        change=found.text, given_up=found.changes, is_truncated=found.is_truncated
    )


def nearest(
    state: State, field: Field, sieves: tuple[Sieve, ...], most: int = _MOST_NEAR
) -> tuple[Near, ...]:
    """Hosts that the fewest sieves removed, fewest first."""
    failures = np.zeros(len(field.all_rows), np.int64)
    for sieve in sieves:
        failures += ~sieve.mask
    removed = np.flatnonzero(failures)
    order = removed[np.argsort(failures[removed], kind="stable")][:most]
    hosts = state.fleet.hosts
    found = []
    for place in order.tolist():
        row = int(field.all_rows[place])
        names = tuple(s.name for s in sieves if not s.mask[place])
        found.append(Near(hosts.hosts[row], hosts.nodes[row], names))
    return tuple(found)


def _in_the_end(field: Field, rest: Rest) -> Iterator[Sieve]:
    """Hosts that passed at first and were lost on the way, as sieves of their own."""
    fell = np.setdiff1d(field.hosts.rows, rest.kept)
    for name, rows in ((PICKED, fell), (EXACT, rest.refused)):
        if len(rows):
            yield Sieve(name, ~np.isin(field.all_rows, rows))


class Scoreboard:
    """The best ``most`` hosts of a field as they are now; ``scoring`` puts it into
    values when they are asked for, which is rare. ``most`` None: all
    hosts, and also raw scores that count for nothing: of a host alone, which is not
    weighed, and of weighers that are switched off."""

    def __init__(self, state: State, field: Field, now: int, most: int | None) -> None:
        places = field.best(len(field.hosts) if most is None else most)[:most]
        hosts, rows = state.fleet.hosts, field.hosts.rows[places].tolist()
        self._names = [(hosts.hosts[row], hosts.nodes[row]) for row in rows]
        self._now = now
        self._said_at = np.maximum(hosts.updated_at[rows], hosts.created_at[rows])
        self._weights = field.weights[places]
        scales = field.scales
        if most is None:
            everybody = Hosts(state.fleet, field.hosts.rows)
            weighers = field.policy.weighers
            scales = tuple(all_scales(scales, everybody, field.request, weighers))
        self._scales = [one.sample(places) for one in scales]

    def scoring(self) -> Scoring:
        """Hosts with their weights by weigher, the best first."""
        ages = [_age_s(at, self._now) for at in self._said_at.tolist()]
        parts = [one.told() for one in self._scales]
        return Scoring(self._names, self._weights.tolist(), ages, parts)

    def scores(self) -> tuple[Score, ...]:
        """The same host by host."""
        return self.scoring().scores()


def age_s(state: State, row: int, now: int) -> float | None:
    """Seconds since a report of the host at ``row`` was written down; None: not
    known."""
    hosts = state.fleet.hosts
    return _age_s(max(int(hosts.updated_at[row]), int(hosts.created_at[row])), now)


def _age_s(at: int, now: int) -> float | None:
    return None if at == NO_TIME or at > now else (now - at) / 1_000_000


def _removed_most(sieves: tuple[Sieve, ...]) -> str | None:
    """The sieve without which the most hosts would be left; None: no single one."""
    counts = {one.name: _left_without(sieves, one) for one in sieves}
    best = max(counts, key=counts.__getitem__, default=None)
    return best if best is not None and counts[best] else None


def _left_without(sieves: tuple[Sieve, ...], one: Sieve) -> int:
    others = [other for other in sieves if other is not one]
    return int(np.count_nonzero(fields.all_of(others, len(one.mask)) & ~one.mask))


def _ask(state: State, question: CandidateRequest, field: Field) -> Diagnosis | None:
    """What the books say of one instance, without advice: that is for the request."""
    budget = field.policy.options.explain_budget
    try:
        found = explain(state, question, budget=budget, is_advising=False)
    except GanttError:
        return None  # what cannot even be asked was refused before
    return shortened(found)
