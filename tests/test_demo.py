"""What ``make demo`` serves: hosts with a history, refusals and dry runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import gantt
from gantt.conf import load
from gantt.model.protocol import GanttProtocol
from gantt.model.spec import Flavor, RequestSpec
from scripts import demo_fleet
from tests.tidy.source import ROOT

DAYS = demo_fleet.DAYS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("demo")
    demo_fleet.main(made, days=DAYS)
    return made


@pytest.fixture
def books(folder: Path) -> Iterator[GanttProtocol]:
    settings = load([str(folder / "gantt.conf")])
    with closing(gantt.connect(settings.database_url)) as found:
        yield found


def test_there_are_fifty_hosts_with_instances(books: GanttProtocol) -> None:
    hosts = books.list_hosts()
    assert len(hosts) == demo_fleet.HOSTS
    assert sum(len(host.instances) for host in hosts) > 10
    assert [host.host for host in hosts if "operator" in host.service] == ["gen-05"]


def test_hosts_name_what_runs_on_them(books: GanttProtocol) -> None:
    """What has ended is no longer there, by any of the figures."""
    hosts = [one for one in books.list_hosts() if not one.host.startswith("net-")]
    for host in hosts:
        running = host.stats["running_vms"], int(host.stats["stats"]["num_instances"])
        assert {*running, len(host.instances)} == {len(host.instances)}, host.host


def test_use_has_a_history_of_hours(books: GanttProtocol) -> None:
    found = books.usage_history("VCPU")
    assert len(found) == DAYS * 24
    assert found[-1].used_avg > found[0].used_avg
    north = books.usage_history("VCPU", zone="north")
    south = books.usage_history("VCPU", zone="south")
    assert [one.used_avg for one in found] == pytest.approx(
        [one.used_avg + other.used_avg for one, other in zip(north, south, strict=True)]
    )
    assert found[-1].start - found[0].start == (DAYS * 24 - 1) * demo_fleet.HOUR_US


def test_the_last_requests_are_refusals_and_dry_runs(
    books: GanttProtocol, folder: Path
) -> None:
    found = books.decisions(limit=6)
    assert [(one.failure is None, one.is_dry_run) for one in found] == (
        [(True, True)] * 2 + [(False, False)] * 4
    )
    refused = (folder / "refused").read_text(encoding="utf-8")
    assert found[2].request_id == refused
    assert all(one.why and one.why.change for one in found[2:])


def test_there_is_room_for_more(books: GanttProtocol) -> None:
    assert books.capacity(RequestSpec(Flavor(8, 32_768, 80))).total > 0


def test_room_runs_out_within_days(books: GanttProtocol) -> None:
    (vcpus,) = (one for one in books.runs_out().outlooks if one.name == "VCPU")
    assert vcpus.state == "forecast"
    assert vcpus.latest_until is not None


def test_cpus_are_pinned_on_hosts_with_cells(books: GanttProtocol) -> None:
    cells = [
        cell
        for host in books.list_hosts()
        if host.host.startswith("net-")
        for cell in books.host_topology(host.host, host.node).cells
    ]
    assert len(cells) == 16
    assert any(cell.claimed_cpus for cell in cells)


def test_a_second_start_makes_it_anew(tmp_path: Path) -> None:
    for _ in range(2):
        demo_fleet.main(tmp_path, days=0)
        with closing(gantt.connect(f"sqlite:///{tmp_path / 'gantt.db'}")) as found:
            assert len(found.decisions(limit=50)) == 7


def test_make_serves_it() -> None:
    script = (ROOT / "scripts" / "demo").read_text(encoding="utf-8")
    assert "scripts.demo_fleet var/demo" in script
    assert "--config-file var/demo/gantt.conf" in script
