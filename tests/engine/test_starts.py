"""A burst does not start all of its machines on one host: with ``max_starts`` and the
label ``starts``, through the whole engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Invalid, NoValidHost
from gantt.model.demand import Item
from gantt.model.hosts import Instance
from gantt.model.placements import Plan
from gantt.model.selection import Why
from gantt.model.spec import ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from tests.engine.test_relations import ask, report


@pytest.fixture
def engine() -> Iterator[Gantt]:
    """h1 has far more room than h2 and h3: all would go there. Two may start."""
    options = EngineOptions(
        scheduler=SchedulerOptions(max_starts=2, packing="stack", choices=1)
    )
    with open_gantt("memory://", options) as one:
        for name in ("h1", "h2", "h3"):
            report(one, name, vcpus=100)
        yield one


def where(plan: Plan) -> list[int]:
    return sorted(Counter(one.host for one in plan.placements).values())


def lines(refusal: pytest.ExceptionInfo[NoValidHost]) -> str:
    why = refusal.value.why
    assert isinstance(why, Why)
    return "\n".join(why.said)


def test_a_burst_is_spread_and_then_refused(engine: Gantt) -> None:
    tiny: Any = {"cpu": 1, "memory": "16MiB"}
    assert where(engine.place(Item("a", count=4, **tiny))) == [2, 2]
    # Two items of one demand count together, too.
    plan = engine.place(Item("b", **tiny), Item("c", **tiny))
    assert where(plan) == [2]
    with pytest.raises(NoValidHost) as refusal:
        engine.place(Item("d", **tiny))
    assert "Of 3 hosts, 3 starting as many at once as they may." in lines(refusal)
    assert "h1: starts 2 of 2 at once." in lines(refusal)
    host = plan.placements[0].host
    engine.confirm_placement("b")
    assert engine.place(Item("d", **tiny)).placements[0].host == host


def test_a_request_for_hosts_says_who_starts_how_many(engine: Gantt) -> None:
    engine.label_host("h1", {"starts": "1"})
    engine.label_host("h2", {"starts": "0"})
    assert where_of(engine, ask(5)) == {"h1": 1, "h2": 4}
    engine.label_host("h2", {"starts": "3"})
    assert where_of(engine, ask(2)) == {"h3": 2}
    with pytest.raises(NoValidHost, match=r"h1 starts 1 of 1 at once, h2 starts 4 of"):
        engine.schedule(ask())
    # What its host names is not starting any more.
    one = ask()
    engine.label_host("h1", {"starts": "2"})
    assert where_of(engine, one) == {"h1": 1}
    engine.update_instances("h1", [Instance(one.names[0])])
    assert where_of(engine, ask()) == {"h1": 1}


def where_of(engine: Gantt, request: ScheduleRequest) -> Counter[str]:
    return Counter(one[0].service_host for one in engine.schedule(request))


def test_a_lease_that_ends_makes_room(engine: Gantt) -> None:
    engine.place(Item("a", count=6, cpu=1), lease_s=60)
    with pytest.raises(NoValidHost):
        engine.place(Item("b", cpu=1))
    engine.release_placement("a-1")
    engine.place(Item("b", cpu=1))


@pytest.mark.parametrize("bad", ["many", "-1", "1.5", "1" * 11])
def test_a_label_that_is_no_number_is_refused(engine: Gantt, bad: str) -> None:
    with pytest.raises(Invalid):
        engine.label_host("h1", {"starts": bad})
