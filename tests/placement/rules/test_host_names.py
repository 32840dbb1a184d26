"""What an agent lists is not taken from another host, and new names are bounded."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import TooManyNames
from gantt.model import commands as c
from gantt.model.hosts import HostStats, Instance, ServerGroup
from gantt.model.reports import Report
from gantt.placement.rules import agent_reports
from tests.placement.fleet_desk import FleetDesk, claim, on, server, uuid_of
from tests.reported import report_of

LIMITS = c.NameLimits(traits=5, instances=3)


class Hosts(FleetDesk):
    """Hosts whose agents report."""

    def __init__(self, count: int = 2) -> None:
        super().__init__()
        self.sequences: dict[tuple[int, str], int] = {}
        for number in range(1, count + 1):
            self.says(
                number, vcpus=8, memory_mb=8192, local_gb=99, lists_instances=True
            )

    def command(self, number: int, node: str = "", **fields: Any) -> c.ReportHost:
        key = number, node or f"n{number}"
        sequence = self.sequences[key] = self.sequences.get(key, 0) + 1
        told = report_of(
            f"h{number}",
            sequence,
            HostStats(**fields),
            node=key[1],
            taken_at=self.now,
            full=sequence == 1,
        )
        return agent_reports.command_of(
            told,
            c.UpdateHost("", "", HostStats(), ""),
            "",
            own_only=True,
            new_provider_uuid=uuid_of(number if not node else 99),
            most=LIMITS,
        )

    def says(self, number: int, node: str = "", **fields: Any) -> None:
        outcome = self.do(self.command(number, node, **fields))
        assert outcome.outcome == "applied", outcome.message

    def lists(self, number: int, *instances: str) -> None:
        self.says(number, instances=instances)

    def at(self, instance: str) -> str | None:
        found = self.state.fleet.instances.by_uuid.get(instance)
        return None if found is None else found.host


ONE, TWO = server(1), server(2)


def test_an_instance_that_is_booked_elsewhere_is_not_taken_by_a_list() -> None:
    hosts = Hosts()
    hosts.do(claim("c", on(1, 1)))
    hosts.lists(2, ONE)  # before its host has named it
    assert hosts.at(ONE) is None
    assert [row.host_id for row in hosts.claims()] == [1]
    hosts.lists(1, ONE)
    assert hosts.at(ONE) == "h1"
    hosts.says(2, instances=(ONE, TWO))
    assert (hosts.at(ONE), hosts.at(TWO)) == ("h1", "h2")


def test_members_of_a_group_do_not_go_to_a_host_that_lists_one() -> None:
    hosts = Hosts()
    hosts.do(c.SetServerGroup(ServerGroup("g", "g", "affinity", 1, frozenset({ONE}))))
    hosts.do(claim("c", on(1, 1)))
    hosts.lists(1, ONE)
    hosts.lists(2, ONE)
    assert hosts.host(1).instances == (ONE,)
    assert hosts.host(2).instances == ()


def test_a_list_that_names_anothers_instance_costs_no_write_each_time() -> None:
    hosts = Hosts()
    hosts.do(claim("c", on(1, 1)))
    hosts.lists(1, ONE)
    hosts.lists(2, ONE)
    quiet = Report(
        host="h2", node="n2", incarnation="a", sequence=2, taken_at=hosts.now
    )
    again = agent_reports.command_of(quiet, c.UpdateHost("", "", HostStats(), ""), "")
    assert hosts.changes(again) == 0
    assert agent_reports.as_known(hosts.state, again, hosts.now) is not None


def test_an_instance_that_moves_goes_where_it_is_booked() -> None:
    hosts = Hosts()
    hosts.do(claim("c", on(1, 1)))
    hosts.lists(1, ONE)
    booked = {uuid_of(2): {"VCPU": 2, "MEMORY_MB": 1024}}
    hosts.do(c.SetAllocations((c.ConsumerAllocations(ONE, booked, "p", "u"),)))
    hosts.lists(2, ONE)
    assert hosts.at(ONE) == "h2"
    hosts.lists(1)
    hosts.lists(1, ONE)  # its source shows it once more
    assert hosts.at(ONE) == "h2"


def test_an_instance_that_is_booked_nowhere_stays_while_its_host_lists_it() -> None:
    hosts = Hosts()
    hosts.lists(1, ONE)
    hosts.lists(2, ONE)
    assert hosts.at(ONE) == "h1"
    hosts.lists(1)
    hosts.says(2, instances=(ONE, TWO))
    assert hosts.at(ONE) == "h2"


def test_nova_moves_an_instance_by_naming_it() -> None:
    hosts = Hosts()
    hosts.do(claim("c", on(1, 1)))
    hosts.lists(1, ONE)
    hosts.do(c.UpdateInstances("h2", (Instance(ONE, {}),)))
    assert hosts.at(ONE) == "h2"


def names(first: int, count: int) -> tuple[str, ...]:
    return tuple(f"CUSTOM_{number}" for number in range(first, first + count))


def customs(hosts: Hosts) -> int:
    return sum(one.name.startswith("CUSTOM_") for one in hosts.state.traits.rows())


def test_the_new_traits_of_a_host_are_bounded_whatever_it_reports_and_when() -> None:
    hosts = Hosts()
    before = customs(hosts)
    for first in (0, 3):
        hosts.says(1, traits=names(first, 2))
    hosts.says(1, traits=names(0, 2))  # they are there: nothing new
    for more in (names(10, 2), names(20, 500)):
        text = hosts.refusal(hosts.command(1, traits=more), TooManyNames)
        assert "have made 4: 5 is the limit (max_host_traits of [scheduler])" in text
        hosts.sequences[1, "n1"] -= 1
    assert customs(hosts) - before == 4
    hosts.says(2, traits=names(0, 2) + names(10, 5))  # another host
    hosts.says(1, traits=names(10, 5))


def test_more_nodes_of_a_host_make_no_more_traits() -> None:
    hosts = Hosts()
    hosts.says(1, traits=names(0, 4))
    text = hosts.refusal(
        hosts.command(1, "other", vcpus=4, traits=names(10, 4)), TooManyNames
    )
    assert "have made 4" in text


def test_more_nodes_of_a_host_list_no_more_instances() -> None:
    hosts = Hosts()
    hosts.lists(1, server(1), server(2))
    hosts.says(1, "other", vcpus=4, instances=(server(3),), lists_instances=True)
    more = hosts.command(1, "other", instances=(server(3), server(4)))
    assert "4 instances" in hosts.refusal(more, TooManyNames)
    hosts.lists(1, server(1))
    hosts.sequences[1, "other"] -= 1
    hosts.says(1, "other", instances=(server(3), server(4)))


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_instances_of_a_host_are_bounded(is_whole: bool) -> None:
    hosts = Hosts()
    hosts.says(1, instances=(server(1), server(2)), lists_instances=is_whole)
    last = hosts.command(1, instances=(server(3), server(4)))
    if is_whole:  # those before have ended
        hosts.do(last)
        assert len(hosts.host(1).instances) == 2
    else:
        text = hosts.refusal(last, TooManyNames)
        assert "4 instances" in text and "max_host_instances" in text
        hosts.sequences[1, "n1"] -= 1
    many = tuple(map(server, range(1, 5)))
    hosts.refusal(hosts.command(1, instances=many), TooManyNames)
