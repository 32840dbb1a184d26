"""Aggregates, instances, services and groups: each takes a statement as it comes."""

from __future__ import annotations

import pytest

from gantt.errors import ClaimLost, Conflict, GanttError, Invalid
from gantt.model import commands as c
from gantt.model import rows as t
from gantt.model.fleet_lists import HostAggregateQuery
from gantt.model.hosts import HostAggregate, Instance, ServerGroup, Service
from gantt.model.spec import InstanceGroup
from gantt.placement import fleet_pages, group_rules
from gantt.state.check import problems
from tests.placement.fleet_desk import (
    FleetDesk,
    claim,
    on,
    report,
    server,
    undone,
    uuid_of,
)

GOLD, SILVER = uuid_of(901), uuid_of(902)


def aggregates(
    *hosts: str, number: int | None = 1, **metadata: str
) -> c.Command[object]:
    one = HostAggregate(GOLD, "gold", number, frozenset(hosts), metadata)
    return c.SetHostAggregates((one,))


def test_providers_join_and_leave_with_their_hosts() -> None:
    desk = FleetDesk(3)
    desk.do(aggregates("h1", "h2", "unknown", ssd="true"))
    assert [desk.aggregates(n) for n in (1, 2, 3)] == [{GOLD}, {GOLD}, set()]
    generations = [desk.generation(uuid_of(n)) for n in (1, 2, 3)]
    assert generations == [2, 2, 1]
    assert desk.changes(aggregates("h1", "h2", "unknown", ssd="true")) == 0
    # Only hosts that joined or left are touched: what a client wrote otherwise stays.
    desk.do(c.SetAggregates(uuid_of(1), (SILVER,)), aggregates("h1", "h3"))
    assert [desk.aggregates(n) for n in (1, 2, 3)] == [{SILVER}, set(), {GOLD}]
    assert fleet_pages.host_aggregates(desk.state, HostAggregateQuery())[0] == (
        HostAggregate(GOLD, "gold", 1, frozenset({"h1", "h3"}), {}),
    )


@pytest.mark.parametrize("name", [{"uuid": GOLD}, {"number": 1}])
def test_an_aggregate_goes_with_its_members(name: dict[str, str | int]) -> None:
    desk = FleetDesk(2)
    command = c.DeleteHostAggregate(**name)  # type: ignore[arg-type]
    desk.do(aggregates("h1", "h2"), command)
    assert desk.aggregates(1) == desk.aggregates(2) == set()
    assert fleet_pages.host_aggregates(desk.state, HostAggregateQuery())[0] == ()
    assert desk.changes(command) == 0


def test_the_last_statement_about_an_aggregate_counts() -> None:
    desk = FleetDesk(2)
    both = (
        HostAggregate(GOLD, "gold", 1, frozenset({"h1"})),
        HostAggregate(GOLD, "gold", 1, frozenset({"h2"})),
    )
    desk.do(c.SetHostAggregates(both))
    assert (desk.aggregates(1), desk.aggregates(2)) == (set(), {GOLD})


def other(number: int) -> HostAggregate:
    return HostAggregate(SILVER, "silver", number)


REFUSALS: list[tuple[c.Command[object], type[GanttError], str]] = [
    (c.DeleteHostAggregate(), Invalid, "by its uuid or by its id"),
    (c.SetHostAggregates((other(1),)), Conflict, f"belongs to aggregate {GOLD}"),
    (
        c.SetHostAggregates((HostAggregate(uuid_of(903), id=5), other(5))),
        Conflict,
        "same id",
    ),
    (
        c.UpdateInstances("h1", (Instance(server(1), {"x": object()}),)),
        Invalid,
        "not JSON",
    ),
    (c.UpdateService(Service("h1", last_seen_up=2**63)), Invalid, "last_seen_up"),
    (
        c.SetServerGroup(ServerGroup("g", max_server_per_host=0)),
        Invalid,
        "from 1 to",
    ),
]


@pytest.mark.parametrize(("command", "kind", "words"), REFUSALS)
def test_refusals(
    command: c.Command[object], kind: type[GanttError], words: str
) -> None:
    desk = FleetDesk(1)
    desk.do(aggregates("h1"))
    assert words in desk.refusal(command, kind)


def where(desk: FleetDesk) -> dict[str, str]:
    return {row.uuid: row.host for row in desk.state.fleet.instances.rows()}


def test_hosts_name_instances() -> None:
    desk = FleetDesk(2)
    first = c.UpdateInstances("h1", (Instance(server(1), {"flavorid": "1"}),))
    desk.do(first, c.UpdateInstances("h1", (Instance(server(2)),)))
    assert where(desk) == {server(1): "h1", server(2): "h1"}
    assert desk.changes(first) == 0
    # It moved; a late goodbye of the host that it left does not matter.
    desk.do(
        c.UpdateInstances("h2", (Instance(server(1), {"flavorid": "2"}),)),
        c.DeleteInstance("h1", server(1)),
    )
    assert where(desk) == {server(1): "h2", server(2): "h1"}
    desk.do(c.DeleteInstance("h1", server(2)))
    assert where(desk) == {server(1): "h2"}
    assert desk.changes(c.DeleteInstance("h1", server(2))) == 0


def test_a_host_has_exactly_these_instances() -> None:
    desk = FleetDesk(2)
    desk.do(c.UpdateInstances("h1", (Instance(server(1), {"a": 1}),)))
    assert desk.do(c.SyncInstances("h1", (server(1),))) is True
    assert desk.do(c.SyncInstances("h1", (server(1), server(2)))) is False
    assert desk.do(c.SyncInstances("h1", (server(2), server(1)))) is True
    assert desk.state.fleet.instances.by_uuid[server(1)].facts == '{"a":1}'
    assert desk.do(c.SyncInstances("h2", (server(1),))) is False
    assert where(desk) == {server(2): "h1", server(1): "h2"}
    assert desk.do(c.SyncInstances("h1", ())) is False
    assert where(desk) == {server(1): "h2"}


@pytest.mark.parametrize(
    "naming",
    [
        c.UpdateInstances("h1", (Instance(server(1)),)),
        c.SyncInstances("h1", (server(1),)),
        c.DeleteInstance("h1", server(1)),
    ],
)
def test_a_claim_ends_when_its_host_speaks_of_the_instance(
    naming: c.Command[object],
) -> None:
    desk = FleetDesk(2)
    desk.do(claim("one", on(1, 1), on(2, 1)), naming)
    assert [row.instance_uuid for row in desk.claims()] == [server(2)]
    assert desk.used()["VCPU"] == 4


@pytest.mark.parametrize(
    "naming",
    [
        c.UpdateInstances("h2", (Instance(server(1)),)),
        c.SyncInstances("h2", (server(1),)),
        c.DeleteInstance("h2", server(1)),
    ],
)
def test_what_another_host_says_does_not_end_a_claim(naming: c.Command[object]) -> None:
    desk = FleetDesk(2)
    desk.do(claim("one", on(1, 1)), naming)
    assert len(desk.claims()) == 1


def test_an_instance_that_goes_while_it_is_leased_gives_back_what_it_holds() -> None:
    desk = FleetDesk(1)
    desk.do(
        claim("one", on(1, 1), on(2, 1), leased_for_us=50),
        c.DeleteInstance("h1", server(1)),
    )
    assert desk.used()["VCPU"] == 2
    assert desk.do(c.ConfirmClaim("one")) is None
    assert desk.consumer(server(1)) is None


def test_a_fact_that_is_told_again_is_no_news() -> None:
    desk = FleetDesk(1)
    said = Service("h1", "gantt-agent", forced_down=True, version=5, cell_uuid=GOLD)
    desk.do(c.UpdateService(said))
    assert desk.changes(c.UpdateService(said)) == 0
    fact = desk.state.fleet.facts.of("agent", "h1")
    assert fact is not None and fact.away
    told = desk.state.fleet.told("h1", "gantt-agent")
    assert told is not None and (told.version, told.cell_uuid) == (None, None)
    desk.do(c.DeleteService("h1", "gantt-agent"))
    assert desk.state.fleet.facts.of("agent", "h1") is None
    assert problems(desk.state) == []


def test_services_keep_what_is_not_said() -> None:
    desk = FleetDesk(1)
    first = c.UpdateService(Service("h1", disabled=True, availability_zone="az"))
    desk.do(first)
    assert desk.changes(first) == 0
    assert desk.changes(c.UpdateService(Service("h1"))) == 0
    desk.do(c.UpdateService(Service("h1", last_seen_up=7, forced_down=True)))
    assert desk.host().service == {
        "binary": "nova-compute",
        "disabled": True,
        "disabled_reason": None,
        "forced_down": True,
        "last_seen_up": 7,
        "availability_zone": "az",
        "cell_uuid": None,
        "version": None,
    }
    desk.do(c.UpdateService(Service("h1", binary="nova-conductor")))
    desk.do(report(2), c.UpdateService(Service("h1", availability_zone=None)))
    assert desk.host().service["availability_zone"] is None
    assert desk.host(2).service == {}


def test_groups() -> None:
    desk = FleetDesk()
    group = ServerGroup("g", "n", "affinity", 1, frozenset({server(2), server(1)}))
    desk.do(c.SetServerGroup(group))
    assert desk.changes(c.SetServerGroup(group)) == 0
    assert desk.state.fleet.groups.members["g"] == group.members
    desk.do(c.SetServerGroup(ServerGroup("g", policy="anti-affinity")))
    assert desk.state.fleet.groups.members["g"] == frozenset()
    desk.do(c.DeleteServerGroup("g"))
    assert list(desk.state.rows(t.SERVER_GROUPS)) == []
    assert desk.changes(c.DeleteServerGroup("g")) == 0


GROUP = InstanceGroup("g", "anti-affinity")


def newcomer(number: int, *hosts: int) -> c.Claim:
    return claim(f"claim {number}", on(number, *hosts), group=GROUP)


def members(desk: FleetDesk) -> dict[str, int]:
    return group_rules.counts(desk.state.fleet, GROUP)


@pytest.mark.parametrize(
    "naming",
    [
        c.UpdateInstances("h1", (Instance(server(1), {"a": 1}),)),
        c.SyncInstances("h1", (server(1),)),
        report(1, instances=(server(1),)),
    ],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_an_instance_claimed_for_a_group_stays_its_member(
    naming: c.Command[object], is_known: bool
) -> None:
    desk = FleetDesk(2)
    if is_known:
        desk.do(c.SetServerGroup(ServerGroup("g", "g", "anti-affinity")))
    desk.do(newcomer(1, 1))
    assert undone(desk, naming)
    desk.do(naming)
    assert desk.claims() == [] and members(desk) == {"h1": 1}
    assert desk.changes(naming) == 0
    assert "server group" in desk.refusal(newcomer(2, 1), ClaimLost)
    assert desk.do(newcomer(2, 1, 2)).taken == (1,)
    # Whatever else its host says of it, or where it goes.
    desk.do(c.UpdateInstances("h1", (Instance(server(1), {"_group": "other"}),)))
    assert members(desk) == {"h1": 1, "h2": 1}
    desk.do(c.SyncInstances("h3", (server(1),)))
    assert members(desk) == {"h3": 1, "h2": 1}
    assert problems(desk.state) == []
    desk.do(c.DeleteInstance("h3", server(1)))
    assert members(desk) == {"h2": 1}
    assert problems(desk.state) == []


def test_what_a_host_says_of_an_instance_puts_it_into_no_group() -> None:
    desk = FleetDesk(1)
    desk.do(c.UpdateInstances("h1", (Instance(server(1), {"_group": "g"}),)))
    assert members(desk) == {}
    # A claim for a group, where it is already, does.
    desk.do(claim("one", on(1, 1), group=GROUP), c.SyncInstances("h1", (server(1),)))
    assert members(desk) == {"h1": 1}


def test_an_instance_that_changes_groups_is_not_yet_a_member_of_the_new_one() -> None:
    """Found by the simulator: it drew an affinity group after it to the other host."""
    desk = FleetDesk(2)
    friends = InstanceGroup("g", "affinity")
    for command in (
        claim("one", on(1, 1), group=friends),
        c.SyncInstances("h1", (server(1),)),
        claim("two", on(1, 2), group=InstanceGroup("other", "affinity")),
    ):
        desk.do(command)
    assert group_rules.counts(desk.state.fleet, friends) == {"h1": 1}
    newcomers = (on(2, 2), on(3, 1))
    lost = claim("three", *newcomers, group=friends)
    assert "server group" in desk.refusal(lost, ClaimLost)
    assert desk.do(claim("four", on(2, 2, 1), group=friends)).taken == (1,)
    # It comes back: then it counts where it is promised, too.
    desk.do(claim("five", on(1, 1), group=friends))
    assert group_rules.counts(desk.state.fleet, friends) == {"h1": 2}
