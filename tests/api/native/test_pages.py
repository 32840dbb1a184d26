"""Long lists are answered in pages, whose memory is bounded; clients follow them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from gantt.client.remote import RemoteGantt
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Invalid
from gantt.model.commands import Inventory
from gantt.model.fleet import FleetStatement
from gantt.model.fleet_lists import (
    GroupQuery,
    HostAggregateQuery,
    InstanceQuery,
    ServiceQuery,
)
from gantt.model.hosts import (
    HostAggregate,
    HostStats,
    Instance,
    ServerGroup,
    Service,
)
from gantt.model.operations import NAMED
from gantt.model.paging import PAGE, PAGE_BYTES
from gantt.model.selection import Decision, Limits, Selection
from gantt.model.shadow import ShadowQuery, ShadowRecord
from gantt.store.interface import StoreOptions
from tests import inprocess
from tests.api.native.fleet import client_of
from tests.engine.shadow.test_agreement_report import record

MANY = 2 * PAGE + 50
MARKED = ("services", "server_groups", "instances", "aggregates")
MOST_MB = 40
"""Of a page of 200 decisions for an instance each, decoded and encoded."""


def decision(number: int, instances: int = 1) -> Decision:
    chosen = Selection(
        None, f"host-{number}", f"host-{number}", limits=Limits({"cells": [1] * 100})
    )
    uuids = tuple(str(uuid4()) for _ in range(instances))
    return Decision(
        request_id=f"req-{number}",
        instance_uuids=uuids,
        project_id="blue",
        revision=1,
        at=1_000 + number // 3,
        driver="caching",
        hosts=1,
        steps=(),
        scores=(),
        chosen=((chosen,),) * instances,
    )


def shadow(number: int) -> ShadowRecord:
    return record(
        id=str(uuid4()),
        instance_uuid=str(uuid4()),
        request_id=f"req-{number}",
        project_id="blue",
        asked_at=1_000 + number // 3,
    )


@pytest.fixture(params=["memory", "sqlite"])
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gantt]:
    is_sql = request.param == "sqlite"
    url = f"sqlite:///{tmp_path}/books.db" if is_sql else "memory://"
    options = EngineOptions(store=StoreOptions(create=True))
    with open_gantt(url, options) as found:
        yield found


@pytest.fixture
def far(books: Gantt) -> Iterator[RemoteGantt]:
    with inprocess.doors(books) as found:
        yield found


def get(books: Gantt, path: str) -> Any:
    answer = client_of(books)("GET", path)
    assert answer.status == 200, answer.text
    return answer.json


def walked(books: Gantt, path: str, name: str) -> list[Any]:
    """All of a list, page by page, none of which is long."""
    found: list[Any] = []
    after = ""
    while True:
        page = get(books, f"{path}after={after}")
        assert len(page[name]) <= PAGE
        found += page[name]
        after = page["next"]
        if not after:
            return found


def test_a_page_of_decisions_leads_to_the_next(books: Gantt, far: RemoteGantt) -> None:
    for number in range(MANY):
        books._scheduling.records.add(decision(number))
    names = [f"req-{number}" for number in reversed(range(MANY))]
    page = get(books, "/gantt/decisions?limit=1000000")
    assert [one["request_id"] for one in page["decisions"]] == names[:PAGE]
    found = walked(books, "/gantt/decisions?limit=1000000&", "decisions")
    assert [one["request_id"] for one in found] == names
    for library in (books, far):
        assert [one.request_id for one in library.decisions(limit=10_000)] == names
        assert len(library.decisions(limit=PAGE + 1)) == PAGE + 1


def test_decisions_that_are_written_between_pages_move_no_other(
    books: Gantt, far: RemoteGantt
) -> None:
    for number in range(PAGE + 10):
        books._scheduling.records.add(decision(number))
    page = get(books, "/gantt/decisions?limit=200")
    books._scheduling.records.add(decision(100_000))
    sharing = books._scheduling.records.sharing
    if sharing is not None:
        sharing.writer.write()
    rest = get(books, f"/gantt/decisions?limit=200&after={page['next']}")
    names = [one["request_id"] for one in (*page["decisions"], *rest["decisions"])]
    assert names == [f"req-{number}" for number in reversed(range(PAGE + 10))]


def test_a_page_has_fewer_decisions_for_many_instances(
    books: Gantt, far: RemoteGantt
) -> None:
    for number in range(8):
        books._scheduling.records.add(decision(number, instances=1_000))
    page = get(books, "/gantt/decisions?limit=200")
    assert 1 <= len(page["decisions"]) <= 4
    assert len(walked(books, "/gantt/decisions?limit=200&", "decisions")) == 8


def test_a_page_takes_bounded_memory_however_many_records_there_are(
    tmp_path: Path,
) -> None:
    options = EngineOptions(store=StoreOptions(create=True))
    with open_gantt(f"sqlite:///{tmp_path}/books.db", options) as books:
        for number in range(5_000):
            books._scheduling.records.add(decision(number))
    with open_gantt(f"sqlite:///{tmp_path}/books.db") as books:
        client = client_of(books)
        client("GET", "/gantt/decisions?limit=1")
        tracemalloc.start()
        try:
            answer = client("GET", "/gantt/decisions?limit=1000000")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(answer.json["decisions"]) == PAGE
        assert peak < MOST_MB * 1024**2


def test_a_page_of_shadow_records_leads_to_the_next(
    books: Gantt, far: RemoteGantt
) -> None:
    keeping = books._shadow._keeping
    made = [shadow(number) for number in range(MANY)]
    keeping.add(made[:PAGE])
    if keeping._writer is not None:
        keeping._writer.write()
    keeping.add(made[PAGE:])
    found = walked(books, "/gantt/shadow/records?limit=100000&", "shadow_records")
    assert {one["id"] for one in found} == {one.id for one in made}
    times = [one["asked_at"] for one in found]
    assert times == sorted(times, reverse=True)
    for library in (books, far):
        assert len(library.shadow_records(limit=1_000)) == MANY
        assert library.shadow_report().records == MANY


def test_a_page_of_hosts_leads_to_the_next(books: Gantt, far: RemoteGantt) -> None:
    for number in range(PAGE + 3):
        stats = HostStats(vcpus=4, memory_mb=1, local_gb=1)
        books.update_host(f"host/{number:04}", f"host/{number:04}", stats)
    names = [f"host/{number:04}" for number in range(PAGE + 3)]
    assert [one["host"] for one in walked(books, "/gantt/hosts?", "hosts")] == names
    for library in (books, far):
        assert [one.host for one in library.list_hosts()] == names
    page = get(books, "/gantt/hosts?limit=2")
    books.delete_host(names[1], names[1])
    books.update_host("host/0001b", None, HostStats(vcpus=4, memory_mb=1, local_gb=1))
    rest = get(books, f"/gantt/hosts?limit=2&after={page['next']}")
    assert [one["host"] for one in rest["hosts"]] == ["host/0001b", "host/0002"]


def test_a_page_of_the_nodes_of_one_host_leads_to_the_next(
    books: Gantt, far: RemoteGantt
) -> None:
    nodes = [f"node-{number:04}" for number in range(PAGE + 3)]
    for node in nodes:
        books.update_host("ironic", node, HostStats(vcpus=4, memory_mb=1, local_gb=1))
    found = walked(books, "/gantt/hosts?host=ironic&", "hosts")
    assert [one["node"] for one in found] == nodes
    page = get(books, f"/gantt/hosts?node={nodes[7]}")
    assert ([one["node"] for one in page["hosts"]], page["next"]) == ([nodes[7]], "")
    for library in (books, far):
        assert [one.node for one in library.list_hosts(host="ironic")] == nodes


def fill(books: Gantt, many: int) -> dict[str, list[str]]:
    """As many of each list that has markers, and their names in the order of the
    list."""
    named = {
        "services": [f"nova-compute@host/{number:04}" for number in range(many)],
        "server_groups": [uuid_of(number) for number in range(many)],
        "instances": [uuid_of(number) for number in range(many)],
        "aggregates": [uuid_of(many - number) for number in range(many)],
    }
    hosts = [name.partition("@")[2] for name in named["services"]]
    said = FleetStatement(
        services=tuple(Service(host, disabled=False) for host in hosts),
        groups=tuple(map(ServerGroup, named["server_groups"])),
        aggregates=tuple(
            HostAggregate(uuid, f"name {number:04}")
            for number, uuid in enumerate(named["aggregates"])
        ),
        instances={"h": tuple(map(Instance, named["instances"]))},
    )
    assert books.set_fleet(said) == ()
    return named


def uuid_of(number: int) -> str:
    return str(UUID(int=4 << 76 | 8 << 60 | number))


def name_of(one: Any) -> str:
    return one["uuid"] if "uuid" in one else f"{one['binary']}@{one['host']}"


def test_pages_by_marker_are_pages_like_the_others(
    books: Gantt, far: RemoteGantt
) -> None:
    """Also for a client that asks for 10,000, and goes on with the last one it got."""
    for name, expected in fill(books, MANY).items():
        path = f"/gantt/{name}?limit=10000"
        found = walked(books, f"{path}&", name)
        assert [name_of(one) for one in found] == expected
        page = get(books, path)
        assert [name_of(one) for one in page[name]] == expected[:PAGE]
        rest = get(books, f"{path}&marker={expected[PAGE - 1]}")
        assert [name_of(one) for one in rest[name]] == expected[PAGE : 2 * PAGE]
    for library in (books, far):
        assert len(library.list_services()) == MANY
        assert len(library.list_server_groups()) == MANY
        assert len(library.list_instances(InstanceQuery(limit=MANY - 1))) == MANY - 1
        last = HostAggregateQuery(marker=expected[MANY - 3])
        assert [one.uuid for one in library.list_host_aggregates(last)] == (
            expected[MANY - 2 :]
        )


def test_a_page_has_fewer_of_what_is_long(
    books: Gantt, far: RemoteGantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantt.model.paging.PAGE_BYTES", 3_000)
    for number in range(5):
        stats = HostStats(vcpus=4, memory_mb=1, local_gb=1, cpu_info={"a": "x" * 900})
        books.update_host(f"host-{number}", None, stats)
        hosts = frozenset(f"host-{number}-{n}" for n in range(40 + 400 * (number == 3)))
        books.set_host_aggregates(
            (HostAggregate(uuid_of(number), "rack", None, hosts),)
        )
        books.set_server_group(
            ServerGroup(uuid_of(number), members=frozenset(map(uuid_of, range(30))))
        )
    pages = [2, 2, 1]
    assert lengths(books, "hosts") == lengths(books, "server_groups") == pages
    assert lengths(books, "aggregates") == [3, 1, 1]
    for library in (books, far):
        assert len(library.list_hosts()) == 5
        assert len(library.list_host_aggregates()) == 5
        assert len(library.list_server_groups()) == 5


def lengths(books: Gantt, name: str) -> list[int]:
    """How many things each page of a list has."""
    found, after = list[int](), ""
    while True:
        page = get(books, f"/gantt/{name}?after={after}")
        found.append(len(page[name]))
        after = page["next"]
        if not after:
            return found


def test_a_page_of_large_aggregates_takes_bounded_memory() -> None:
    hosts = frozenset(f"a-host-with-a-name-{number:04}" for number in range(5_000))
    with open_gantt("memory://") as books:
        for number in range(50):
            books.set_host_aggregates(
                (HostAggregate(uuid_of(number), "", None, hosts),)
            )
        client = client_of(books)
        client("GET", "/gantt/aggregates?limit=1")
        tracemalloc.start()
        try:
            answer = client("GET", "/gantt/aggregates?limit=10000")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert len(answer.text) < 1.1 * PAGE_BYTES
    assert answer.json["next"]
    assert peak < 8 * PAGE_BYTES


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_of_nothing_is_refused(limit: int) -> None:
    with open_gantt("memory://") as books:
        pages: tuple[Callable[[], object], ...] = (
            lambda: books.answer(NAMED["list_hosts"], limit=limit),
            lambda: books.answer(NAMED["list_services"], ServiceQuery(limit=limit)),
            lambda: books.answer(NAMED["list_server_groups"], GroupQuery(limit=limit)),
            lambda: books.answer(NAMED["list_instances"], InstanceQuery(limit=limit)),
            lambda: books.answer(
                NAMED["list_host_aggregates"], HostAggregateQuery(limit=limit)
            ),
            lambda: books.shadow_page(ShadowQuery(limit=limit)),
            lambda: books.audit(limit=limit),
        )
        for page in pages:
            with pytest.raises(Invalid, match="limit"):
                page()


def test_a_page_of_findings_leads_to_the_next(
    books: Gantt, far: RemoteGantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        stats = HostStats(vcpus=4, memory_mb=10, local_gb=1)
        uuid = books.update_host(f"h{number}", None, stats).provider_uuid or ""
        known = books.get_inventories(uuid)
        totals = {**known.inventories, "VCPU": Inventory(total=5)}
        books.set_inventories(uuid, totals, generation=known.generation)
    whole = books.audit(grace_s=0)
    assert len(whole.findings) == 7
    monkeypatch.setattr("gantt.api.native.records.FINDINGS_PAGE", 3)
    assert far.audit(grace_s=0).findings == whole.findings


@pytest.mark.parametrize(
    "path", ["decisions", "hosts", "shadow/records", "audit", *MARKED]
)
@pytest.mark.parametrize("after", ["nonsense", "%00", "W10", "WzFd"])
def test_a_place_that_was_never_given_is_refused(path: str, after: str) -> None:
    with open_gantt("memory://") as books:
        answer = client_of(books)("GET", f"/gantt/{path}?after={after}")
    assert answer.status == 400
    assert "next" in answer.text
