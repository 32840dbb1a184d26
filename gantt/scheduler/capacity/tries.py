"""Hosts into which instances are tried one by one, for many questions of one call.

A try takes up to a millisecond: one call has only so many of them. What a host took is
remembered as long as nothing changes there, so that questions which ask the same of
hosts, such as with and without a filter, try them once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from gantt.model.requests import CandidateRequest
from gantt.model.topology import Wanted
from gantt.placement.candidates.combination import Budget, Spent
from gantt.placement.candidates.survey import FlatSurvey
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.explain.blocks import BUDGET
from gantt.state.state import State

STEPS_PER_TRY: Final = 20
"""A try costs as many of ``capacity_steps``."""

Found = tuple[int, frozenset[str]]
"""How many a host took, and why not more."""


class Question(Struct, frozen=True, eq=False):
    """What decides how many instances one host takes. ``known``: by row, when the host
    had last changed, and what was found of up to how many."""

    state: State
    asked: tuple[tuple[CandidateRequest, ...], Wanted | None]
    known: dict[int, tuple[int, int, Found]]


class Tries:
    """``steps``: of all tries together, None: any number. ``remembers``: each question
    is for one flavor alone. ``count``: how many tries there were; ``cuts``: how many
    were not made."""

    def __init__(self, steps: int | None = None, *, remembers: bool = False) -> None:
        self._steps = Budget(steps)
        self._remembers = remembers
        self._questions: list[Question] = []
        self.count = self.cuts = 0

    def renew(self) -> None:
        """Grants as many tries once more."""
        self._steps.renew()

    def spend(self) -> None:
        """One try begins. Raises Spent."""
        try:
            self._steps.spend(STEPS_PER_TRY)
        except Spent:
            self.cuts += 1
            raise
        self.count += 1

    def question(self, state: State, feasible: FeasibleHosts) -> Question | None:
        """None: it is not remembered, or what one host takes depends on others, which
        share with it."""
        if not self._remembers:
            return None
        for one in feasible.surveys:
            if isinstance(one, FlatSurvey) or one.resolved is None:
                continue
            if one.resolved.sharing.rows:
                return None
        asked = feasible.job.questions, feasible.wanted
        for known in self._questions:
            if known.state is state and known.asked == asked:
                return known
        found = Question(state, asked, {})
        self._questions.append(found)
        return found

    def found(
        self,
        question: Question | None,
        row: int,
        most: int,
        search: Callable[[], Found],
    ) -> Found:
        """What is known of up to ``most`` instances on the host at ``row``, or what
        ``search`` finds."""
        if question is None:
            return search()
        touched, asked, (got, why) = question.known.get(row, _NEVER)
        now = int(question.state.fleet.hosts.touched[row])
        if touched == now and most <= got:
            return most, frozenset()
        if touched == now and got < asked:
            return got, why
        found = search()
        # Cut by what tries or steps are left it tells nothing. Hosts that one request
        # may be fitted into end for each rule at the same ones.
        if BUDGET not in found[1]:
            question.known[row] = now, most, found
        return found


_NEVER: Final = (-1, 0, (0, frozenset[str]()))
