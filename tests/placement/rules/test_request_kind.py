"""Whether a request for an instance is a repeat, a move or another one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import AlreadyClaimed, ClaimLost, Conflict
from gantt.model import commands as c
from gantt.model.answers import Candidate, Claimed, Repeat
from gantt.model.hosts import Instance, Service
from gantt.model.request_identity import RequestIdentity
from tests.placement.fleet_desk import (
    SIZE,
    FleetDesk,
    claim,
    on,
    server,
    undone,
    uuid_of,
)

SECOND = 1_000_000
HERE = Repeat(1, Candidate({uuid_of(1): SIZE}, {}))


def asked(
    name: str, *instances: c.InstanceClaim, digest: str = "same", **where: Any
) -> c.Claim:
    """Of a request; ``where``: as in RequestIdentity; the rest is the claim's."""
    of_claim = {one: where.pop(one) for one in ("leased_for_us",) if one in where}
    identity = RequestIdentity(digest, **where)
    return replace(claim(name, *instances, **of_claim), identity=identity)


@pytest.fixture
def desk() -> FleetDesk:
    """Instance 1 is on host 1, claim "one"; two more hosts are there."""
    desk = FleetDesk(3)
    desk.do(asked("one", on(1, 1)))
    return desk


@pytest.mark.parametrize("choices", [(2, 3), (9,), ()])
def test_the_same_request_is_answered_with_its_claim(
    desk: FleetDesk, choices: tuple[int, ...]
) -> None:
    """Also where it would find no host now."""
    again = asked("two", on(1, *choices))
    assert undone(desk, again)
    answer = desk.do(again)
    assert answer == Claimed("one", (0,), None, (1,), repeats=(HERE,))
    assert (desk.used(1), desk.used(2), desk.used(3)) == (SIZE, {}, {})
    desk.do(c.ReleaseClaim("one"))
    assert desk.used(1) == {} and not desk.claims()


@pytest.mark.parametrize(
    "where",
    [
        {"ignore_hosts": ("h2",)},
        {"force_hosts": ("H1",), "force_nodes": ("n1",)},
        {"destination_host": "h1", "destination_node": "n1"},
        {"retry_hosts": (("h1", "n2"),)},
    ],
)
def test_a_request_that_the_claim_satisfies_is_a_repeat(
    desk: FleetDesk, where: dict[str, Any]
) -> None:
    assert desk.do(asked("two", on(1, 2), **where)).is_repeat


@pytest.mark.parametrize(
    "where",
    [
        {"ignore_hosts": ("H1",)},
        {"force_hosts": ("h2",)},
        {"force_nodes": ("n2",)},
        {"destination_host": "H1"},
        {"destination_host": "h1", "destination_node": "n2"},
        {"retry_hosts": (("h1", "n1"),)},
    ],
)
@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("digest", ["same", "other"])
def test_a_request_that_excludes_the_host_is_a_move(
    desk: FleetDesk, where: dict[str, Any], replaces: bool, digest: str
) -> None:
    move = asked("two", on(1, 2), digest=digest, replaces=replaces, **where)
    assert not desk.do(move).is_repeat
    assert (desk.used(1), desk.used(2)) == (SIZE, SIZE)
    desk.do(c.ReleaseClaim("two"))
    assert (desk.used(1), desk.used(2)) == (SIZE, {})


@pytest.mark.parametrize("digest", ["same", "other"])
def test_an_instance_that_a_host_names_is_moved(desk: FleetDesk, digest: str) -> None:
    desk.now += SECOND
    desk.do(c.UpdateInstances("h3", (Instance(server(1)),)))
    assert not desk.do(asked("two", on(1, 2), digest=digest)).is_repeat
    assert (desk.used(1), desk.used(2)) == (SIZE, SIZE)


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize(
    "service", [Service("h2", disabled=True), Service("h2", forced_down=True)]
)
def test_nova_is_not_sent_to_a_host_that_went_down_since(
    desk: FleetDesk, replaces: bool, service: Service
) -> None:
    """As where the target of an evacuation fails, too: what runs stays booked."""
    desk.do(c.UpdateInstances("h1", (Instance(server(1)),)))
    desk.now += SECOND
    where = {"ignore_hosts": ("h1",), "replaces": replaces}
    move = asked("two", on(1, 2, 3), digest="evacuation", **where)
    desk.do(move)
    desk.do(c.UpdateService(service))
    assert desk.do(replace(move, claim="three")).is_repeat is not replaces
    booked = (desk.used(1), desk.used(2), desk.used(3))
    assert booked == ((SIZE, {}, SIZE) if replaces else (SIZE, SIZE, {}))


def test_a_move_is_repeated_as_well(desk: FleetDesk) -> None:
    """The host that it comes from names it, and did so before."""
    desk.do(c.UpdateInstances("h1", (Instance(server(1)),)))
    desk.now += SECOND
    move = asked("two", on(1, 2), digest="resize", ignore_hosts=("h1",))
    desk.do(move)
    desk.do(c.UpdateInstances("h1", (Instance(server(1), facts={"vm_state": "x"}),)))
    assert desk.do(replace(move, claim="three")).claim == "two"
    further = replace(move.identity, ignore_hosts=("h1", "h2"))
    third = replace(asked("four", on(1, 3)), identity=further)
    assert desk.do(third).claim == "four"


def test_allocations_that_went_to_another_consumer_leave_nothing_to_repeat(
    desk: FleetDesk,
) -> None:
    moved = (
        c.ConsumerAllocations(server(9), {uuid_of(1): SIZE}, "p", "u"),
        c.ConsumerAllocations(server(1), {}, "p", "u"),
    )
    desk.do(c.SetAllocations(moved))
    assert desk.do(asked("two", on(1, 2))).claim == "two"
    assert (desk.used(1), desk.used(2)) == (SIZE, SIZE)


@pytest.mark.parametrize("lease", [None, SECOND])
def test_another_request_is_refused(lease: int | None) -> None:
    desk = FleetDesk(2)
    desk.do(asked("one", on(1, 1), leased_for_us=lease))
    words = desk.refusal(asked("two", on(1, 2), digest="other"), AlreadyClaimed)
    assert words == (
        f"Instance {server(1)} is already on host h1, claim one, for another request. "
        "Nothing was claimed. Release that claim first, or, to move the instance, "
        "leave its host out with ignore_hosts."
    )
    desk.do(c.ReleaseClaim("one"), asked("two", on(1, 2), digest="other"))
    assert (desk.used(1), desk.used(2)) == ({}, SIZE)


@pytest.mark.parametrize("lease", [None, SECOND])
@pytest.mark.parametrize("size", [None, {}])
def test_another_request_replaces_where_it_is_asked_to(
    lease: int | None, size: dict[str, int] | None
) -> None:
    desk = FleetDesk(2)
    desk.do(asked("one", on(1, 1, size=size), leased_for_us=lease))
    full = on(1, 1, size=size and {"VCPU": 8})
    other = asked("two", full, digest="other", replaces=True)
    assert undone(desk, other)
    desk.do(other)
    assert [row.claim for row in desk.claims()] == ["two"]
    assert desk.host(1).claimed["instances"] == 1
    desk.do(c.ReleaseClaim("two"))
    assert desk.used(1) == {} and not desk.claims()


def test_a_claim_that_does_not_know_its_request_is_of_another() -> None:
    """Processes of the release before made it."""
    desk = FleetDesk(2)
    desk.do(claim("old", on(1, 1)))
    desk.refusal(asked("two", on(1, 2), digest=""), AlreadyClaimed)
    desk.refusal(asked("two", on(1, 2)), AlreadyClaimed)


def test_a_repeat_renews_the_lease_and_never_shortens_it() -> None:
    desk = FleetDesk(1)
    first = asked("one", on(1, 1), leased_for_us=10 * SECOND)
    desk.do(first)
    (row,) = desk.claims()
    shorter = replace(first, claim="two", leased_for_us=SECOND)
    assert desk.changes(shorter) == 0
    desk.do(shorter)
    assert [one.leased_until for one in desk.claims()] == [row.leased_until]
    desk.now += 5 * SECOND
    assert desk.do(replace(first, claim="three")).leased_until is not None
    assert desk.claims()[0].leased_until == desk.now + 10 * SECOND
    desk.do(c.ConfirmClaim("one"))
    desk.do(replace(first, claim="four"))
    assert desk.claims()[0].leased_until is None


def test_what_is_missing_joins_the_claim(desk: FleetDesk) -> None:
    answer = desk.do(asked("two", on(1, 3), on(2, 2)))
    assert (answer.claim, answer.taken) == ("one", (0, 0))
    assert answer.repeats == (HERE, None)
    desk.do(c.ReleaseClaim("one"))
    assert (desk.used(1), desk.used(2)) == ({}, {})


def test_one_request_is_answered_by_one_claim(desk: FleetDesk) -> None:
    desk.do(asked("two", on(2, 2)))
    words = desk.refusal(asked("three", on(1, 1), on(2, 2)), Conflict)
    assert "claim one, two" in words
    remote = replace(asked("four", on(1, 1), on(3, 3)), is_remote=True, leased_for_us=1)
    assert "Release it first" in desk.refusal(remote, Conflict)


def test_a_claim_whose_host_was_deleted_is_no_answer(desk: FleetDesk) -> None:
    desk.do(c.DeleteHost("h1", "n1"))
    words = desk.refusal(asked("two", on(1, 2)), AlreadyClaimed)
    assert "already on a host that was deleted, claim one" in words
    desk.do(c.ReleaseClaim("one"))
    assert desk.used(1) == {}
    desk.refusal(asked("three", on(1, 9)), ClaimLost)
