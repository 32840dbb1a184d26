"""A request made ready: pre-filtered, shaped into groups, its targets looked up.

Apart from the pipeline because requests of the same shape share a job: the caching
driver keeps it.
"""

from __future__ import annotations

from msgspec import Struct

from gantt.model.requests import CandidateRequest
from gantt.model.spec import RequestSpec
from gantt.scheduler import prefilters, shape
from gantt.scheduler.options import SchedulerOptions
from gantt.state.column import NO_ROW
from gantt.state.state import State


class Job(Struct, frozen=True, eq=False):
    """``spec``: as the pre-filters leave it. ``questions``: to the books, each asked
    when those before it found nobody (empty: the hosts' own amounts decide, or nothing
    does for a rebuild). ``asks_amounts``: the hosts' own amounts decide."""

    spec: RequestSpec
    questions: tuple[CandidateRequest, ...] = ()
    asks_amounts: bool = False


def prepare(
    state: State, spec: RequestSpec, options: SchedulerOptions, *, by_books: bool
) -> Job:
    """Raises Invalid and NoValidHost."""
    if spec.is_rebuild:
        return Job(spec)
    spec = prefilters.apply(
        spec, state.fleet, options, lambda name: state.traits.find(name) is not None
    )
    if not by_books:
        return Job(spec, (), asks_amounts=True)
    questions = shape.candidate_requests(
        spec,
        options,
        state.fleet,
        lambda name: state.classes.find(name) is not None,
    )
    return Job(spec, questions)


def is_inventoried(state: State) -> bool:
    """Whether every enabled host has inventory in the books, so that they can decide
    amounts; False when there is no host at all."""
    hosts = state.fleet.hosts
    enabled = [row for row in hosts.live_rows().tolist() if not hosts.is_disabled[row]]
    return bool(enabled) and all(
        hosts.provider[row] != NO_ROW
        and state.inventories.classes_of(int(hosts.provider[row]))
        for row in enabled
    )
