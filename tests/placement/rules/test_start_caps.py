"""So many bookings of a host may be unconfirmed at once, counted on the newest columns:
until they are confirmed, their lease ends or the host names them."""

from __future__ import annotations

import pytest

from gantt.errors import ClaimLost
from gantt.model import commands as c
from gantt.model.fleet import LABELS
from gantt.model.hosts import Instance, Service
from gantt.placement import start_caps
from tests.placement.fleet_desk import FleetDesk, claim, on, report, server, undone

LEASE = {"leased_for_us": 1_000_000}
FULL = r"the host starts as many at once as it may \(1, first host h1\)"


@pytest.fixture
def desk() -> FleetDesk:
    return FleetDesk(2)


def starts(desk: FleetDesk) -> list[int]:
    return [int(one) for one in desk.state.fleet.hosts.starting[:2]]


@pytest.mark.parametrize("lease", [LEASE, {}])
def test_no_more_than_the_option_says(desk: FleetDesk, lease: dict[str, int]) -> None:
    desk.do(claim("a", on(1, 1), max_starts=1, **lease))
    with pytest.raises(ClaimLost, match=FULL):
        desk.do(claim("b", on(2, 1), max_starts=1, **lease))
    assert desk.do(claim("b", on(2, 1, 2), max_starts=1, **lease)).taken == (1,)
    assert starts(desk) == [1, 1]
    desk.do(claim("c", on(3, 1), max_starts=0))
    desk.do(claim("d", on(4, 1), max_starts=None))
    assert starts(desk) == [3, 1]


def test_what_the_same_command_put_there_counts(desk: FleetDesk) -> None:
    with pytest.raises(ClaimLost, match="at once"):
        desk.do(claim("a", on(1, 1), on(2, 1), on(3, 1), max_starts=2))
    assert desk.claims() == []
    assert undone(desk, claim("a", on(1, 1), on(2, 1, 2), max_starts=1))


def test_a_label_of_many_digits_says_any_number(desk: FleetDesk) -> None:
    """As it may be told among the services, unread."""
    many = Service("h1", LABELS, disabled_reason=f"starts={'9' * 200}")
    desk.do(c.UpdateService(many))
    found = start_caps.left(desk.state.fleet, 1)
    assert found is not None
    assert found.tolist()[1] == 1
    desk.do(claim("a", on(1, 1), on(2, 1), max_starts=1))
    assert starts(desk) == [2, 0]


def test_a_confirmed_one_counts_no_more(desk: FleetDesk) -> None:
    for name, lease in (("a", LEASE), ("b", {})):
        desk.do(claim(name, on(ord(name), 1), max_starts=1, **lease))
        desk.do(c.ConfirmClaim(name))
        assert starts(desk) == [0, 0]


def test_one_that_its_host_names_counts_no_more(desk: FleetDesk) -> None:
    desk.do(claim("a", on(1, 1), max_starts=1))
    desk.do(c.UpdateInstances("h1", (Instance(server(1)),)))
    assert starts(desk) == [0, 0]


def test_one_whose_lease_ended_or_that_is_released_counts_no_more(
    desk: FleetDesk,
) -> None:
    desk.do(claim("a", on(1, 1), max_starts=1, **LEASE))
    desk.now += 2_000_000
    desk.do(c.ExpireClaims())
    assert starts(desk) == [0, 0]
    desk.do(claim("b", on(1, 1), max_starts=1, **LEASE))
    desk.do(c.ReleaseClaim("b"))
    assert starts(desk) == [0, 0]


def test_the_label_of_a_host_wins(desk: FleetDesk) -> None:
    desk.do(c.LabelHost("h1", {"starts": "2"}))
    desk.do(claim("a", on(1, 1), on(2, 1), max_starts=1))
    with pytest.raises(ClaimLost, match=FULL):
        desk.do(claim("b", on(3, 1), max_starts=0))
    desk.do(c.LabelHost("h1", {"starts": "0"}))
    desk.do(claim("b", on(3, 1), max_starts=1))
    desk.do(c.LabelHost("h1", {"starts": None}))
    with pytest.raises(ClaimLost, match=FULL):
        desk.do(claim("c", on(4, 1), max_starts=3))


def test_a_claim_that_replaces_another_on_its_host_needs_no_second_start(
    desk: FleetDesk,
) -> None:
    desk.do(claim("a", on(1, 1), max_starts=1, **LEASE))
    desk.do(claim("b", on(1, 1), max_starts=1, **LEASE))
    assert starts(desk) == [1, 0]


def test_a_host_that_comes_back_starts_what_it_is_promised(desk: FleetDesk) -> None:
    desk.do(claim("a", on(1, 1), max_starts=1))
    desk.do(c.DeleteHost("h2", "n2"))
    desk.do(report(2))
    assert starts(desk)[0] == 1
