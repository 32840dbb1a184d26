"""IsolatedHostsFilter: some hosts for some images."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.model.spec import Image, RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.isolated_hosts import IsolatedHostsFilter
from tests.scheduler.filters.reading import check, passing
from tests.scheduler.fleets import (
    HOST_NAMES,
    Plain,
    Plan,
    a_host,
    fleets,
    request,
    specs,
)

PLAN = Plan([a_host("alone"), a_host("open")])
ISOLATED, OTHER = RequestSpec(image=Image(id="im1")), RequestSpec(image=Image(id="im2"))


@pytest.mark.parametrize(
    ("spec", "images", "hosts", "is_strict", "expected"),
    [
        # No isolated images: nothing runs on isolated hosts, unless all may.
        (OTHER, (), ("alone",), True, [False, True]),
        (OTHER, (), ("alone",), False, [True, True]),
        (OTHER, (), (), True, [True, True]),
        (ISOLATED, ("im1",), ("alone",), True, [True, False]),
        (OTHER, ("im1",), ("alone",), True, [False, True]),
        (ISOLATED, ("im1",), ("alone",), False, [True, False]),
        (OTHER, ("im1",), ("alone",), False, [True, True]),
        # An image that is isolated while no host is has nowhere to go.
        (ISOLATED, ("im1",), (), True, [False, False]),
        # Booted from a volume: no image, or one without an id.
        (RequestSpec(), ("im1",), ("alone",), True, [False, True]),
        (RequestSpec(image=Image()), ("im1",), ("alone",), True, [False, True]),
        # Case matters.
        (ISOLATED, ("im1",), ("Alone",), True, [False, False]),
    ],
)
def test_isolation(
    spec: RequestSpec,
    images: tuple[str, ...],
    hosts: tuple[str, ...],
    is_strict: bool,
    expected: list[bool],
) -> None:
    found = passing(
        IsolatedHostsFilter(),
        PLAN,
        spec,
        isolated_images=images,
        isolated_hosts=hosts,
        restrict_isolated_hosts_to_isolated_images=is_strict,
    )
    assert found == expected


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    options, image = asked.options, asked.spec.image
    is_strict = options.restrict_isolated_hosts_to_isolated_images
    is_isolated_host = host["host"] in options.isolated_hosts
    if not options.isolated_images:
        return not is_strict or not is_isolated_host
    is_isolated_image = image is not None and image.id in options.isolated_images
    if is_strict:
        return is_isolated_image == is_isolated_host
    return not is_isolated_image or is_isolated_host


@given(
    fleets(),
    specs(),
    st.lists(st.sampled_from(["im1", "im2"]), unique=True),
    st.lists(st.sampled_from(HOST_NAMES), unique=True),
    st.booleans(),
)
def test_mask_equals_the_rule_per_host(
    plan: Plan, spec: RequestSpec, images: list[str], hosts: list[str], is_strict: bool
) -> None:
    asked = request(
        spec,
        isolated_images=tuple(images),
        isolated_hosts=tuple(hosts),
        restrict_isolated_hosts_to_isolated_images=is_strict,
    )
    check(IsolatedHostsFilter(), plan, asked, _reading)
