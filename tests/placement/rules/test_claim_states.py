"""Each state of a claim, and what comes of it by each thing that can befall it.

An outcome says: refused or done; each claim that is left (of the instance or another
holder), with its host and the VCPUs that it counts there; what the instance has of the
VCPUs; what lists of instances and of placements say of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import GanttError
from gantt.model import commands as c
from gantt.model.fleet_lists import InstanceQuery
from gantt.model.hosts import Instance
from gantt.model.placements import PlacedQuery
from gantt.model.request_identity import Booked
from gantt.model.rows import NO_HOST, BookingRow
from gantt.placement import named_placements
from gantt.placement.known_instances import known_instances
from gantt.placement.queries import amounts_of
from tests.placement.fleet_desk import (
    SIZE,
    FleetDesk,
    claim,
    moving,
    on,
    report,
    server,
    uuid_of,
)
from tests.placement.rules.test_topology_agents import agent
from tests.placement.rules.test_topology_claims import (
    SECOND,
    WITH_NIC,
    cells,
    desk_of,
    pinned,
    saved,
)

HOUR = 3_600 * SECOND
NAME = Booked("web", "web", "", "plan", "digest")


def plain_of(number: int = 1, **more: Any) -> c.Book:
    """Instance ``number`` as a thing that is called web."""
    named = replace(on(number, 1), booked=NAME)
    return c.Book((claim("one", named, **more),))


OUTCOMES = {
    "leased": """
confirm: done; kept on h1 of 2; has 2; claimed
release: done; no claim; has 0; unknown
expire: done; no claim; has 0; unknown
named: done; no claim; has 2; named
named elsewhere: done; leased on h1 of 2; has 2; leased
report: done; no claim; has 2; named
gone: done; no claim; has 2; allocated
no host: done; no claim; has 0; unknown
written alike: done; leased on h1 of 2; has 2; leased
written: done; kept on h1 of 2; has 1; claimed
moved: done; no claim; has 2; allocated
deleted: done; no claim; has 0; unknown
drop: done; leased on h1 of 2; has 2; leased
unbook: done; no claim; has 0; unknown
""",
    "confirmed": """
confirm: done; kept on h1 of 2; has 2; claimed
release: done; no claim; has 0; unknown
expire: done; kept on h1 of 2; has 2; claimed
named: done; no claim; has 2; named
named elsewhere: done; kept on h1 of 2; has 2; claimed
report: done; no claim; has 2; named
gone: done; no claim; has 2; allocated
no host: done; kept on nowhere of 2; has 2; claimed
written alike: done; kept on h1 of 2; has 2; claimed
written: done; kept on h1 of 2; has 1; claimed
moved: done; no claim; has 2; allocated
deleted: done; no claim; has 0; unknown
drop: done; kept on h1 of 2; has 2; claimed
unbook: done; no claim; has 0; unknown
""",
    "is_open": """
confirm: done; kept on h1 of 2; has 0; claimed
release: done; over on h1 of 2; has 0; over
expire: done; over on h1 of 2; has 0; over
named: done; open on h1 of 2; has 0; leased
named elsewhere: done; open on h1 of 2; has 0; leased
report: done; open on h1 of 2; has 0; leased
gone: done; open on h1 of 2; has 0; leased
no host: done; over on nowhere of 2; has 0; over
written alike: UnknownProvider; open on h1 of 2; has 0; leased
written: UnknownProvider; open on h1 of 2; has 0; leased
moved: UnknownProvider; open on h1 of 2; has 0; leased
deleted: NotFound; open on h1 of 2; has 0; leased
drop: done; no claim; has 0; unknown
unbook: done; over on h1 of 2; has 0; over
""",
    "remote": """
confirm: done; kept on h1 of 2; has 0; claimed
release: done; over on h1 of 2; has 0; over
expire: done; kept on h1 of 2; has 0; claimed
named: done; no claim; has 0; named
named elsewhere: done; kept on h1 of 2; has 0; claimed
report: done; no claim; has 0; named
gone: done; no claim; has 0; unknown
no host: done; kept on nowhere of 2; has 0; claimed
written alike: UnknownProvider; kept on h1 of 2; has 0; claimed
written: UnknownProvider; kept on h1 of 2; has 0; claimed
moved: UnknownProvider; kept on h1 of 2; has 0; claimed
deleted: NotFound; kept on h1 of 2; has 0; claimed
drop: done; kept on h1 of 2; has 0; claimed
unbook: done; over on h1 of 2; has 0; over
""",
    "over": """
confirm: ClaimExpired; over on h1 of 2; has 0; over
release: NotFound; over on h1 of 2; has 0; over
expire: done; over on h1 of 2; has 0; over
named: done; over on h1 of 2; has 0; over
named elsewhere: done; over on h1 of 2; has 0; over
report: done; over on h1 of 2; has 0; over
gone: done; over on h1 of 2; has 0; over
no host: done; over on nowhere of 2; has 0; over
written alike: UnknownProvider; over on h1 of 2; has 0; over
written: UnknownProvider; over on h1 of 2; has 0; over
moved: UnknownProvider; over on h1 of 2; has 0; over
deleted: NotFound; over on h1 of 2; has 0; over
drop: done; no claim; has 0; unknown
unbook: NotFound; over on h1 of 2; has 0; over
""",
    "without_host": """
confirm: done; kept on nowhere of 2; has 2; claimed
release: done; no claim; has 0; unknown
expire: done; kept on nowhere of 2; has 2; claimed
named: done; no claim; has 2; named
named elsewhere: done; no claim; has 2; named
report: done; no claim; has 2; named
gone: done; no claim; has 2; allocated
no host: NotFound; kept on nowhere of 2; has 2; claimed
written alike: done; kept on nowhere of 2; has 2; claimed
written: done; no claim; has 1; allocated
moved: done; no claim; has 2; allocated
deleted: done; no claim; has 0; unknown
drop: done; kept on nowhere of 2; has 2; claimed
unbook: done; no claim; has 0; unknown
""",
    "held": """
confirm: ClaimExpired; held kept named on h1 of 2, kept on h2 of 2; has 4; claimed
release: done; kept on h2 of 2; has 4; claimed
expire: done; held kept named on h1 of 2, kept on h2 of 2; has 4; claimed
named: done; held kept named on h1 of 2, kept on h2 of 2; has 4; claimed
named elsewhere: done; held kept named on h1 of 2, kept named on h2 of 2; has 4; claimed
report: done; kept on h2 of 2; has 4; claimed
gone: done; held kept named on h1 of 2, kept on h2 of 2; has 4; claimed
no host: done; held kept named on nowhere of 2, kept on h2 of 2; has 4; claimed
written alike: done; held kept named on h1 of 2; has 2; allocated
written: done; held kept named on h1 of 2; has 1; allocated
moved: done; kept on h2 of 2; has 2; claimed
deleted: done; no claim; has 0; unknown
drop: done; held kept named on h1 of 2, kept on h2 of 2; has 4; claimed
unbook: done; held kept named on h1 of 2; has 2; allocated
""",
    "counted": """
confirm: done; kept counted on h1 of 2; has 2; claimed
release: done; no claim; has 0; unknown
expire: done; kept counted on h1 of 2; has 2; claimed
named: done; kept counted named on h1 of 0; has 2; claimed
named elsewhere: done; kept counted on h1 of 2; has 2; claimed
report: done; no claim; has 2; named
gone: done; kept counted named on h1 of 0; has 2; claimed
no host: done; kept on nowhere of 2; has 2; claimed
written alike: done; kept counted on h1 of 2; has 2; claimed
written: done; kept counted on h1 of 2; has 1; claimed
moved: done; no claim; has 2; allocated
deleted: done; no claim; has 0; unknown
drop: done; kept counted on h1 of 2; has 2; claimed
unbook: done; no claim; has 0; unknown
""",
    "running": """
confirm: done; kept running named on h1 of 0; has 2; named
release: done; no claim; has 0; named
expire: done; kept running named on h1 of 0; has 2; named
named: done; kept running named on h1 of 0; has 2; named
named elsewhere: done; kept running named on h1 of 0; has 2; named
report: done; kept running named on h1 of 0; has 2; named
gone: done; kept running named on h1 of 0; has 2; named
no host: done; kept running named on nowhere of 0; has 2; named
written alike: done; kept running named on h1 of 0; has 2; named
written: done; kept running named on h1 of 0; has 1; named
moved: UnknownProvider; kept running named on h1 of 0; has 2; named
deleted: done; no claim; has 0; named
drop: done; kept running named on h1 of 0; has 2; named
unbook: done; no claim; has 0; named
""",
    "foreign": """
confirm: done; kept on h1 of 2; has 2; claimed
release: Conflict; kept on h1 of 2; has 2; claimed
expire: done; kept on h1 of 2; has 2; claimed
named: done; kept named on h1 of 2; has 2; claimed
named elsewhere: done; kept on h1 of 2; has 2; claimed
report: done; no claim; has 2; named
gone: done; kept named on h1 of 2; has 2; claimed
no host: done; no claim; has 2; allocated
written alike: done; kept on h1 of 2; has 2; claimed
written: done; kept on h1 of 1; has 1; claimed
moved: done; kept on h2 of 2; has 2; claimed
deleted: done; no claim; has 0; unknown
drop: done; kept on h1 of 2; has 2; claimed
unbook: Conflict; kept on h1 of 2; has 2; claimed
""",
    "plain_leased": """
confirm: done; kept on h1 of 2; has 2; claimed; web placed
release: done; no claim; has 0; unknown
expire: done; no claim; has 0; unknown
named: done; no claim; has 2; named; web running
named elsewhere: done; leased on h1 of 2; has 2; leased; web running
report: done; no claim; has 2; named; web running
gone: done; no claim; has 2; allocated; web ended
no host: done; no claim; has 0; unknown
written alike: done; leased on h1 of 2; has 2; leased; web leased
written: done; kept on h1 of 2; has 1; claimed; web placed
moved: done; no claim; has 2; allocated; web ended
deleted: done; no claim; has 0; unknown
drop: done; leased on h1 of 2; has 2; leased; web leased
unbook: done; no claim; has 0; unknown
""",
    "plain_placed": """
confirm: done; kept on h1 of 2; has 2; claimed; web placed
release: done; no claim; has 0; unknown
expire: done; kept on h1 of 2; has 2; claimed; web placed
named: done; no claim; has 2; named; web running
named elsewhere: done; kept on h1 of 2; has 2; claimed; web running
report: done; no claim; has 2; named; web running
gone: done; no claim; has 2; allocated; web ended
no host: done; kept on nowhere of 2; has 2; claimed; web placed
written alike: done; kept on h1 of 2; has 2; claimed; web placed
written: done; kept on h1 of 2; has 1; claimed; web placed
moved: done; no claim; has 2; allocated; web ended
deleted: done; no claim; has 0; unknown
drop: done; kept on h1 of 2; has 2; claimed; web placed
unbook: done; no claim; has 0; unknown
""",
    "plain_running": """
confirm: ClaimExpired; no claim; has 2; named; web running
release: NotFound; no claim; has 2; named; web running
expire: done; no claim; has 2; named; web running
named: done; no claim; has 2; named; web running
named elsewhere: done; no claim; has 2; named; web running
report: done; no claim; has 2; named; web running
gone: done; no claim; has 2; allocated; web ended
no host: done; no claim; has 2; allocated; web ended
written alike: done; no claim; has 2; named; web running
written: done; no claim; has 1; named; web running
moved: done; no claim; has 2; named; web running
deleted: done; no claim; has 0; named; web running
drop: done; no claim; has 2; named; web running
unbook: done; no claim; has 0; named
""",
}


# -- the states ------------------------------------------------------------------------


def leased() -> FleetDesk:
    desk = FleetDesk(2)
    desk.do(claim("one", on(1, 1), leased_for_us=HOUR))
    return desk


def confirmed() -> FleetDesk:
    desk = leased()
    desk.do(c.ConfirmClaim("one"))
    return desk


def remote_desk() -> FleetDesk:
    desk = FleetDesk()
    for number in (1, 2):
        desk.do(report(number, uuid=uuid_of(number), writes_books=False))
    return desk


def is_open() -> FleetDesk:
    """The remote Placement is being asked."""
    desk = remote_desk()
    desk.do(claim("one", on(1, 1), leased_for_us=HOUR, is_remote=True))
    return desk


def remote() -> FleetDesk:
    desk = is_open()
    desk.do(c.ConfirmClaim("one"))
    return desk


def over() -> FleetDesk:
    desk = remote()
    desk.do(c.ReleaseClaim("one"))
    return desk


def without_host() -> FleetDesk:
    desk = confirmed()
    desk.do(c.DeleteHost("h1", "n1"))
    return desk


def held() -> FleetDesk:
    """The instance moves to host 2 before a report counts its cells on host 1."""
    desk = desk_of(2)
    desk.do(pinned("one", on(1, 1)))
    desk.do(moving(pinned("move", on(1, 2)), 1))
    return desk


def counted() -> FleetDesk:
    """The numbers of a report contain its CPUs; the host has not named it."""
    desk = desk_of(2)
    desk.do(pinned("one", on(1, 1)))
    desk.do(report(1, cpu_allocation_ratio=1.0, numa_topology=cells(0, 1)))
    return desk


def running() -> FleetDesk:
    """An agent counts its amounts, and not which device it has."""
    desk = desk_of()
    agent(desk, 1)
    desk.do(claim("one", on(1, 1), wanted=WITH_NIC))
    agent(desk, 2, instances=(server(1),))
    return desk


def foreign() -> FleetDesk:
    """Another program wrote its allocations."""
    desk = FleetDesk(2)
    for number in (1, 2):
        desk.do(saved(number, 1, vcpus_used=1))
    desk.do(written(1, generation=None))
    return desk


def plain_leased() -> FleetDesk:
    desk = FleetDesk(2)
    desk.do(plain_of(leased_for_us=HOUR))
    return desk


def plain_placed() -> FleetDesk:
    desk = FleetDesk(2)
    desk.do(plain_of())
    return desk


def plain_running() -> FleetDesk:
    desk = plain_placed()
    desk.do(named())
    return desk


# -- what befalls it -------------------------------------------------------------------


def named() -> c.UpdateInstances:
    return c.UpdateInstances("h1", (Instance(server(1)),))


def written(number: int, vcpus: int = 2, **more: Any) -> c.SetAllocations:
    """Another program writes its allocations."""
    size = {uuid_of(number): {**SIZE, "VCPU": vcpus}}
    one = c.ConsumerAllocations(server(1), size, "project", "user", **more)
    return c.SetAllocations((one,))


def claim_of(desk: FleetDesk) -> str:
    rows = desk.claims()
    return rows[0].claim if rows else "one"


def expire(desk: FleetDesk) -> None:
    desk.now += 2 * HOUR
    desk.do(c.ExpireClaims())


def report_of(desk: FleetDesk) -> None:
    """Host 1 names the instance, and a later report counts it."""
    desk.now += 10 * SECOND
    desk.do(named(), c.UpdateInstances("h1", (Instance(server(1), {}, desk.now),)))
    stats = desk.state.fleet.hosts.stats[0]
    books = bool(desk.state.providers.row_by_id)
    more = {"numa_topology": cells(0, 1)} if "numa_topology" in stats else {}
    at = desk.now // SECOND + 5
    desk.now += 10 * SECOND
    desk.do(saved(1, at, writes_books=books, **more))


def gone(desk: FleetDesk) -> None:
    """Host 1 named it, and does so no longer."""
    desk.do(named(), c.SyncInstances("h1", ()))


EVENTS: dict[str, Callable[[FleetDesk], object]] = {
    "confirm": lambda desk: desk.do(c.ConfirmClaim(claim_of(desk))),
    "release": lambda desk: desk.do(c.ReleaseClaim(claim_of(desk))),
    "expire": expire,
    "named": lambda desk: desk.do(named()),
    "named elsewhere": lambda desk: desk.do(
        c.UpdateInstances("h2", (Instance(server(1)),))
    ),
    "report": report_of,
    "gone": gone,
    "no host": lambda desk: desk.do(c.DeleteHost("h1", "n1")),
    "written alike": lambda desk: desk.do(written(1)),
    "written": lambda desk: desk.do(written(1, 1)),
    "moved": lambda desk: desk.do(written(2)),
    "deleted": lambda desk: desk.do(c.DeleteAllocations(server(1))),
    "drop": lambda desk: desk.do(c.DropClaim(claim_of(desk))),
    "unbook": lambda desk: desk.do(c.Unbook((server(1),))),
}
STATES = {
    one.__name__: one
    for one in (
        leased,
        confirmed,
        is_open,
        remote,
        over,
        without_host,
        held,
        counted,
        running,
        foreign,
        plain_leased,
        plain_placed,
        plain_running,
    )
}


def words(row: BookingRow) -> str:
    found = []
    if row.held_by is not None:
        found.append("held")
    if row.is_over:
        found.append("over")
    elif row.is_open:
        found.append("open")
    elif row.leased_until is not None:
        found.append("leased")
    else:
        found.append("kept")
    if row.is_running:
        found.append("running")
    elif row.is_counted:
        found.append("counted")
    if row.counted_at is not None:
        found.append("named")
    host = "nowhere" if row.host_id == NO_HOST else f"h{row.host_id}"
    return " ".join([*found, "on", host, "of", str(row.vcpus)])


def outcome(desk: FleetDesk, event: Callable[[FleetDesk], object]) -> str:
    said = "done"
    try:
        event(desk)
    except GanttError as error:
        said = type(error).__name__
    claims = ", ".join(map(words, desk.claims())) or "no claim"
    took = sum(one.get("VCPU", 0) for one in amounts_of(desk.state, server(1)).values())
    seen, _ = known_instances(desk.state, InstanceQuery(uuid=server(1)))
    state = ", ".join(one.state for one in seen) or "unknown"
    placed, _ = named_placements.placements(desk.state, PlacedQuery())
    called = "".join(f"; {one.name} {one.state}" for one in placed)
    return f"{said}; {claims}; has {took}; {state}{called}"


@pytest.mark.parametrize("state", STATES)
def test_what_comes_of_a_claim(state: str) -> None:
    found = [f"{name}: {outcome(STATES[state](), do)}" for name, do in EVENTS.items()]
    assert found == OUTCOMES[state].strip().splitlines()
