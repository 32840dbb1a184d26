"""Claims that keep relations by topology keys are judged on the newest columns: hosts
that were picked for several at once are not given to all."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import ClaimLost
from gantt.model import commands as c
from gantt.model.hosts import HostStats, Instance, Service
from gantt.model.relations import DomainTerm, Relation
from gantt.model.spec import InstanceGroup
from tests.placement.fleet_desk import FleetDesk, claim, on, server, undone

GROUP = InstanceGroup(server(900), "soft-affinity")
SPREAD = DomainTerm(Relation("spread", "rack"))
LOST = r"its domain may have no more instances now \(1, first host h1\)"


@pytest.fixture
def desk() -> FleetDesk:
    """Hosts 1 to 6: 1 to 3 in rack a, 4 and 5 in b, 6 in c."""
    found = FleetDesk(6)
    for number, rack in enumerate("aaabbc", start=1):
        found.do(c.LabelHost(f"h{number}", {"rack": rack}))
    return found


def asked(name: str, *instances: c.InstanceClaim, **more: object) -> c.Claim:
    return claim(name, *instances, **{"group": GROUP, "domains": (SPREAD,), **more})


def test_the_second_of_two_that_picked_one_rack_is_refused(desk: FleetDesk) -> None:
    desk.do(asked("one", on(1, 1)))
    with pytest.raises(ClaimLost, match=LOST):
        desk.do(asked("two", on(2, 1)))
    assert len(desk.claims()) == 1


def test_the_next_choice_is_taken_where_the_first_is_shut(desk: FleetDesk) -> None:
    desk.do(asked("one", on(1, 1)))
    assert desk.do(asked("two", on(2, 1, 2, 4))).taken == (2,)
    command = asked("three", on(3, 6))
    assert undone(desk, command)


def test_what_runs_counts_like_what_is_claimed(desk: FleetDesk) -> None:
    desk.do(asked("one", on(1, 1)))
    desk.do(c.UpdateInstances("h1", (Instance(server(1)),)))
    with pytest.raises(ClaimLost, match="its domain"):
        desk.do(asked("two", on(2, 2)))
    # Members that only the caller knows count where their hosts name them.
    desk.do(c.UpdateInstances("h4", (Instance(server(7)),)))
    told = replace(GROUP, members=frozenset({server(7)}))
    with pytest.raises(ClaimLost, match="its domain"):
        desk.do(asked("three", on(3, 5), group=told))
    desk.do(asked("three", on(3, 6), group=told))


def test_one_that_moves_does_not_count_where_it_leaves(desk: FleetDesk) -> None:
    desk.do(asked("one", on(1, 1)))
    desk.do(c.UpdateInstances("h1", (Instance(server(1)),)))
    desk.do(asked("move", on(1, 2)))


def test_without_a_group_the_instances_of_the_claim_count(desk: FleetDesk) -> None:
    desk.do(asked("one", on(1, 1), on(2, 4), on(3, 6), on(4, 2), group=None))
    with pytest.raises(ClaimLost, match=r"4 choices|its domain"):
        desk.do(asked("two", on(5, 1), on(6, 4), on(7, 2), group=None))
    assert {one.claim for one in desk.claims()} == {"one"}


def test_a_domain_that_was_left_out_does_not_count(desk: FleetDesk) -> None:
    desk.do(asked("one", on(1, 1)))
    term = DomainTerm(SPREAD.relation, frozenset({"b", "c"}))
    desk.do(asked("two", on(2, 1), domains=(term,)))
    with pytest.raises(ClaimLost):
        desk.do(asked("three", on(3, 1)))


def test_a_domain_that_came_since_counts_with_nothing(desk: FleetDesk) -> None:
    for number, host in enumerate((1, 4, 6), start=1):
        desk.do(asked(f"claim{number}", on(number, host)))
    desk.do(c.LabelHost("h3", {"rack": "new"}))
    with pytest.raises(ClaimLost, match="its domain"):
        desk.do(asked("next", on(9, 1)))
    desk.do(asked("next", on(9, 3)))


def test_domains_whose_hosts_are_all_off_do_not_count(desk: FleetDesk) -> None:
    desk.do(asked("one", on(1, 1)))
    desk.do(asked("two", on(2, 4)))
    with pytest.raises(ClaimLost, match="its domain"):
        desk.do(asked("three", on(3, 1)))
    desk.do(c.UpdateService(Service("h6", forced_down=True)))
    desk.do(asked("three", on(3, 1)))


def test_a_host_without_the_key_takes_none(desk: FleetDesk) -> None:
    desk.do(c.LabelHost("h1", {"rack": None}))
    with pytest.raises(ClaimLost, match="its domain"):
        desk.do(asked("one", on(1, 1)))


def test_apart_counts_the_other_group(desk: FleetDesk) -> None:
    other = InstanceGroup(server(901), "soft-affinity")
    desk.do(claim("other", on(1, 1), group=other))
    term = DomainTerm(Relation("apart", "rack", group=other.uuid))
    with pytest.raises(ClaimLost, match="its domain"):
        desk.do(asked("one", on(2, 2), domains=(term,)))
    desk.do(asked("one", on(2, 4), on(3, 5), domains=(term,)))


def test_several_relations_are_kept_by_all_together(desk: FleetDesk) -> None:
    for number in range(1, 7):
        power = "x" if number in (1, 4) else "y"
        desk.do(c.LabelHost(f"h{number}", {"power": power}))
    terms = SPREAD, DomainTerm(Relation("distinct", "power", 2))
    with pytest.raises(ClaimLost, match="can no longer be spread by power"):
        desk.do(asked("one", on(1, 2), on(2, 5), on(3, 6), domains=terms))
    with pytest.raises(ClaimLost, match="can no longer be spread by rack"):
        desk.do(asked("one", on(1, 1), on(2, 2), domains=terms))
    desk.do(asked("one", on(1, 1), on(2, 5), on(3, 6), domains=terms))


def test_of_a_service_with_several_nodes_the_claimed_one_counts() -> None:
    """As with Ironic: one service host, a node in each rack."""
    desk = FleetDesk(2)
    desk.do(c.SyncNames((), ("CUSTOM_RACK_A", "CUSTOM_RACK_B")))
    for number, rack in ((3, "A"), (4, "B"), (5, "B")):
        command = c.UpdateHost(
            "ironic",
            f"n{number}",
            HostStats(),
            new_provider_uuid=f"11111111-1111-4111-8111-{number:012d}",
        )
        stats: dict[str, Any] = {"vcpus": 8, "memory_mb": 8192, "local_gb": 100}
        stats |= {"free_ram_mb": 8192, "free_disk_gb": 100}
        stats |= {"cpu_allocation_ratio": 1.0, "traits": (f"CUSTOM_RACK_{rack}",)}
        desk.do(replace(command, stats=HostStats(**stats)))
    desk.do(asked("one", on(1, 3)))
    desk.do(c.UpdateInstances("ironic", (Instance(server(1)),)))
    with pytest.raises(ClaimLost, match="its domain"):
        desk.do(asked("two", on(2, 3)))
    desk.do(asked("two", on(2, 4)))
    with pytest.raises(ClaimLost, match="its domain"):
        desk.do(
            asked(
                "three", on(3, 5), domains=(DomainTerm(Relation("distinct", "rack")),)
            )
        )
