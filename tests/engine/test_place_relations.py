"""Relations of a demand: what is spread, near or apart, decided and judged again in the
commit."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gantt
from gantt import Item, apart, distinct, near, spread
from gantt.engine.factory import open_gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Conflict, Invalid, NoValidHost
from gantt.model.demand_relations import ItemRelation
from gantt.model.placements import Plan
from gantt.model.protocol import GanttProtocol
from gantt.scheduler.options import SchedulerOptions
from tests import inprocess
from tests.engine.test_place import NOVAS, report

RACKS = 3
HOSTS = [f"r{rack}h{number}" for rack in range(RACKS) for number in range(2)]


@pytest.fixture(params=["memory", "http", "reports"])
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GanttProtocol]:
    """Three racks of two hosts, of which two are in row a; a host without labels."""
    if request.param == "http":
        with inprocess.service(tmp_path) as url, gantt.connect(url) as found:
            label(found)
            yield found
        return
    placement: Any = "never" if request.param == "reports" else "auto"
    options = EngineOptions(scheduler=SchedulerOptions(use_placement=placement))
    with open_gantt("memory://", options) as found:
        label(found)
        yield found


def label(books: GanttProtocol) -> None:
    report(books, *HOSTS, "bare")
    for host in HOSTS:
        row = "a" if host < "r2" else "b"
        books.label_host(host, {"rack": host[:2], "row": row})


def racks(plan: Plan) -> dict[str, str]:
    """What is where."""
    return {one.name: one.host[:2] for one in plan.placements}


def one(name: str, **fields: Any) -> Item:
    return Item(name, cpu=1, **fields)


def test_things_of_an_item_are_spread_and_counted(books: GanttProtocol) -> None:
    plan = books.place(one("web", count=6), spread("rack"))
    assert Counter(racks(plan).values()) == {"r0": 2, "r1": 2, "r2": 2}
    plan = books.place(one("db", count=3), distinct("rack"), dry_run=True)
    assert len(set(racks(plan).values())) == 3
    with pytest.raises(NoValidHost) as refusal:
        books.place(one("db", count=4), distinct("rack"))
    said = str(refusal.value)
    assert "4 of 'db'" in said
    assert "Distinct by rack: rack r" in said
    assert "1 host has no rack and was left out." in said
    assert not NOVAS.search(said)
    soft = books.place(one("job", count=4), spread("rack", soft=True), dry_run=True)
    assert len(soft.placements) == 4


def test_items_are_spread_together(books: GanttProtocol) -> None:
    parts = one("a", count=2), one("b"), one("c", count=3)
    found = racks(books.place(*parts, spread("rack")))
    assert Counter(found.values()) == {"r0": 2, "r1": 2, "r2": 2}
    some = spread("rack", items=["d", "e"])
    found = racks(books.place(one("d", count=2), one("e"), one("f"), some))
    assert len({found["d-1"], found["d-2"], found["e"]}) == 3


def test_near_to_and_apart_from_what_is_placed(books: GanttProtocol) -> None:
    books.place(one("db", count=1, host="r1h0"))
    found = books.place(one("log", count=2), near("db", "rack"))
    assert set(racks(found).values()) == {"r1"}
    found = books.place(one("copy", count=2), apart("db", "rack"), near("db", "row"))
    assert set(racks(found).values()) == {"r0"}
    assert racks(books.place(one("far"), apart("db", "row"))) == {"far": "r2"}
    (same,) = books.place(one("side"), near("db")).placements
    assert same.host == "r1h0"
    with pytest.raises(NoValidHost) as refusal:
        books.place(one("more", count=9), near("db", "rack"))
    assert "Near db by rack: it is in rack r1 (full)." in str(refusal.value)
    with pytest.raises(NoValidHost, match="Apart from db by rack: it is in rack r1"):
        books.place(one("x", host="r1h1"), apart("db", "rack"))
    soft = books.place(one("y", host="r0h0"), near("db", "rack", soft=True))
    assert racks(soft) == {"y": "r0"}
    (close,) = books.place(one("z"), near("copy-1", "host", soft=True)).placements
    assert close.host[:2] == "r0"


def test_items_of_one_demand_are_near_and_apart(books: GanttProtocol) -> None:
    web, cache = one("web", count=2), one("cache", count=2)
    both = near("cache", "rack"), distinct("host", items=["web"])
    found = racks(books.place(web, cache, *both))
    assert {found["web-1"], found["web-2"]} <= {found["cache-1"], found["cache-2"]}
    found = racks(books.place(one("a", count=2), one("b", count=2), apart("b", "rack")))
    assert not {found["a-1"], found["a-2"]} & {found["b-1"], found["b-2"]}
    found = racks(books.place(one("c", count=2), one("d"), near("c-2", "rack")))
    assert found["d"] == found["c-2"]


def test_the_same_plan_has_the_same_relations(books: GanttProtocol) -> None:
    items = one("a"), one("b")
    first = books.place(*items, apart("b", "rack"), plan="p")
    assert books.place(apart("b", "rack", items=["a"]), *items, plan="p") == first
    with pytest.raises(Conflict, match="for another demand"):
        books.place(*items, apart("b", "row"), plan="p")
    with pytest.raises(Conflict, match="for another demand"):
        books.place(*items, plan="p")


@pytest.mark.parametrize(
    ("relations", "words"),
    [
        ((spread("rak"),), "'spread by rak', key: .*there is host, rack, row"),
        ((near("bd", "rack"),), "to: 'bd' is not known here; there is b, db"),
        ((near("bare", "rack"),), "to: 'bare' is on bare, which has no rack"),
        ((spread("rack", items=["c"]),), "items: 'c' is no item here; there is a, b"),
        ((near("a", items=["a"]),), "to: 'a' cannot be near itself"),
        ((near("a", "rack"), near("b", "row")), "to: .*a cycle of relations"),
        ((near("db", "host"), apart("db", "rack")), "items: 'a' cannot be so and 'ne"),
        ((ItemRelation("near", "rack"),), "to: near and apart have a name"),
        ((ItemRelation("spread", "rack", "db"),), "to: near and apart have a name"),
        ((spread("rack", min_domains=2, soft=True),), "min_domains: only a hard spr"),
        ((ItemRelation("apart", "rack", "db", soft=True),), "soft: apart is always ha"),
        ((ItemRelation("near", "rack", "db", most=2),), "most: only spread and dist"),
        ((spread("a b"),), "key: 'a b' is no label"),
        ((spread("rack"),) * 65, "65 relations were asked for"),
        ((spread("rack", items=["a"] * 1_001),), r"length <= 1000 - at .*items"),
    ],
)
def test_what_can_never_be_names_relation_and_field(
    books: GanttProtocol, relations: tuple[ItemRelation, ...], words: str
) -> None:
    books.place(one("db", host="r1h0"))
    books.place(one("bare", host="bare"))
    with pytest.raises(Invalid, match=words):
        books.place(one("a"), one("b"), *relations)
    assert len(books.list_placements()) == 2


def test_an_item_that_is_named_twice_counts_once(books: GanttProtocol) -> None:
    items = one("a"), one("b")
    twice = distinct("rack", items=["a", "b"] * 500)
    first = books.place(*items, twice, plan="p")
    assert books.place(*items, distinct("rack", items=["a", "b"]), plan="p") == first


def test_the_last_place_of_a_rack_is_given_once() -> None:
    """Each of many asks for a place apart from the others' racks at once."""
    with open_gantt("memory://") as books:
        label(books)
        barrier = threading.Barrier(6)
        done = list[str]()

        def ask(number: int) -> None:
            barrier.wait()
            try:
                pair = one(f"a{number}"), one(f"b{number}")
                plan = books.place(*pair, apart("key", "rack"), distinct("host"))
            except NoValidHost:
                return
            done.extend(racks(plan).values())

        books.place(one("key", host="r0h0"))
        threads = [threading.Thread(target=ask, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(done) == 12
        assert "r0" not in done


@pytest.mark.parametrize("steps", [1, 5_000])
def test_a_place_that_one_after_the_other_misses_is_searched(steps: int) -> None:
    """``cache`` would be on the host with more memory, beside which is no room."""
    options = EngineOptions(scheduler=SchedulerOptions(joint_steps=steps))
    with open_gantt("memory://", options) as books:
        report(books, "wide", vcpus=4, memory_mb=65536)
        report(books, "high", vcpus=8)
        for host in ("wide", "high"):
            books.label_host(host, {"rack": host})
        items = one("cache"), Item("web", cpu=3, count=2), near("cache", "rack")
        if steps == 1:
            with pytest.raises(NoValidHost, match=r"ended at its limit \(joint_steps"):
                books.place(*items)
            assert books.counts()["joint_cut"] == 1
        else:
            found = books.place(*items).placements
            assert {placed.host for placed in found} == {"high"}
            assert books.counts()["joint_found"] == 1
