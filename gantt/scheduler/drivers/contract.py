"""What a driver is. Plugins come by the entry points ``gantt.drivers``."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.feasibility.feasible_hosts import Field, fresh
from gantt.scheduler.policy import Policy
from gantt.scheduler.request.job import Job
from gantt.state.state import State


class Driver:
    """Made once per engine with its ``policy``. It may remember, but what it answers
    depends on its arguments alone. It is asked once at a time."""

    name: str = ""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.hits = 0
        self.misses = 0

    @property
    def kept(self) -> int:
        """How many shapes of requests are remembered."""
        return 0

    def field(
        self,
        state: State,
        spec: RequestSpec,
        *,
        now: int,
        by_books: bool,
        budget: Budget,
    ) -> tuple[Job, Field]:
        """Which hosts pass, and how good each is. ``by_books``: inventory decides
        amounts, else what hosts report. Raises Invalid, NoValidHost, UnknownName."""
        raise NotImplementedError

    def field_once(
        self,
        state: State,
        spec: RequestSpec,
        *,
        now: int,
        by_books: bool,
        budget: Budget,
    ) -> tuple[Job, Field]:
        """As ``field``, for a request that will not be asked again and need not be
        remembered."""
        return self.field(state, spec, now=now, by_books=by_books, budget=budget)

    def without(self, name: str) -> Driver | None:  # noqa: ARG002
        """A driver that decides the same way without the filter ``name``; None: this
        one needs it."""
        return None

    def field_of(self, state: State, job: Job, *, now: int, budget: Budget) -> Field:
        """The same for a job that was made ready before, with a remote Placement's
        answer: nothing of it is worth keeping. Raises Invalid."""
        return fresh(state, job, self.policy, now, budget)
