"""Hints are refused where no host can ever meet both, and only where both are asked."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import Invalid
from gantt.model import commands as c
from gantt.model.hosts import Instance
from gantt.model.spec import Flavor, RequestSpec
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.evaluation.known_drivers import Making, caching, filtering
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from tests.scheduler.desk import Desk, source

BOTH = ("SameHostFilter", "DifferentHostFilter")


def passing(driver: Making, filters: tuple[str, ...], **fields: Any) -> list[str]:
    """Of hosts h0, h1 and h2, with the instances i0, i1 and i2; asked twice."""
    desk = Desk(1)
    desk.add_hosts(3)
    for number in range(3):
        chosen = (Instance(f"i{number}"),)
        desk.submit(c.UpdateInstances(f"h{number}", chosen))
    asked = driver(policy_of(SchedulerOptions(enabled_filters=filters)))
    plain = RequestSpec(flavor=Flavor(vcpus=1))
    for spec in (plain, RequestSpec(flavor=Flavor(vcpus=1), **fields)):
        field = asked.feasible_hosts(
            desk.state, spec, source(False), now=desk.now, budget=Budget()
        )
    return field.hosts.names


def hints(near: tuple[str, ...], far: tuple[str, ...]) -> dict[str, Any]:
    return {"scheduler_hints": {"same_host": near, "different_host": far}}


@pytest.mark.parametrize("driver", [filtering, caching])
@pytest.mark.parametrize(
    ("near", "far", "hosts"),
    [
        (("i0", "i1"), ("i1",), ["h0"]),
        (("i0", "i1"), ("i1", "i2"), ["h0"]),
        (("i0", "i1", "i2"), ("i1",), ["h0", "h2"]),
        ((), ("i1",), ["h0", "h2"]),
        (("i1",), (), ["h1"]),
        (("gone", "i1"), ("i1",), []),
    ],
)
def test_hints_sharing_an_instance_are_accepted(
    driver: Making,
    near: tuple[str, ...],
    far: tuple[str, ...],
    hosts: list[str],
) -> None:
    assert passing(driver, BOTH, **hints(near, far)) == hosts


@pytest.mark.parametrize("driver", [filtering, caching])
@pytest.mark.parametrize(
    ("near", "far"),
    [(("i1",), ("i1",)), (("i1",), ("i2", "i1")), (("i1", "i2"), ("i2", "i1", "i0"))],
)
def test_hints_that_exclude_each_other_are_refused(
    driver: Making, near: tuple[str, ...], far: tuple[str, ...]
) -> None:
    with pytest.raises(Invalid, match=f"same_host .* one of {', '.join(near)}, and"):
        passing(driver, BOTH, **hints(near, far))


@pytest.mark.parametrize("driver", [filtering, caching])
def test_hints_of_disabled_filters_are_ignored(
    driver: Making,
) -> None:
    never = hints(("i1",), ("i1",))
    assert passing(driver, BOTH[:1], **never) == ["h1"]
    assert passing(driver, BOTH[1:], **never) == ["h0", "h2"]
    # Filters are skipped where hosts or nodes are forced.
    assert passing(driver, BOTH, force_hosts=("h1",), **never) == ["h1"]
    assert passing(driver, BOTH, force_nodes=("h2",), **never) == ["h2"]
