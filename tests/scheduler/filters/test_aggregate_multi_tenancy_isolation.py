"""AggregateMultiTenancyIsolation: aggregates for some projects."""

from __future__ import annotations

import pytest
from hypothesis import given

from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.aggregate_multi_tenancy_isolation import (
    AggregateMultiTenancyIsolation,
)
from tests.scheduler.filters.reading import check, items, passes
from tests.scheduler.fleets import METADATA, Plain, Plan, a_host, fleets, request, specs

KEY = "filter_tenant_id"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ([], True),
        ([{"other": "p2"}], True),
        ([{KEY: "p1"}], True),
        ([{KEY: "p2"}], False),
        ([{KEY: "p2, p1"}], True),
        ([{KEY: "p2"}, {KEY: "p1"}], True),
        ([{KEY: "p2", KEY + "2": "p1"}], True),
        ([{KEY + "-x": "p2"}], False),
        ([{KEY: "p2"}, {"other": "p1"}], False),
        ([{KEY: ""}], False),
        ([{"my_" + KEY: "p2"}], True),
    ],
)
def test_projects(metadata: list[dict[str, str]], expected: bool) -> None:
    spec = RequestSpec(project_id="p1")
    found = passes(AggregateMultiTenancyIsolation(), a_host(), spec, metadata)
    assert found is expected


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    projects = [
        project
        for key in METADATA
        if key.startswith(KEY)
        for text in plan.metadata_of(host, key)
        for project in items(text)
    ]
    return not projects or asked.spec.project_id in projects


@given(fleets(), specs())
def test_mask_equals_the_rule_per_host(plan: Plan, spec: RequestSpec) -> None:
    check(AggregateMultiTenancyIsolation(), plan, request(spec), _reading)
