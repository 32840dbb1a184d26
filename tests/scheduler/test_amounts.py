"""Room by what hosts report: the arrays say what the committer says of one host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.model.spec import Flavor, RequestSpec
from gantt.placement.reported_room import has_room
from gantt.scheduler.feasibility import amounts, overrides
from gantt.scheduler.hosts import Hosts, Taken
from gantt.state.column import Bools
from gantt.state.view import HostAmounts, View
from tests.scheduler.fleets import Plain, Plan, a_host, all_hosts, fleet, fleets

TAKEN = st.builds(
    Taken,
    st.integers(0, 70),
    st.sampled_from([0, 512, 40_000]),
    st.sampled_from([0, 10_240, 600_000]),
    st.just(0),
)


def amounts_of(taken: Taken) -> HostAmounts:
    return taken.vcpus, taken.memory_mb, taken.disk_mb


@given(fleets(), TAKEN)
def test_committer_agrees_with_the_search(plan: Plan, taken: Taken) -> None:
    state = plan.state()
    view, hosts, wanted = View(state), all_hosts(state), amounts_of(taken)
    expected = [has_room(view, row, wanted) for row in hosts.rows.tolist()]
    assert room(hosts, taken).tolist() == expected


@given(st.lists(TAKEN, max_size=3), TAKEN)
def test_committer_counts_what_it_placed_as_the_search_does(
    before: list[Taken], taken: Taken
) -> None:
    state = fleet([{**a_host(), "cpu_allocation_ratio": 4.0}])
    view, hosts, wanted = View(state), all_hosts(state), amounts_of(taken)
    for one in before:
        hosts.consume(0, one, "instance")
        view.add_to_host(0, amounts_of(one))
    assert room(hosts, taken).tolist() == [has_room(view, 0, wanted)]


@given(fleets(), TAKEN)
def test_remaining_amount_is_the_maximum_that_fits(plan: Plan, taken: Taken) -> None:
    hosts = all_hosts(plan.state())
    lacks = amounts.lacks(hosts, taken)
    fit = hosts.has_state.copy()
    for asked, most in lacks.values():
        fit &= most >= asked
    assert fit.tolist() == amounts.with_room(hosts, taken).tolist()


def room(hosts: Hosts, taken: Taken) -> Bools:
    """All three rules."""
    cpu, ram, disk = (hosts.cpu_ratio, hosts.ram_ratio, hosts.disk_ratio)
    found: Bools = (
        amounts.has_vcpus(hosts, cpu, taken.vcpus)
        & amounts.has_ram(hosts, ram, taken.memory_mb)
        & amounts.has_disk(hosts, disk, taken.disk_mb)
    )
    return found


@pytest.mark.parametrize(
    ("host", "taken", "passes"),
    [
        ({}, Taken(16, 32768, 512_000), True),
        ({}, Taken(17, 0, 0), False),
        ({}, Taken(0, 32769, 0), False),
        ({}, Taken(0, 0, 512_001), False),
        ({"vcpus_used": 48, "cpu_allocation_ratio": 4.0}, Taken(16, 0, 0), True),
        ({"vcpus_used": 49, "cpu_allocation_ratio": 4.0}, Taken(16, 0, 0), False),
        ({"vcpus_used": 1}, Taken(16, 0, 0), False),
        # A very high ratio takes an amount out of the decision.
        ({"free_ram_mb": -(10**9)}, Taken(0, 1, 0), False),
        (
            {"free_ram_mb": -(10**9), "ram_allocation_ratio": 3.4e38},
            Taken(0, 1, 0),
            True,
        ),
    ],
)
def test_room(host: Plain, taken: Taken, passes: bool) -> None:
    hosts = all_hosts(fleet([{**a_host(), **host}]))
    assert room(hosts, taken).tolist() == [passes]


def test_swap_counts_as_disk() -> None:
    spec = RequestSpec(flavor=Flavor(root_gb=1, ephemeral_gb=2, swap=3))
    assert amounts.wanted_disk_mb(spec) == 3 * 1024 + 3


@pytest.mark.parametrize(
    ("values", "expected"),
    [((), None), (("2", "1.5"), 1.5), (("2", "x"), None), (("inf",), None)],
)
def test_least_override_wins(values: tuple[str, ...], expected: float | None) -> None:
    assert overrides.least(values) == expected
