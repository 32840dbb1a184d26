"""Topology keys as columns: what is kept of them is what would be made anew."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from gantt.model import commands as c
from gantt.model.hosts import HostAggregate
from gantt.scheduler.hosts import Hosts
from gantt.state.domains import DomainColumns
from tests.examples import examples
from tests.placement.fleet_desk import FleetDesk, report, uuid_of

TRAITS = ("CUSTOM_RACK_R1", "CUSTOM_RACK_R2")


def told(desk: FleetDesk, key: str) -> dict[str, str]:
    """Host -> its domain; "?" where two values are told."""
    hosts, found = desk.state.fleet.hosts, desk.state.domains.of(key)
    return {
        hosts.hosts[row]: "?" if found.torn[row] else found.names[found.codes[row]]
        for row in hosts.live_rows().tolist()
    }


def change(desk: FleetDesk, dice: random.Random) -> None:
    number = dice.randint(1, 5)
    host, kind = f"h{number}", dice.randrange(6)
    known = desk.state.fleet.hosts.rows_of(host)
    if kind == 0 and known:
        rack = dice.choice(("r1", "r2", None))
        desk.do(c.LabelHost(host, {"rack": rack, "other": "x"}))
    elif kind == 1 and known:
        some = dice.sample(TRAITS, dice.randrange(3))
        desk.do(c.SetTraits(uuid_of(number), tuple(some)))
    elif kind == 2:
        hosts = frozenset(dice.sample(("h1", "h2", "h3", "h4", "h5"), 2))
        key = dice.choice(("rack", "topology:rack", "else"))
        one = HostAggregate(uuid_of(90 + dice.randrange(3)), "a", None, hosts)
        value = dice.choice(("r1", "r2", ""))
        desk.do(c.SetHostAggregates((replace(one, metadata={key: value}),)))
    elif kind == 3:
        desk.do(c.DeleteHostAggregate(uuid_of(90 + dice.randrange(3))))
    elif kind == 4 and known:
        desk.do(c.DeleteHost(host, f"n{number}"))
    elif not known:
        desk.do(report(number))


@pytest.mark.parametrize("seed", range(examples(6)))
def test_columns_follow_what_is_said_of_hosts(seed: int) -> None:
    desk, dice = FleetDesk(4), random.Random(seed)
    desk.do(c.SyncNames((), TRAITS))
    for _ in range(40):
        change(desk, dice)
        for key in ("rack", "host", "nothing"):
            kept = told(desk, key)
            desk.state.domains = DomainColumns(desk.state)
            assert kept == told(desk, key)
            found = desk.state.domains.of(key)
            mask = dice.choice((found.codes >= 0, found.codes > 1, found.codes < 0))
            having = {found.names[code] for code in found.codes[mask]} - {""}
            said = zip(found.names, found.having(mask), strict=True)
            assert {name for name, is_there in said if is_there} == having


def test_filters_and_weighers_read_domains_of_their_hosts() -> None:
    desk = FleetDesk(3)
    desk.do(c.LabelHost("h2", {"rack": "r7"}))
    hosts = Hosts(desk.state.fleet, desk.state.fleet.hosts.live_rows()[::-1])
    codes, names = hosts.domains("rack")
    assert [names[code] for code in codes] == ["", "r7", ""]
    assert hosts.domains("row")[0].tolist() == [0, 0, 0]
