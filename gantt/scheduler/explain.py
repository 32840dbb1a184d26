"""Why not: what removed whom, who came nearest, and the smallest change that would do.

Costs nothing until somebody is refused or asks: it looks at the masks that the decision
was made of.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from gantt.errors import GanttError
from gantt.model.diagnosis import Diagnosis, shortened
from gantt.model.requests import CandidateRequest
from gantt.model.selection import Near, Score, Why
from gantt.placement.candidates.explain import explain
from gantt.scheduler import field as fields
from gantt.scheduler.field import Field, Sieve, steps_of
from gantt.scheduler.job import Job
from gantt.state.column import NO_TIME, Int64s
from gantt.state.state import State

PICKED = "instances picked before"
EXACT = "exact search"
_MOST_NEAR = 10


class Rest(Struct, frozen=True, eq=False):
    """How the picking ended. ``kept``: int64 rows of ``state.hosts`` that filters still
    pass after the last pick; ``refused``: int64, those of them where the exact search
    finds no place; ``picked`` of ``wanted`` instances have one."""

    kept: Int64s
    refused: Int64s
    picked: int = 0
    wanted: int = 0


def why(state: State, job: Job, field: Field, rest: Rest | None = None) -> Why:
    """Everything that can be told about a field that is empty, or too small, and of
    what was left of it in the end."""
    more = () if rest is None else tuple(_in_the_end(field, rest))
    sieves = (*field.sieves, *more)
    steps = tuple(steps_of(sieves, len(field.all_rows))) if more else field.steps
    if rest is not None and rest.picked:
        fewer = f"ask for {rest.picked} instead of {rest.wanted} instances"
        return Why(steps, nearest(state, field, sieves), fewer)
    is_refused = bool(more) and not fields.all_of(sieves, len(field.all_rows)).any()
    books = None
    if field.surveys and (is_refused or not field.has_room_anywhere):
        books = _ask(state, job.questions[0], field.policy.options.explain_budget)
    change = _change(field.sieves, more, books)
    return Why(steps, nearest(state, field, sieves), change, books)


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
    """Who passed at first and was lost on the way, as sieves of their own."""
    fell = np.setdiff1d(field.hosts.rows, rest.kept)
    for name, rows in ((PICKED, fell), (EXACT, rest.refused)):
        if len(rows):
            yield Sieve(name, ~np.isin(field.all_rows, rows))


class Scoreboard:
    """The best ``most`` hosts of a field as they are now; ``scores`` puts it into
    values when somebody asks, for most decisions nobody ever does."""

    def __init__(self, state: State, field: Field, now: int, most: int) -> None:
        places = field.best(most)[:most]
        hosts, rows = state.fleet.hosts, field.hosts.rows[places].tolist()
        self._names = [(hosts.hosts[row], hosts.nodes[row]) for row in rows]
        self._now = now
        self._said_at = np.maximum(hosts.updated_at[rows], hosts.created_at[rows])
        self._weights = field.weights[places]
        self._scales = [one.sample(places) for one in field.scales]

    def scores(self) -> tuple[Score, ...]:
        """Hosts with their weights by weigher, the best first."""
        return tuple(
            Score(
                *name,
                weight,
                {
                    one.weigher.name: (one.raw.item(place), one.scaled_at(place))
                    for one in self._scales
                },
                age,
            )
            for place, (name, weight, age) in enumerate(
                zip(self._names, self._weights.tolist(), self._ages(), strict=True)
            )
        )

    def _ages(self) -> Iterator[float | None]:
        return (_age_s(at, self._now) for at in self._said_at.tolist())


def age_s(state: State, row: int, now: int) -> float | None:
    """Seconds since the host at ``row`` last said anything new; None: not known."""
    hosts = state.fleet.hosts
    return _age_s(max(int(hosts.updated_at[row]), int(hosts.created_at[row])), now)


def _age_s(at: int, now: int) -> float | None:
    return None if at == NO_TIME or at > now else (now - at) / 1_000_000


def _change(
    sieves: tuple[Sieve, ...], more: tuple[Sieve, ...], books: Diagnosis | None
) -> str | None:
    """The smallest change that would have left somebody: what the books say when
    nobody has room, else the sieve that alone removed the most. Nobody can go without
    ``more``."""
    if books is not None and books.relaxation is not None:
        return books.relaxation.text
    if books is not None and not more:
        return None
    best, most = None, 0
    for sieve in sieves:
        others = [one for one in (*sieves, *more) if one is not sieve]
        left = fields.all_of(others, len(sieve.mask))
        count = int(np.count_nonzero(left & ~sieve.mask))
        if count > most:
            best, most = sieve.name, count
    if best is None:
        return None
    hosts = "1 host passes" if most == 1 else f"{most} hosts pass"
    return f"without {best}, {hosts} everything else"


def _ask(state: State, question: CandidateRequest, budget: int) -> Diagnosis | None:
    try:
        return shortened(explain(state, question, budget=budget))
    except GanttError:
        return None  # what cannot even be asked was refused before
