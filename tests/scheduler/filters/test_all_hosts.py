"""AllHostsFilter lets everything through."""

from __future__ import annotations

from hypothesis import given

from gantt.model.spec import RequestSpec
from gantt.scheduler.feasibility.filters.all_hosts import AllHostsFilter
from tests.scheduler.filters.reading import check
from tests.scheduler.fleets import Plan, fleets, request, specs


@given(fleets(), specs())
def test_every_host_passes(plan: Plan, spec: RequestSpec) -> None:
    check(AllHostsFilter(), plan, request(spec), lambda *_: True)
