"""AggregateInstanceExtraSpecsFilter: flavors that ask for aggregates."""

from __future__ import annotations

import pytest
from hypothesis import given

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.aggregate_instance_extra_specs import (
    AggregateInstanceExtraSpecsFilter,
)
from tests.scheduler.filters.reading import check, items, passes, with_extra_specs
from tests.scheduler.fleets import Plain, Plan, a_host, fleets, request, specs
from tests.scheduler.naive import is_match

SCOPE = "aggregate_instance_extra_specs"


@pytest.mark.parametrize(
    ("asked", "metadata", "expected"),
    [
        ({}, [], True),
        ({"ssd": "true"}, [{"ssd": "true"}], True),
        ({"ssd": "true"}, [{"ssd": "false"}], False),
        ({"ssd": "true"}, [{"ssd": "false, true"}], True),
        ({"ssd": "true"}, [{"ssd": "false"}, {"ssd": "true"}], True),
        # A key without a scope counts, too: hosts without it fail.
        ({"ssd": "true"}, [], False),
        ({"ssd": "true"}, [{"other": "true"}], False),
        ({f"{SCOPE}__ssd": "true"}, [{"ssd": "true"}], True),
        ({f"{SCOPE}__ssd": "true"}, [], False),
        ({f"{SCOPE}__a__b": "1"}, [{"a:b": "1"}], True),
        ({"hw__cpu_policy": "shared"}, [], True),
        ({"cores": "= 2"}, [{"cores": "1,3"}], True),
        ({"cores": "= 2"}, [{"cores": "1"}], False),
        ({"cores": "= 2"}, [{"cores": "many"}], False),
        ({"ssd": "<or> 1 <or> true"}, [{"ssd": "true"}], True),
        ({"a": "1", "b": "2"}, [{"a": "1"}, {"b": "2"}], True),
        ({"a": "1", "b": "2"}, [{"a": "1"}, {"b": "3"}], False),
        ({"a": ""}, [{"a": ""}], True),
    ],
)
def test_keys(
    asked: dict[str, str], metadata: list[dict[str, str]], expected: bool
) -> None:
    spec = with_extra_specs(**asked)
    found = passes(AggregateInstanceExtraSpecsFilter(), a_host(), spec, metadata)
    assert found is expected


def test_invalid_number_is_named() -> None:
    spec = with_extra_specs(cores=">= many")
    with pytest.raises(Invalid, match=r"cores.*'>= many'.*'many'"):
        passes(AggregateInstanceExtraSpecsFilter(), a_host(), spec)


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    for key, requirement in asked.spec.flavor.extra_specs.items():
        name = key.removeprefix(SCOPE + ":")
        if ":" in name:
            continue
        values = [one for text in plan.metadata_of(host, name) for one in items(text)]
        if not any(is_match(value, requirement) for value in values):
            return False
    return True


@given(fleets(), specs())
def test_mask_equals_the_rule_per_host(plan: Plan, spec: RequestSpec) -> None:
    check(AggregateInstanceExtraSpecsFilter(), plan, request(spec), _reading)
