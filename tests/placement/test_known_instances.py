"""Pages of instances: the same ones as by looking at each, without doing that."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.model.fleet_lists import InstanceQuery
from gantt.model.hosts import InstanceView
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.placement import fleet_pages
from gantt.placement import known_instances as module
from tests.engine.test_scheduling import report

HOSTS = ("one", "two")


def uuid(number: int) -> str:
    return str(UUID(int=4 << 76 | 8 << 60 | number))


@pytest.fixture
def books() -> Iterator[Gantt]:
    """Instances that are claimed, named, and both."""
    with open_gantt("memory://") as books:
        for host in HOSTS:
            report(books, host)
            spec = RequestSpec(Flavor(1, 64, 0), force_hosts=(host,))
            first = 10 if host == "one" else 20
            books.schedule(ScheduleRequest(spec, (uuid(first), uuid(first + 1))))
            books.schedule(ScheduleRequest(spec, (uuid(first + 5),)))
        books.sync_instances("one", [uuid(n) for n in (10, 31, 32)])
        books.sync_instances("two", [uuid(n) for n in (21, 41)])
        yield books


def test_a_page_is_what_looking_at_each_finds(books: Gantt) -> None:
    every = books.list_instances(InstanceQuery())
    assert len(every) == 9
    claims = {None, *(one.claim for one in every)}
    markers = (None, every[0].uuid, every[4].uuid, uuid(30))
    asked = product(
        (None, *HOSTS, "none"), claims, (False, True), (1, 3, 1000), markers
    )
    for host, claim, is_claimed, limit, marker in asked:
        query = InstanceQuery(None, host, claim, is_claimed, limit, marker)
        assert books.list_instances(query) == expected(every, query), query


def expected(
    every: tuple[InstanceView, ...], query: InstanceQuery
) -> tuple[InstanceView, ...]:
    found = [
        one
        for one in every
        if query.host in (None, one.host)
        and query.claim in (None, one.claim)
        and (one.claim is not None or not query.is_claimed)
        and (query.marker is None or one.uuid > query.marker)
    ]
    return tuple(found[: query.limit])


def test_no_more_are_looked_at_than_a_page_shows(
    books: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    view: Any = module._view

    def noted(state: Any, one: str) -> Any:
        looked.append(one)
        return view(state, one)

    monkeypatch.setattr(module, "_view", noted)
    query = InstanceQuery(limit=2)
    assert len(books.list_instances(query)) == len(looked) == 2
    looked.clear()
    assert books.list_instances(replace(query, host="none")) == ()
    assert books.list_instances(replace(query, claim=uuid(99))) == ()
    assert looked == []


def test_others_may_write_between_slices_of_a_long_list(
    books: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes meanwhile is not shown, and the page still leads to the next."""
    monkeypatch.setattr(fleet_pages, "_SLICE", 2)
    every = [one.uuid for one in books.list_instances(InstanceQuery())]
    rests: list[int] = []

    def rest() -> None:
        rests.append(len(rests))
        if len(rests) == 5:
            state.fleet.instances.by_uuid.pop(uuid(31))

    with books._replica.lock:
        state = books._replica.state
        gone = state.fleet.instances.by_uuid[uuid(31)]
        found, after = module.known_instances(state, InstanceQuery(limit=7), rest)
        rest_of, end = module.known_instances(state, InstanceQuery(after=after))
        state.fleet.instances.by_uuid[uuid(31)] = gone
    shown = [one.uuid for one in (*found, *rest_of)]
    assert (shown, end) == ([one for one in every if one != uuid(31)], "")
    assert len(found) == 7
    assert len(rests) >= 5


class Noted(dict[str, Any]):
    """Tells when all of it is read."""

    events: list[str]

    def __iter__(self) -> Iterator[str]:
        self.events.append("all names")
        return super().__iter__()


def test_others_may_write_before_the_next_table_is_read(
    books: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_pages, "_SLICE", 4)
    events: list[str] = []

    def condition(*_: Any) -> Any:
        def looked(uuid: str) -> bool:
            events.append("look")
            return True

        return looked

    monkeypatch.setattr(module, "_condition", condition)
    with books._replica.lock:
        state = books._replica.state
        table = state.fleet.instances
        table.by_uuid = Noted(table.by_uuid)
        table.by_uuid.events = events
        query = InstanceQuery(search="x")
        found, _ = module.known_instances(state, query, lambda: events.append("rest"))
    assert len(found) == 9
    at = events.index("all names")
    assert events[:at] == ["look"] * 4 + ["rest"]  # of claims
    after = "".join(one[0] for one in events[at + 1 :])
    assert max(map(len, after.split("r"))) <= 4
    assert events[at + 1 :].count("rest") == 2 + 2  # names, consumers
