"""The claim that holds what was selected."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model.commands import Choice, Claim, InstanceClaim
from gantt.model.spec import InstanceGroup, ScheduleRequest
from gantt.model.topology import Wanted
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, skips_filters
from gantt.scheduler.evaluation.known_names import GROUP_FILTERS
from gantt.scheduler.relations.domain_picks import DomainPicks
from gantt.scheduler.relations.locality import artifacts_of
from gantt.scheduler.request.identity import identity_of
from gantt.scheduler.request.requested_topology import wanted_of
from gantt.scheduler.selection.host_choice import Pick, choices_per_instance
from gantt.topology.promised_topology import providers_of


def claim_of(
    request: ScheduleRequest,
    feasible: FeasibleHosts,
    picks: list[list[Pick]],
    name: str,
    domains: DomainPicks | None = None,
) -> Claim:
    """The command that holds a host for every instance, or for none."""
    job, options = feasible.job, feasible.policy.options
    spec, terms, asked = job.spec, job.terms, feasible.asked
    most = choices_per_instance(options, request.among or len(picks))
    held = {} if terms is None else terms.held
    is_forced = feasible.policy.fits and skips_filters(spec)
    wanted = None
    if feasible.policy.fits:
        wanted = _unchecked(feasible) if is_forced else feasible.wanted
    may_name = spec.scheduler_hints or options.image_locality
    instances = []
    for uuid, found in zip(request.names, picks, strict=True):
        choices = _choices(found[:most], wanted)
        instances.append(InstanceClaim(uuid, tuple(choices), held.get(uuid)))
    return Claim(
        claim=name,
        instances=tuple(instances),
        vcpus=job.taken.vcpus,
        memory_mb=job.taken.memory_mb,
        disk_mb=job.taken.disk_mb,
        project_id=spec.project_id or request.project_id or "",
        user_id=spec.user_id or request.user_id or "",
        group=_enforced(spec.instance_group, asked),
        leased_for_us=lease_us(request) if terms is None else terms.leased_for_us,
        is_remote=terms is not None,
        asks_service="ComputeFilter" in asked,
        only_project=request.only_project,
        wanted=wanted,
        packs=options.packing_host_numa_cells_allocation_strategy,
        must_fit=not is_forced,
        identity=identity_of(request),
        domains=() if domains is None else domains.terms,
        max_starts=options.max_starts,  # a rebuild claims nothing
        artifacts=artifacts_of(spec, options) if may_name else (),
    )


def repeat_of(request: ScheduleRequest, name: str) -> Claim:
    """The command that finds the claim of an earlier, equal request, and makes none:
    where no host is left, that request may have taken it."""
    return Claim(
        claim=name,
        instances=tuple(InstanceClaim(uuid, ()) for uuid in request.names),
        vcpus=0,
        memory_mb=0,
        disk_mb=0,
        project_id=request.spec.project_id or request.project_id or "",
        user_id=request.spec.user_id or request.user_id or "",
        leased_for_us=lease_us(request),
        only_project=request.only_project,
        identity=identity_of(request),
    )


def _unchecked(feasible: FeasibleHosts) -> Wanted | None:
    """What an instance on a host that an operator forces will use of cells and
    devices: others must not be promised the same. None, if it cannot be read."""
    policy = feasible.policy
    enabled = frozenset([one.name for one in policy.filters])
    try:
        return wanted_of(feasible.job.spec, policy.options, enabled)
    except Invalid:
        return None


def _choices(picks: list[Pick], wanted: Wanted | None) -> list[Choice]:
    if wanted is None or not wanted.devices:
        return [
            Choice(
                one.host_id,
                one.candidate.allocations,
                mappings=one.candidate.mappings,
            )
            for one in picks
        ]
    return [
        Choice(
            one.host_id,
            one.candidate.allocations,
            providers_of(one.candidate.mappings, wanted),
            one.candidate.mappings,
        )
        for one in picks
    ]


def lease_us(request: ScheduleRequest) -> int | None:
    """The requested lease, in microseconds; None: none."""
    return None if request.lease_s is None else int(request.lease_s * 1_000_000)


def _enforced(
    group: InstanceGroup | None, asked: frozenset[str]
) -> InstanceGroup | None:
    """The group with the rule that the committer enforces: the one applied while hosts
    were picked, and none where its filter is not enabled or hosts are forced."""
    if group is None or group.policy is None:
        return group
    needed = GROUP_FILTERS.get(group.policy)
    return replace(group, policy=None) if needed and needed not in asked else group
