"""A prepared request: pre-filtered, and translated into candidate requests."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from gantt.model.holding import Held
from gantt.model.requests import CandidateRequest
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement import group_rules
from gantt.scheduler.hosts import Taken
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import prefilters, shape
from gantt.scheduler.request.prefilters.context import PrefilterContext
from gantt.scheduler.request.segments import as_listed, in_books
from gantt.state.state import State


class ClaimTerms(Struct, frozen=True):
    """How a claim is made at a remote Placement: leased for so many microseconds, until
    it is written there. ``held``: existing allocations of instances there, by uuid."""

    leased_for_us: int
    held: Mapping[str, Held] = {}


class Job(Struct, frozen=True, eq=False):
    """``spec``: after the pre-filters. ``questions``: candidate requests (none for a
    rebuild); later ones apply to hosts that earlier ones do not find. ``taken``: what
    an instance takes of its host's columns. ``terms``: of a claim; None: of one that
    the committer alone decides."""

    spec: RequestSpec
    questions: tuple[CandidateRequest, ...] = ()
    taken: Taken = Taken(0, 0, 0)
    terms: ClaimTerms | None = None


def prepare(
    state: State,
    spec: RequestSpec,
    options: SchedulerOptions,
    *,
    is_remote: bool = False,
    listed: Mapping[str, frozenset[str]] | None = None,
) -> Job:
    """``is_remote``: the candidate requests are for a remote Placement, which may know
    classes and traits that are unknown here. ``listed``: the aggregates of network
    segments there; None: those here. Raises Invalid and NoValidHost."""
    if spec.is_rebuild:
        return Job(spec)

    def knows_trait(name: str) -> bool:
        return state.traits.find(name) is not None

    aggregates_of = in_books(state) if listed is None else as_listed(listed)
    context = PrefilterContext(
        state.fleet, options, knows_trait, aggregates_of, is_remote
    )
    spec = prefilters.apply(spec, context)
    questions = shape.candidate_requests(
        spec,
        options,
        state.fleet,
        lambda name: is_remote or state.classes.find(name) is not None,
        None if is_remote else knows_trait,
    )
    flavor = spec.flavor
    return Job(spec, questions, Taken(flavor.vcpus, flavor.memory_mb, spec.disk_mb))


def spec_of_first(state: State, request: ScheduleRequest) -> RequestSpec:
    """The spec for the first instance: a spec for many names any of them; with the
    group's policy."""
    spec = group_rules.with_rule(state.fleet, request.spec)
    uuids = request.instance_uuids
    if not uuids or spec.instance_uuid == uuids[0]:
        return spec
    return replace(spec, instance_uuid=uuids[0])
