"""AggregateImagePropertiesIsolation: aggregates for some images."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.aggregate_image_properties_isolation import (
    AggregateImagePropertiesIsolation,
)
from tests.scheduler.filters.reading import check, items, passes, with_image
from tests.scheduler.fleets import Plain, Plan, a_host, fleets, request, specs


@pytest.mark.parametrize(
    ("properties", "metadata", "expected"),
    [
        ({}, [{"hw_disk_bus": "ide"}], True),
        ({"hw_disk_bus": "ide"}, [], True),
        ({"hw_disk_bus": "ide"}, [{"other": "x"}], True),
        ({"hw_disk_bus": "ide"}, [{"hw_disk_bus": "ide"}], True),
        ({"hw_disk_bus": "ide"}, [{"hw_disk_bus": "scsi"}], False),
        ({"hw_disk_bus": "ide"}, [{"hw_disk_bus": "scsi, ide"}], True),
        (
            {"hw_disk_bus": "ide"},
            [{"hw_disk_bus": "scsi"}, {"hw_disk_bus": "ide"}],
            True,
        ),
        ({"hw_disk_bus": "ide", "os_type": "linux"}, [{"os_type": "windows"}], False),
        ({"hw_cpu_cores": 4}, [{"hw_cpu_cores": "4,8"}], True),
        ({"hw_cpu_cores": 2}, [{"hw_cpu_cores": "4,8"}], False),
        ({"os_require_quiesce": True}, [{"os_require_quiesce": "True"}], True),
        ({"os_require_quiesce": True}, [{"os_require_quiesce": "true"}], False),
        ({"os_require_quiesce": False}, [{"os_require_quiesce": "True"}], True),
    ],
)
def test_properties(
    properties: dict[str, Any], metadata: list[dict[str, str]], expected: bool
) -> None:
    spec = with_image(**properties)
    found = passes(AggregateImagePropertiesIsolation(), a_host(), spec, metadata)
    assert found is expected


def test_every_host_passes_without_an_image() -> None:
    metadata = [{"hw_disk_bus": "ide"}]
    assert passes(AggregateImagePropertiesIsolation(), a_host(), None, metadata)


@pytest.mark.parametrize(
    ("namespace", "separator", "expected"),
    [("hw", "_", False), ("hw", ".", True), ("os", "_", True), (None, "_", False)],
)
def test_namespace_limits_the_keys(
    namespace: str | None, separator: str, expected: bool
) -> None:
    found = passes(
        AggregateImagePropertiesIsolation(),
        a_host(),
        with_image(hw_disk_bus="ide"),
        [{"hw_disk_bus": "scsi"}],
        aggregate_image_properties_isolation_namespace=namespace,
        aggregate_image_properties_isolation_separator=separator,
    )
    assert found is expected


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    image = asked.spec.image
    prefix = asked.options.aggregate_image_properties_isolation_namespace
    for key, value in ({} if image is None else image.properties).items():
        values = [one for text in plan.metadata_of(host, key) for one in items(text)]
        if prefix is not None and not key.startswith(prefix + "_"):
            continue
        if values and str(value) not in values:
            return False
    return True


@given(fleets(), specs(), st.sampled_from([None, "hw", "os"]))
def test_mask_equals_the_rule_per_host(
    plan: Plan, spec: RequestSpec, namespace: str | None
) -> None:
    asked = request(
        spec,
        aggregate_image_properties_isolation_namespace=namespace,
        aggregate_image_properties_isolation_separator="_",
    )
    check(AggregateImagePropertiesIsolation(), plan, asked, _reading)
