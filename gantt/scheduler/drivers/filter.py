"""The driver ``filter``: every mask and every score afresh, for each request."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.feasibility.feasible_hosts import Field, fresh
from gantt.scheduler.policy import without
from gantt.scheduler.request.job import Job, prepare
from gantt.state.state import State


class FilterDriver(Driver):
    """Remembers nothing."""

    name: str = "filter"

    def field(
        self,
        state: State,
        spec: RequestSpec,
        *,
        now: int,
        by_books: bool,
        budget: Budget,
    ) -> tuple[Job, Field]:
        job = prepare(state, spec, self.policy.options, by_books=by_books)
        return job, fresh(state, job, self.policy, now, budget)

    def without(self, name: str) -> Driver | None:
        return FilterDriver(without(self.policy, name))
