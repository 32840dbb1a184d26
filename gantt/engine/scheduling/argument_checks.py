"""Validates the arguments of callers: types, and limits."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import ParamSpec

from gantt.errors import Invalid
from gantt.model import demand
from gantt.model.demand import Demand
from gantt.model.forms import values
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.scheduler.evaluation.feasible_hosts import skips_filters
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import limits
from gantt.scheduler.request.exact_fit import unjudged
from gantt.scheduler.request.spelling import check_spelling

LOG = logging.getLogger(__name__)

P = ParamSpec("P")


class Checks:
    """``options``: those in force; they may be replaced while the engine runs."""

    def __init__(self, options: SchedulerOptions) -> None:
        self.options = options
        self._over = 0
        self._warned: set[str] = set()

    @property
    def writes_books(self) -> bool:
        """Whether reports and aggregates also write providers in the books."""
        is_here = self.options.placement == "embedded"
        return is_here and self.options.reports_write_books

    def request(self, request: ScheduleRequest) -> ScheduleRequest:
        """The request with validated types. Raises Invalid."""
        request = values.request(request)
        if request.lease_s is not None and request.instance_uuids is None:
            raise Invalid(
                "A lease was requested without instances: claims are made "
                "for instances. Give instance_uuids, or omit the lease."
            )
        self._within(limits.check_request, request, self.options)
        return request

    def demand(self, given: Demand) -> Demand:
        """The demand with validated types. Raises Invalid."""
        found = demand.typed(given)
        counts, relations = [item.count for item in found.items], len(found.relations)
        self._within(limits.check_demand, counts, self.options, relations)
        demand.check(found)
        return found

    def spec(self, spec: RequestSpec) -> RequestSpec:
        """Validates a request that has no number of instances."""
        spec = values.spec(spec)
        self._within(limits.check_spec, spec, self.options)
        return spec

    def words(self, spec: RequestSpec) -> None:
        """Raises Invalid: an extra spec is misspelt. Logs once which of them no enabled
        filter checks, so that a host may refuse them."""
        if spec.flavor.extra_specs and not self.options.names_are_checked:
            check_spelling(spec)
        asked = () if skips_filters(spec) else self.options.enabled_filters
        for name, text in unjudged(spec, {*asked, *self._warned}):
            self._warned.add(name)
            LOG.warning("%s", text)

    def statement(self, what: str, count: int) -> None:
        """Check that one statement may name so many. Raises TooMuch."""
        self._within(limits.check_statement, what, count, self.options)

    def flavors(self, specs: Sequence[RequestSpec]) -> tuple[RequestSpec, ...]:
        """Requests that are counted together, with validated types. Raises Invalid."""
        self._within(limits.check_flavors, len(specs), self.options)
        return tuple(self.spec(one) for one in specs)

    def hosts(self, count: int) -> None:
        """Check that one statement about aggregates may name so many hosts. Raises
        TooMuch."""
        self._within(limits.check_hosts, count, self.options)

    def _within(self, check: Callable[P, None], *args: P.args, **kw: P.kwargs) -> None:
        try:
            check(*args, **kw)
        except limits.TooMuch:
            self._over += 1
            raise

    def counts(self) -> dict[str, float]:
        """How often a limit was exceeded, and the limits, by name; for metrics."""
        options = self.options
        return {
            "over_limits": self._over,
            "request_names_limit": options.max_request_names,
            "request_groups_limit": options.max_request_groups,
            "request_instances_limit": options.max_instances,
            "demand_items_limit": options.max_items,
            "host_starts_limit": options.max_starts,
            "demand_relations_limit": options.max_relations,
            "artifacts_limit": options.max_artifacts,
            "host_artifacts_limit": options.max_host_artifacts,
            "statement_limit": options.max_statement,
            "report_bytes_limit": options.max_report_bytes,
            "statement_hosts_limit": options.max_statement_hosts,
            "claim_choices_limit": options.claim_choices,
            "explain_limit": options.explain_budget,
            "change_search_limit": options.change_budget,
            "capacity_limit": options.capacity_per_host,
            "capacity_flavors_limit": options.capacity_flavors,
            "capacity_rules_limit": options.capacity_rules,
            "capacity_steps_limit": options.capacity_steps,
            "topology_fits_limit": options.topology_fits,
            "topology_steps_limit": options.topology_steps,
            "relation_steps_limit": options.relation_steps,
            "joint_steps_limit": options.joint_steps,
            "shapes_limit": options.max_shapes,
            "shape_hosts_limit": options.max_shape_hosts,
            "changes_limit": options.kept_changes,
        }
