"""Translates a request into candidate requests: its shape.

Flavor, image, ports and devices become request groups, in Nova's order, because later
parts look at earlier ones. Runs on every cold decision, before any host is checked.
Impossible requirements are refused here with their key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gantt.errors import Invalid, NoValidHost, UnknownName, UnknownResourceClass
from gantt.model.diagnosis import some
from gantt.model.requests import CandidateRequest, Labels
from gantt.model.spec import RequestSpec
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import cpus, features
from gantt.scheduler.request.limits import too_many_groups
from gantt.scheduler.request.request_draft import (
    DraftGroup,
    RequestDraft,
    take_in_groups,
)
from gantt.scheduler.request.targets import target_tree
from gantt.state.fleet_columns import Fleet

Knows = Callable[[str], bool]
_KNOWN_WITHOUT_BOOKS: Final = frozenset({"VCPU", "PCPU", "MEMORY_MB", "DISK_GB"})


def candidate_requests(
    spec: RequestSpec,
    options: SchedulerOptions,
    fleet: Fleet,
    knows_class: Knows,
    knows_trait: Knows | None = None,
) -> tuple[CandidateRequest, ...]:
    """The candidate requests: one, and for pinned CPUs, unless disabled, the same with
    VCPU in place of PCPU, for hosts from before PCPU.

    ``spec``: after the pre-filters. Raises Invalid (including UnknownName) for
    impossible requirements, NoValidHost when the named host does not exist.
    """
    tree = target_tree(spec, fleet)
    demand, is_pinned = _demand(spec)
    if len(demand.parts) - 1 > options.max_request_groups:
        raise too_many_groups(len(demand.parts) - 1, options)
    demands = [demand]
    if is_pinned and not options.disable_fallback_pcpu_query:
        demands.append(_demand(spec, pins=False)[0])
    found = []
    for one in demands:
        _place(one, spec, tree)
        _check(one, spec, knows_class, knows_trait)
        found.append(_question(one, spec))
    return tuple(found)


def resources(spec: RequestSpec, options: SchedulerOptions) -> dict[str, int]:  # noqa: ARG001
    """What an instance takes of a host that has no inventory: vcpus, memory_mb,
    disk_mb. Raises NoValidHost when it requests classes that only inventories have."""
    demand, _ = _demand(spec)
    for suffix, part in demand.parts.items():
        for name, amount in part.amounts.items():
            if amount and name not in _KNOWN_WITHOUT_BOOKS:
                raise NoValidHost(
                    f"the request asks for {amount} {name}"
                    f"{f' in group {suffix}' if suffix else ''}, and hosts are chosen "
                    "by what they report, without inventories: report inventories, or "
                    "set use_placement to always"
                )
    return {
        "vcpus": demand.total("VCPU") + demand.total("PCPU"),
        "memory_mb": demand.total("MEMORY_MB"),
        "disk_mb": 1024 * demand.total("DISK_GB"),
    }


def pieces(spec: RequestSpec) -> dict[str, tuple[int, ...]]:
    """Class -> what each group asks for of it, the most first; pinned CPUs are VCPUs.
    Raises Invalid."""
    demand, _ = _demand(spec, pins=False)
    found: dict[str, list[int]] = {}
    for part in demand.parts.values():
        for name, amount in part.amounts.items():
            if amount:
                found.setdefault(name, []).append(amount)
    return {name: tuple(sorted(each, reverse=True)) for name, each in found.items()}


def required_traits(spec: RequestSpec) -> set[str]:
    """What any group of the request requires of its providers. Raises Invalid."""
    demand, _ = _demand(spec)
    found: set[str] = set()
    for part in demand.parts.values():
        found |= part.required
    return found


# ------------------------------------------------------------------- from the request


def _demand(spec: RequestSpec, *, pins: bool = True) -> tuple[RequestDraft, bool]:
    """Amounts and traits; whether unpinned CPUs are acceptable instead of pinned
    ones."""
    demand = RequestDraft()
    is_pinned = False
    take_in_groups(spec.flavor.extra_specs, demand)
    from_flavor = sum(1 for suffix in demand.parts if suffix)
    is_plain = not spec.flavor.extra_specs and (
        spec.image is None or not spec.image.properties
    )
    if not is_plain:
        features.image_traits(spec, demand.main)
        if pins:
            is_pinned = cpus.pin(spec, demand)
    for group in spec.requested_resources:
        demand.join(group)
    _sizes(spec, demand)
    if not is_plain:
        features.translate(spec, demand.main)
    _group_policy(demand, from_flavor)
    return demand, is_pinned


def _sizes(spec: RequestSpec, demand: RequestDraft) -> None:
    """The flavor's sizes, except for classes that are named elsewhere."""
    flavor, amounts = spec.flavor, demand.main.amounts
    root_gb = 0 if spec.is_bfv else flavor.root_gb
    disk_gb = root_gb + flavor.ephemeral_gb - (-flavor.swap // 1024)
    if not (demand.named("VCPU") or demand.named("PCPU")):
        amounts["VCPU"] = flavor.vcpus
    if not demand.named("MEMORY_MB"):
        amounts["MEMORY_MB"] = flavor.memory_mb
    if not demand.named("DISK_GB"):
        amounts["DISK_GB"] = disk_gb


def _group_policy(demand: RequestDraft, from_flavor: int) -> None:
    """Several suffixed groups need a policy, which the flavor must name; groups of
    ports and devices alone need none."""
    if demand.isolate is not None or len(demand.parts) <= 2:
        return
    suffixes = [suffix for suffix, _ in demand.suffixed]
    if len(suffixes) > 1 and from_flavor > 1:
        raise Invalid(
            f"the flavor has request groups {', '.join(some(suffixes))} and no "
            "extra spec group_policy: say group_policy=none (they may share a "
            "provider) or group_policy=isolate"
        )


def _place(demand: RequestDraft, spec: RequestSpec, tree: str | None) -> None:
    """Add aggregates and the tree of the destination."""
    main, destination = demand.main, spec.requested_destination
    if destination is not None:
        if destination.aggregates:
            main.aggregates = destination.aggregates
        main.forbidden_aggregates |= destination.forbidden_aggregates
    main.in_tree = tree or main.in_tree
    if not main.has_amounts:
        _place_without_host(demand)


def _place_without_host(demand: RequestDraft) -> None:
    """Nothing is requested of the host itself: its constraints apply to the groups with
    resources, or to an added group. Placement refuses such a request of Nova."""
    main = demand.main
    givers = [part for _, part in demand.suffixed if part.has_amounts]
    if not givers:
        raise Invalid(
            "the request asks for no resources at all: give the flavor an amount of "
            "something"
        )
    for part in givers:
        part.in_tree = part.in_tree or main.in_tree
    if main.required or main.aggregates:
        return
    if main.forbidden_aggregates:
        raise Invalid(
            "the request must keep out of aggregates "
            f"{', '.join(some(sorted(main.forbidden_aggregates)))}, and asks for "
            "nothing of the host itself, by which that could be told: give the flavor "
            "an amount without a suffix"
        )
    main.forbidden.clear()


def _question(demand: RequestDraft, spec: RequestSpec) -> CandidateRequest:
    level = spec.request_level_params
    groups = [part.group(suffix) for suffix, part in demand.suffixed]
    if not demand.main.is_empty:
        groups.insert(0, demand.main.group(""))
    root = Labels(
        tuple(frozenset((name,)) for name in sorted(level.root_required)),
        level.root_forbidden,
    )
    return CandidateRequest(
        tuple(groups),
        isolate=bool(demand.isolate),
        root_traits=root,
        same_subtrees=level.same_subtree,
    )


# --------------------------------------------------------------------------- refusals


def _check(
    demand: RequestDraft,
    spec: RequestSpec,
    knows_class: Knows,
    knows_trait: Knows | None,
) -> None:
    for suffix, part in demand.parts.items():
        _check_amounts(suffix, part, spec, knows_class)
        _check_traits(suffix, part, spec, knows_trait)
    level = spec.request_level_params
    _check_level(level.root_required, level.root_forbidden, knows_trait)
    _check_subtrees(level.same_subtree, demand)


def _check_amounts(
    suffix: str, part: DraftGroup, spec: RequestSpec, knows_class: Knows
) -> None:
    for name, amount in part.amounts.items():
        if amount < 0:
            raise Invalid(f"the request asks for {amount} {name}: ask for 0 or more")
        if amount and not knows_class(name):
            raise UnknownResourceClass(
                f"{_asks(f'resources{suffix}:{name}', spec)} for the resource class "
                f"{name}, which the books do not know: create it, or correct the name"
            )


def _check_subtrees(subtrees: tuple[frozenset[str], ...], demand: RequestDraft) -> None:
    if not subtrees:
        return
    present = {suffix for suffix, _ in demand.suffixed}
    for subtree in subtrees:
        for suffix in sorted(subtree - present):
            raise Invalid(
                f"same_subtree names the group {suffix!r}, which the request does not "
                "have: name suffixes of its groups"
            )


def _check_traits(
    suffix: str, part: DraftGroup, spec: RequestSpec, knows_trait: Knows | None
) -> None:
    both = part.required & part.forbidden
    if both:
        where = f"group {suffix}" if suffix else "the unsuffixed group"
        raise Invalid(
            f"trait {min(both)} is both required and forbidden in {where}: no provider "
            "can be both; look at flavor and image"
        )
    says_what = part.has_amounts or part.required or part.aggregates
    if suffix and not says_what and not part.is_empty:
        raise Invalid(
            f"group {suffix} says only what its provider must not be: ask it for "
            f"resources (resources{suffix}:…), or leave it out"
        )
    for name in sorted(part.required | part.forbidden) if knows_trait else ():
        if knows_trait is not None and not knows_trait(name):
            raise UnknownName(
                f"{_asks(f'trait{suffix}:{name}', spec)} for the trait {name}, which "
                "the books do not know: create it, or correct the name"
            )


def _check_level(
    required: frozenset[str], forbidden: frozenset[str], knows_trait: Knows | None
) -> None:
    both = required & forbidden
    if both:
        raise Invalid(
            f"trait {min(both)} is both required and forbidden of the host itself: "
            "no host can be both"
        )
    for name in sorted(required | forbidden) if knows_trait else ():
        if knows_trait is not None and not knows_trait(name):
            raise UnknownName(
                f"the request asks for the trait {name} of the host itself, which the "
                "books do not know: create it, or correct the request"
            )


def _asks(key: str, spec: RequestSpec) -> str:
    if key in spec.flavor.extra_specs:
        return f"extra spec {key} asks"
    return "the request asks"
