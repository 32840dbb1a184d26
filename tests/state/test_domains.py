"""Topology keys as columns: what is kept of them is what would be made anew."""

from __future__ import annotations

import random

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.model import commands as c
from gantt.model.hosts import HostAggregate
from gantt.scheduler.hosts import Hosts
from gantt.state.domains import NO_DOMAIN, DomainColumns, _Column
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


def test_a_label_is_known_while_it_is_said_of_anything() -> None:
    desk = FleetDesk(2)

    def known(*labels: tuple[str, str]) -> list[bool]:
        return [desk.state.domains.knows(*label) for label in labels]

    desk.do(c.SyncNames((), ("CUSTOM_GEN_NEW_1", "CUSTOM_BARE", "HW_X")))
    traits = ("gen", "new-1"), ("gen", ""), ("gen-new", ""), ("bare", ""), ("hw-x", "")
    assert known(*traits) == [True] * 5
    assert not any(known(("gen", "new"), ("ge", ""), ("bar", ""), ("custom_gen", "")))
    for host, label in (("h1", "r1"), ("h2", "r2")):
        assert known(("rack", label), ("rack", "")) == [False, host == "h2"]
        desk.do(c.LabelHost(host, {"rack": label}))
        assert known(("rack", label), ("rack", "")) == [True, True]
    desk.do(c.LabelHost("h2", {"rack": None}))
    assert known(("rack", "r2"), ("rack", "r1")) == [False, True]
    one = HostAggregate(uuid_of(90), "a", None, frozenset({"h2"}))
    one = replace(one, metadata={"topology:row": "w1"})
    desk.do(c.SetHostAggregates((one,)))
    assert known(("row", "w1"), ("row", ""), ("row", "w2")) == [True, True, False]
    desk.do(c.DeleteHostAggregate(uuid_of(90)))
    assert known(("row", "w1"), ("row", "")) == [False, False]


def test_filters_and_weighers_read_domains_of_their_hosts() -> None:
    desk = FleetDesk(3)
    desk.do(c.LabelHost("h2", {"rack": "r7"}))
    hosts = Hosts(desk.state.fleet, desk.state.fleet.hosts.live_rows()[::-1])
    codes, names = hosts.domains("rack")
    assert [names[code] for code in codes] == ["", "r7", ""]
    assert hosts.domains("row")[0].tolist() == [0, 0, 0]


def test_all_values_of_the_source_that_counts_are_borne() -> None:
    """Two values of a host put it into no domain, and it has both as labels."""
    column = _Column(4)
    rows = np.array([0, 0, 1], np.int64)
    column.settle([(rows, np.array(["a", "b", "a"]))])
    column.settle([(np.array([1, 2], np.int64), np.array(["b", "NEW_1"]))])
    column.note([np.array([3], np.int64)])
    found = column.done("gen", np.arange(4))
    assert found.codes.tolist()[0] == NO_DOMAIN
    assert found.bearing("a").tolist() == [True, True, False, False]
    assert found.bearing("b").tolist() == [True, False, False, False]
    assert found.bearing("new-1").tolist() == [False, False, True, False]
    assert found.bearing("").tolist() == [True] * 4
    assert not found.bearing("c").any()
