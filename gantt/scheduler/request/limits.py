"""Limits on the size of one request, or of one statement about the fleet.

Separate from the bounds of single values because these are options: large requests are
work that others wait for, under the lock of the columns or at the committer. Each
refusal names the size, the limit, and its option.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Final

from gantt.errors import Invalid, Refused
from gantt.model.spec import RequestSpec, ResourceGroup, ScheduleRequest
from gantt.scheduler.options import PACKINGS, SchedulerOptions
from gantt.scheduler.request.requested_devices import ALIAS

MAX_FACTOR: Final = 1e200
"""Bound of a weigher's multiplier, so that sums stay finite."""


class TooMuch(Invalid):
    """A request or statement exceeds a limit."""


def check_request(request: ScheduleRequest, options: SchedulerOptions) -> None:
    """Raises TooMuch, Invalid (an empty request)."""
    if not 0 < (count := request.count) <= options.max_instances:
        raise (TooMuch if count else Invalid)(
            f"{count} instances were asked for; one request may ask for 1 to "
            f"{options.max_instances}. Ask in parts, or raise max_instances of "
            "[scheduler]."
        )
    check_spec(request.spec, options)


def check_demand(
    counts: Sequence[int], options: SchedulerOptions, relations: int = 0
) -> None:
    """``counts``: how many of each item. Raises TooMuch, Invalid (an empty demand)."""
    if relations > options.max_relations:
        raise TooMuch(
            f"{relations} relations were asked for; one demand may have "
            f"{options.max_relations}. Ask in parts, or raise max_relations of "
            "[scheduler]."
        )
    if len(counts) > options.max_items:
        raise TooMuch(
            f"{len(counts)} items were asked for; one demand may have "
            f"{options.max_items}. Ask in parts, or raise max_items of [scheduler]."
        )
    count = sum(counts)
    if not 0 < count <= options.max_instances:
        raise (TooMuch if count else Invalid)(
            f"{count} things were asked for; one demand may ask for 1 to "
            f"{options.max_instances}. Ask in parts, or raise max_instances of "
            "[scheduler]."
        )


def check_flavors(count: int, options: SchedulerOptions) -> None:
    """Raises TooMuch, Invalid (none)."""
    if not 0 < count <= options.capacity_flavors:
        raise (TooMuch if count else Invalid)(
            f"{count} flavors were asked for; one call counts 1 to "
            f"{options.capacity_flavors} together. Ask in parts, or raise "
            "capacity_flavors of [scheduler]."
        )


def check_spec(spec: RequestSpec, options: SchedulerOptions) -> None:
    """Raises TooMuch."""
    groups = len(spec.requested_resources)
    if groups > options.max_request_groups:
        raise too_many_groups(groups, options)
    if spec.pci_requests or ALIAS in spec.flavor.extra_specs:
        _check_devices(spec, options)
    names = _names(spec)
    if names > options.max_request_names:
        raise TooMuch(
            f"The request names {names} hosts, aggregates, traits, instances and the "
            f"like; {options.max_request_names} is the limit. Name fewer, or raise "
            "max_request_names of [scheduler]."
        )


def _check_devices(spec: RequestSpec, options: SchedulerOptions) -> None:
    aliases = spec.flavor.extra_specs.get(ALIAS)
    asked = len(spec.pci_requests) + (len(aliases.split(",")) if aliases else 0)
    if asked > options.max_request_groups:
        raise TooMuch(
            f"The request has {asked} PCI requests; {options.max_request_groups} is "
            "the limit, as of request groups. Ask for more devices in fewer requests, "
            "or raise max_request_groups of [scheduler]."
        )


def too_many_groups(count: int, options: SchedulerOptions) -> TooMuch:
    """``count`` request groups are more than one request may have."""
    return TooMuch(
        f"The request has {count} request groups; {options.max_request_groups} is the "
        "limit. Ask for fewer, or raise max_request_groups of [scheduler]."
    )


def check_statement(what: str, count: int, options: SchedulerOptions) -> None:
    """Check that one statement may have ``count`` of ``what``. Raises TooMuch."""
    if count > options.max_statement:
        raise TooMuch(
            f"{count} {what} were named at once; {options.max_statement} is the limit. "
            "Name fewer at a time, or raise max_statement of [scheduler]."
        )


def check_hosts(count: int, options: SchedulerOptions) -> None:
    """Check that aggregates may name so many hosts at once. Raises TooMuch."""
    if count > options.max_statement_hosts:
        raise TooMuch(
            f"Aggregates with {count} hosts were named at once; "
            f"{options.max_statement_hosts} is the limit. Name fewer aggregates at a "
            "time, or raise max_statement_hosts of [scheduler]."
        )


def check_factors(options: SchedulerOptions) -> None:
    """Raises Refused: a multiplier is not a number, or too large for sums of scores, or
    ``packing`` sets none."""
    if options.packing not in PACKINGS:
        raise Refused(
            f"packing of [gantt] is {options.packing!r}; there is "
            f"{', '.join(PACKINGS)}."
        )
    factors = chain(
        options.multipliers.items(),
        (
            (f"image_props_weight_setting {name}", factor)
            for name, factor in options.image_props_weight_setting.items()
        ),
        (
            (f"weight_setting of [metrics] {name}", factor)
            for name, factor in options.metrics_weight_setting.items()
        ),
        (
            (
                "weight_of_unavailable of [metrics]",
                options.metrics_weight_of_unavailable,
            ),
        ),
    )
    for name, factor in factors:
        if not is_factor(factor):
            raise Refused(
                f"{name} is {factor!r}: it must be a number from -{MAX_FACTOR:g} to "
                f"{MAX_FACTOR:g}."
            )


def is_factor(value: object) -> bool:
    """Whether scores may be multiplied by ``value``."""
    is_number = isinstance(value, int | float) and not math.isnan(value)
    return is_number and -MAX_FACTOR <= value <= MAX_FACTOR  # type: ignore[operator]


def _names(spec: RequestSpec) -> int:
    """How many names all lists of a request have together."""
    count = len(spec.ignore_hosts) + len(spec.force_hosts) + len(spec.force_nodes)
    count += len(spec.retry_hosts) + len(spec.requested_networks)
    for each in spec.requested_networks:
        count += len(each.segments or ())
    count += len(spec.network_metadata.physnets)
    for values in spec.scheduler_hints.values():
        count += len(values)
    place, group = spec.requested_destination, spec.instance_group
    if place is not None:
        count += len(place.forbidden_aggregates) + sum(map(len, place.aggregates))
    if group is not None:
        count += len(group.members) + len(group.hosts)
    if spec.labels is not None:
        terms = spec.labels
        count += len(terms.required) + len(terms.forbidden) + len(terms.preferred)
    level = spec.request_level_params
    count += len(level.root_required) + len(level.root_forbidden)
    count += sum(map(len, level.same_subtree))
    for one in spec.requested_resources:
        count += _names_of(one)
    return count


def _names_of(group: ResourceGroup) -> int:
    return (
        len(group.resources)
        + len(group.required_traits)
        + len(group.forbidden_traits)
        + len(group.forbidden_aggregates)
        + sum(map(len, group.aggregates))
    )
