"""AggregateTypeAffinityFilter: aggregates for some flavors."""

from __future__ import annotations

import pytest
from hypothesis import given

from gantt.model.spec import Flavor, RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.aggregate_type_affinity import (
    AggregateTypeAffinityFilter,
)
from tests.scheduler.filters.reading import check, items, passes
from tests.scheduler.fleets import Plain, Plan, a_host, fleets, request, specs

KEY = "instance_type"


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ((), True),
        (("small",), True),
        (("large, small",), True),
        (("large",), False),
        (("smaller",), False),
        (("",), False),
        (("large", "small"), True),
        (("large", "huge"), False),
    ],
)
def test_lists(lists: tuple[str, ...], expected: bool) -> None:
    spec = RequestSpec(flavor=Flavor(name="small"))
    metadata = [{KEY: text} for text in lists]
    found = passes(AggregateTypeAffinityFilter(), a_host(), spec, metadata)
    assert found is expected


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    lists = plan.metadata_of(host, KEY)
    name = asked.spec.flavor.name
    return not lists or any(name in items(text) for text in lists)


@given(fleets(), specs())
def test_mask_equals_the_rule_per_host(plan: Plan, spec: RequestSpec) -> None:
    check(AggregateTypeAffinityFilter(), plan, request(spec), _reading)
