"""A request made ready: pre-filtered, shaped into groups, its targets looked up.

Apart from the pipeline because requests of the same shape share a job: the caching
driver keeps it.
"""

from __future__ import annotations

from msgspec import Struct

from gantt.model.requests import CandidateRequest
from gantt.model.spec import RequestSpec
from gantt.placement.candidates.listing import Listing
from gantt.scheduler.hosts import Taken
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import prefilters, shape
from gantt.state.state import State


class Job(Struct, frozen=True, eq=False):
    """``spec``: as the pre-filters leave it. ``questions``: what to ask of inventories
    (none for a rebuild); the later ones are asked for those hosts that the earlier
    ones do not find. ``taken``: what an instance takes of its host's columns.
    ``asks_amounts``: these columns decide, not the books. ``listing``: what a remote
    Placement answered; it decides, and the books here are not asked."""

    spec: RequestSpec
    questions: tuple[CandidateRequest, ...] = ()
    taken: Taken = Taken(0, 0, 0)
    asks_amounts: bool = False
    listing: Listing | None = None


def prepare(
    state: State,
    spec: RequestSpec,
    options: SchedulerOptions,
    *,
    by_books: bool,
    is_remote: bool = False,
) -> Job:
    """``is_remote``: the questions are for other books, which may know classes and
    traits that are unknown here. Raises Invalid and NoValidHost."""
    if spec.is_rebuild:
        return Job(spec)

    def knows_trait(name: str) -> bool:
        return state.traits.find(name) is not None

    spec = prefilters.apply(spec, state.fleet, options, knows_trait)
    questions = shape.candidate_requests(
        spec,
        options,
        state.fleet,
        lambda name: is_remote or state.classes.find(name) is not None,
        None if is_remote else knows_trait,
    )
    if by_books:
        flavor = spec.flavor
        return Job(spec, questions, Taken(flavor.vcpus, flavor.memory_mb, spec.disk_mb))
    amounts = shape.resources(spec, options)
    return Job(spec, questions[:1], Taken(**amounts), asks_amounts=True)
