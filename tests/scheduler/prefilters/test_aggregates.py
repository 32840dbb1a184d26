"""Pre-filters that choose aggregates: zones, projects, isolation."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import Invalid, NoValidHost
from gantt.model.spec import Destination, Flavor, Image, RequestSpec, ResourceGroup
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import prefilters
from gantt.scheduler.request.prefilters.context import PrefilterContext
from tests.scheduler.fleets import Plain, fleet


def aggregate(uuid: str, **metadata: str) -> Plain:
    named = {key.replace("__", ":"): value for key, value in metadata.items()}
    return {"uuid": uuid, "hosts": [], "metadata": named}


KNOWN = fleet(
    aggregates=[
        aggregate("az1", availability_zone="z1"),
        aggregate("az1-more", availability_zone="z1", filter_tenant_id="p1"),
        aggregate("az2", availability_zone="z2"),
        aggregate("p1", filter_tenant_id_2="p1", filter_tenant_id="p9"),
        aggregate("p2", filter_tenant_id="p2,p1"),
        aggregate("other", tenant="p1"),
        aggregate("win", trait__CUSTOM_WIN="required"),
        aggregate("both", trait__CUSTOM_WIN="required", trait__CUSTOM_SSD="required"),
        aggregate("loose", trait__CUSTOM_WIN="preferred"),
    ]
).fleet


def destination(spec: RequestSpec, **options: Any) -> Destination:
    found = prefilters.apply(
        spec, PrefilterContext(KNOWN, SchedulerOptions(**options), bool)
    )
    return found.requested_destination or Destination()


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("z1", (frozenset({"az1", "az1-more"}),)),
        ("z2", (frozenset({"az2"}),)),
        ("nova", ()),
        ("", ()),
        (None, ()),
    ],
)
def test_zone_maps_to_its_aggregates(
    zone: str | None, expected: tuple[frozenset[str], ...]
) -> None:
    assert destination(RequestSpec(availability_zone=zone)).aggregates == expected


def test_requested_destination_applies_too() -> None:
    asked = Destination("h1", aggregates=(frozenset({"mine"}),))
    spec = RequestSpec(availability_zone="z2", requested_destination=asked)
    found = destination(spec)
    assert found.host == "h1"
    assert found.aggregates == (frozenset({"mine"}), frozenset({"az2"}))
    assert spec.requested_destination == asked


@pytest.mark.parametrize(
    ("project", "expected"),
    [
        ("p1", (frozenset({"az1-more", "p1"}),)),
        ("p9", (frozenset({"p1"}),)),
        # A list is a name like any other.
        ("p2", ()),
        (None, ()),
    ],
)
def test_project_maps_to_its_aggregates(
    project: str | None, expected: tuple[frozenset[str], ...]
) -> None:
    spec = RequestSpec(project_id=project)
    found = destination(spec, limit_tenants_to_placement_aggregate=True)
    assert found.aggregates == expected
    assert destination(spec).aggregates == ()


def test_project_aggregates_come_before_zones() -> None:
    spec = RequestSpec(project_id="p9", availability_zone="z2")
    found = destination(spec, limit_tenants_to_placement_aggregate=True)
    assert found.aggregates == (frozenset({"p1"}), frozenset({"az2"}))


def test_project_without_a_required_aggregate_is_refused() -> None:
    options = {
        "limit_tenants_to_placement_aggregate": True,
        "placement_aggregate_required_for_tenants": True,
    }
    with pytest.raises(NoValidHost, match="project p7"):
        destination(RequestSpec(project_id="p7"), **options)
    assert destination(RequestSpec(project_id="p1"), **options).aggregates
    options["limit_tenants_to_placement_aggregate"] = False
    assert not destination(RequestSpec(project_id="p7"), **options).aggregates


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (RequestSpec(), {"win", "both"}),
        (
            RequestSpec(flavor=Flavor(extra_specs={"trait:CUSTOM_WIN": "required"})),
            {"both"},
        ),
        (
            RequestSpec(flavor=Flavor(extra_specs={"trait:CUSTOM_WIN": "forbidden"})),
            {"win", "both"},
        ),
        (
            RequestSpec(
                flavor=Flavor(extra_specs={"trait1:CUSTOM_SSD": "required"}),
                image=Image(properties={"traits_required": ["CUSTOM_WIN"]}),
            ),
            set(),
        ),
        (
            RequestSpec(
                requested_resources=(
                    ResourceGroup("x", {"VGPU": 1}, frozenset({"CUSTOM_WIN"})),
                )
            ),
            {"both"},
        ),
    ],
)
def test_isolated_aggregates_need_matching_traits(
    spec: RequestSpec, expected: set[str]
) -> None:
    found = destination(spec, enable_isolated_aggregate_filtering=True)
    assert found.forbidden_aggregates == expected
    assert not destination(spec).forbidden_aggregates


def test_invalid_request_has_no_traits() -> None:
    spec = RequestSpec(flavor=Flavor(extra_specs={"trait:CUSTOM_WIN": "x"}))
    with pytest.raises(Invalid, match="trait:CUSTOM_WIN"):
        destination(spec, enable_isolated_aggregate_filtering=True)
