"""A policy: the options with the filters and weighers that they name, made once."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import Refused
from gantt.model.needs import COLUMNS, REPORT_ALSO
from gantt.scheduler.contract import Filter, Weigher
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins import registry
from gantt.scheduler.plugins.plugin_calls import IN_PLACE, Outside
from gantt.scheduler.request.limits import check_factors
from gantt.scheduler.request.requested_topology import DEVICES_FILTER, TOPOLOGY_FILTER
from gantt.scheduler.request.usual_flavors import usual_flavors


class Policy(Struct, frozen=True, eq=False, dict=True):
    """The rules of selection; the same for every request."""

    options: SchedulerOptions
    filters: tuple[Filter, ...]
    weighers: tuple[Weigher, ...]

    @cached_property
    def limiting(self) -> tuple[Filter, ...]:
        """Filters that set limits for the claim of the host itself."""
        return tuple(one for one in self.filters if one.has_limits)

    @cached_property
    def filter_names(self) -> frozenset[str]:
        """The names of the filters that are enabled."""
        return frozenset(one.name for one in self.filters)

    @cached_property
    def fits(self) -> bool:
        """Whether a filter has instances fitted into cells, or given devices."""
        return any(
            one.name in (TOPOLOGY_FILTER, DEVICES_FILTER) for one in self.filters
        )

    @cached_property
    def uncached_weighers(self) -> tuple[Weigher, ...]:
        """Weighers that are called for each request."""
        return tuple(one for one in self.weighers if not one.is_elementwise)


def policy_of(options: SchedulerOptions, outside: Outside = IN_PLACE) -> Policy:
    """``outside`` calls filters and weighers of other packages. Raises Refused when an
    option names an unknown class or column, or is not a number."""
    check_factors(options)
    usual_flavors(options.usual_flavors)
    _check_also(options.report_also)
    return Policy(
        options, registry.filters(options, outside), registry.weighers(options, outside)
    )


def _check_also(columns: tuple[str, ...]) -> None:
    for column in columns:
        if column.partition(".")[0] not in COLUMNS:
            raise Refused(
                f"{REPORT_ALSO} names {column!r}, which no host reports; there is "
                f"{', '.join(sorted(COLUMNS))}."
            )


def without(policy: Policy, name: str) -> Policy:
    """The policy, as if ``enabled_filters`` did not name that filter."""
    options, filters = policy.options, policy.filters
    enabled = tuple(
        one for one in options.enabled_filters if one.rpartition(".")[2] != name
    )
    return replace(
        policy,
        options=replace(options, enabled_filters=enabled),
        filters=tuple(one for one in filters if one.name != name),
    )
