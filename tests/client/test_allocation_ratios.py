"""A host's allocation ratio is settled when it is reported, by whatever way that comes,
and every question about the host is answered with it: one purchase, one figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gantt.cli.main import gantt as program
from gantt.client.remote import RemoteGantt
from gantt.client.scheduler import SchedulerClient
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import NoValidHost
from gantt.model.fleet import FleetStatement, HostReport
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.replay.snapshots import of_lines
from gantt.replay.what_if import Added, WhatIf
from gantt.replay.what_if_run import tried
from gantt.scheduler.options import SchedulerOptions
from tests import inprocess
from tests.cli.conftest import Program
from tests.model.forms.objects import nova
from tests.reported import report_of

SIZE: dict[str, Any] = {"vcpus": 4, "memory_mb": 65536, "local_gb": 1000}
FREE: dict[str, Any] = {"free_ram_mb": 65536, "free_disk_gb": 1000}
ONE = RequestSpec(flavor=Flavor(1, 1024, root_gb=1))
WAYS: dict[str, Callable[[Any, dict[str, Any]], object]] = {}


def way(say: Callable[[Any, dict[str, Any]], object]) -> object:
    """By its name, a way in which a host is reported."""
    WAYS[say.__name__] = say
    return say


@way
def fields(books: Any, more: dict[str, Any]) -> None:
    SchedulerClient(books).update_resource_stats(None, "h1", {**SIZE, **FREE, **more})


@way
def an_agent(books: Any, more: dict[str, Any]) -> None:
    stats = HostStats(**SIZE, **FREE, **more)
    report = report_of("h1", 1, stats, incarnation="agent")
    (outcome,) = books.report_hosts([report])
    assert outcome.outcome == "applied", outcome


@way
def a_feed(books: Any, more: dict[str, Any]) -> None:
    stats = HostStats(**SIZE, **FREE, **more)
    assert not books.set_fleet(FleetStatement(hosts=(HostReport("h1", "h1", stats),)))


@way
def novas_object(books: Any, more: dict[str, Any]) -> None:
    said = nova("ComputeNode", "1.19", host="h1", **SIZE, **FREE, **more)
    SchedulerClient(books).update_resource_stats(None, ("h1", "h1"), said)


def opened(**options: Any) -> Gantt:
    return open_gantt("memory://", EngineOptions(scheduler=SchedulerOptions(**options)))


def figures(gantt: Gantt) -> set[float]:
    """How many of one CPU the host takes, by every question, and its ratio times its
    CPUs, wherever it is told."""
    (host,) = gantt.list_hosts()
    found = {4 * host.ratios["VCPU"], float(gantt.capacity(ONE).total)}
    if host.provider_uuid is not None:
        book = gantt.get_inventories(host.provider_uuid).inventories["VCPU"]
        found.add(book.total * book.allocation_ratio)
    copy = tried(of_lines(gantt.snapshot_lines(), "here"), WhatIf())
    found.add(float(copy.capacity(ONE).total))
    copy.close()
    twin = tried(
        of_lines(gantt.snapshot_lines(), "here"),
        WhatIf(add=(Added(count=1, like="h1"),), drain=("h1",)),
    )
    found.add(float(twin.capacity(ONE).total))
    twin.close()
    placed = 0
    with pytest.raises(NoValidHost):
        while placed < 1000:
            uuid = f"00000000-0000-4000-8000-{placed:012d}"
            gantt.schedule(ScheduleRequest(spec=ONE, instance_uuids=(uuid,)))
            placed += 1
    return found | {float(placed)}


@pytest.mark.parametrize("use_placement", ["auto", "never"])
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("said", [None, 0.0, 2.5])
def test_one_host_is_one_figure(
    name: str, said: float | None, use_placement: str
) -> None:
    with opened(use_placement=use_placement) as gantt:
        WAYS[name](gantt, {"cpu_allocation_ratio": said})
        usual = 16.0 if name in ("a_feed", "novas_object") else 4.0
        assert figures(gantt) == {said * 4 if said else usual}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"initial_cpu_allocation_ratio": 3.0}, 12.0),
        ({"initial_cpu_allocation_ratio": 3.0, "cpu_allocation_ratio": 2.0}, 8.0),
    ],
)
def test_novas_options_are_for_what_nova_reports(
    options: dict[str, float], expected: float
) -> None:
    with opened(**options) as gantt:
        WAYS["a_feed"](gantt, {})
        assert figures(gantt) == {expected}
    with opened(**options) as gantt:
        WAYS["an_agent"](gantt, {})
        assert figures(gantt) == {4.0}


def test_a_report_of_something_else_leaves_the_ratio_alone() -> None:
    with opened() as gantt:
        WAYS["a_feed"](gantt, {})
        gantt.update_host("h1", "h1", HostStats(host_ip="10.0.0.1"))
        assert figures(gantt) == {16.0}
    with opened() as gantt:
        gantt.update_host("h1", "h1", HostStats(cpu_allocation_ratio=2.0))
        WAYS["an_agent"](gantt, {})
        assert figures(gantt) == {8.0}


def test_over_http_by_the_command_and_in_words_it_is_the_same(tmp_path: Path) -> None:
    with inprocess.service(tmp_path) as url:
        typed = Program(program, url)
        words = [f"{name}={value}" for name, value in {**SIZE, **FREE}.items()]
        typed.do("host", "update", "h1", *words)
        books = RemoteGantt(url, token="admin")
        SchedulerClient(books).update_resource_stats(None, "h2", {**SIZE, **FREE})
        WAYS["novas_object"](Named(books, "h3"), {})
        small = "vcpus=1,memory_mb=1024,disk_gb=1"
        fleet = "1xvcpus=4,memory_mb=65536,disk_gb=1000"
        hosts = typed.ask("capacity", small)[0]["hosts"]
        assert hosts == {"h1": 4, "h2": 4, "h3": 16}
        bought = typed.ask("capacity", small, "--what-if", what_if(tmp_path, fleet))
        assert bought["flavors"][0]["what_if"]["hosts"]["what-if-1"] == 4
        shown = typed.do("host", "list")
        assert "/4 x 4" in shown
        assert typed.ask("host", "show", "h3")["ratios"]["VCPU"] == 4.0


def what_if(folder: Path, fleet: str) -> str:
    path = folder / "what-if.toml"
    path.write_text(f'[[add]]\nfleet = "{fleet}"\n')
    return str(path)


class Named:
    """Another service, whose only host has another name."""

    def __init__(self, books: RemoteGantt, host: str) -> None:
        self._books = books
        self._host = host

    def update_host(self, host: str, node: str | None, stats: HostStats) -> object:
        return self._books.update_host(self._host, self._host, stats)
