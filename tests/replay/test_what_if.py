"""What if: a copy of the books is changed by commands, and the books are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import Invalid
from gantt.model.hosts import HostAggregate
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.replay.run import ReplaySettings
from gantt.replay.snapshots import LoadedSnapshot, of_database, of_file, of_lines
from gantt.replay.trace_trial import try_trace
from gantt.replay.traces import Trace
from gantt.replay.what_if import Added, AllocationRatio, WhatIf
from gantt.replay.what_if_file import read_what_if
from gantt.replay.what_if_run import tried
from gantt.scheduler.options import SchedulerOptions
from gantt.store import open_store
from tests.replay.fleets import arrival, machines
from tests.replay.recorded import add_hosts, ask, service, uuid

SMALL = RequestSpec(Flavor(1, 1024, name="small"))


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Gantt]:
    with service(tmp_path, scheduler=SchedulerOptions()) as gantt:
        add_hosts(gantt, "h0", "h1", "h2")
        zone = {"availability_zone": "a"}
        aggregate = HostAggregate(uuid(50), "a", None, frozenset({"h0"}), zone)
        gantt.set_host_aggregates((aggregate,))
        assert ask(gantt, 1, vcpus=4) == ("h0",)
        yield gantt


def written(folder: Path, text: str) -> WhatIf:
    path = folder / "what-if.toml"
    path.write_text(text)
    return read_what_if(path)


def capacity(snapshot: LoadedSnapshot, what_if: WhatIf) -> dict[str, int]:
    gantt = tried(snapshot, what_if)
    try:
        return dict(gantt.capacity(what_if.asked(SMALL)).hosts)
    finally:
        gantt.close()


def snapshot_of(gantt: Gantt) -> LoadedSnapshot:
    return of_lines(gantt.snapshot_lines(), "here")


def test_a_copy_answers_as_the_books_do(live: Gantt, tmp_path: Path) -> None:
    usual = dict(live.capacity(SMALL).hosts)
    assert usual == {"h0": 12, "h1": 16, "h2": 16}
    path = next((tmp_path / "record").iterdir())
    live._recording.flush()  # type: ignore[union-attr]
    url = f"sqlite:///{tmp_path}/gantt.db"
    for one in (snapshot_of(live), of_database(url), of_file(path)):
        assert one.cursor.revision == live.revision
        assert capacity(one, WhatIf()) == usual


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('remove = ["h1"]', {"h1": 0}),
        ('drain = ["h1", "h2"]', {"h1": 0, "h2": 0}),
        ('[[add]]\ncount = 2\nlike = "h0"', {"what-if-1": 16, "what-if-2": 16}),
        ('[[add]]\nfleet = "1xvcpus=3,memory_mb=9000"', {"what-if-1": 3}),
        (
            '[[ratios]]\nresource_class = "VCPU"\nratio = 2.0\nhosts = ["h1"]',
            {"h1": 32},
        ),
        (
            '[[ratios]]\nresource_class = "VCPU"\nratio = 0.5',
            {"h0": 4, "h1": 8, "h2": 8},
        ),
        ('[[flavors]]\nname = "small"\nvcpus = 4', {"h0": 3, "h1": 4, "h2": 4}),
        ('[options]\nenabled_filters = ["ComputeFilter"]', {}),
    ],
)
def test_what_changes_is_what_was_said(
    live: Gantt, tmp_path: Path, text: str, expected: dict[str, int]
) -> None:
    usual = {"h0": 12, "h1": 16, "h2": 16}
    found = capacity(snapshot_of(live), written(tmp_path, text))
    assert found == {k: v for k, v in (usual | expected).items() if v}


def test_a_host_like_another_is_in_its_zone(live: Gantt, tmp_path: Path) -> None:
    what_if = written(
        tmp_path,
        '[[add]]\nlike = "h0"\n[[add]]\nfleet = "1xvcpus=9,memory_mb=4096,zone=a"',
    )
    gantt = tried(snapshot_of(live), what_if)
    (zone,) = gantt.list_host_aggregates()
    assert zone.hosts == {"h0", "what-if-1", "what-if-2"}
    spec = RequestSpec(Flavor(16, 1024), availability_zone="a")
    request = ScheduleRequest(spec, (uuid(7),), dry_run=True)
    assert gantt.decide(request).chosen[0][0].service_host == "what-if-1"
    gantt.close()


def test_another_policy_picks_another_host(live: Gantt) -> None:
    names = ("cpu_weight_multiplier", "ram_weight_multiplier")
    stack = dict.fromkeys(names, -9.0) | {"io_ops_weight_multiplier": 0.0}
    gantt = tried(snapshot_of(live), WhatIf(options=stack))
    request = ScheduleRequest(SMALL, (uuid(7),), dry_run=True)
    assert live.decide(request).chosen[0][0].service_host == "h1"
    assert gantt.decide(request).chosen[0][0].service_host == "h0"
    gantt.close()


def test_the_live_books_are_untouched(live: Gantt, tmp_path: Path) -> None:
    """Whatever is done to the copy, claims included."""
    store = open_store(f"sqlite:///{tmp_path}/gantt.db")
    before = (live.revision, store.cursor(), store.fingerprint())
    what_if = WhatIf(
        (Added(like="h0"),), ("h1",), ("h2",), (AllocationRatio("VCPU", 9.0),), {}, ()
    )
    for snapshot in (snapshot_of(live), of_database(f"sqlite:///{tmp_path}/gantt.db")):
        gantt = tried(snapshot, what_if)
        assert ask(gantt, 70, 71)
        assert gantt.revision > before[0]
        gantt.close()
    assert (live.revision, store.cursor(), store.fingerprint()) == before
    assert dict(live.capacity(SMALL).hosts) == {"h0": 12, "h1": 16, "h2": 16}
    store.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('removed = ["h1"]', "removed, which is not known: write add"),
        ("[[add]]\ncount = 2", "either like or fleet"),
        ('[[add]]\nlike = "h0"\ncuont = 2', "it has cuont, which is not known"),
        ("[[ratios]]\nresource_class = 'VCPU'\nratio = -1.0", "ratio is -1.0"),
        ("no toml", "what-if.toml"),
        ("[[flavors]]\nname = 'a'\n[[flavors]]\nname = 'a'", "has this name too"),
        ("[[add]]\nfleet = '2xvcpus=1'\ncount = 7", "write 7x before"),
        ("x = " + "[" * 20_000, "nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        written(tmp_path, text)
    with pytest.raises(Invalid, match="cannot be read"):
        read_what_if(tmp_path / "missing")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"drain": ("h7",)}, "there is no host h7"),
        ({"remove": ("h8",)}, "no host h8"),
        ({"options": {"cpu_weight": 1.0}}, "cpu_weight, which"),
        ({"options": {"host_subset_size": "many"}}, "host_subset_size"),
        ({"options": {"placement": "http://x"}}, "placement, which"),
        ({"options": {"multipliers": 5}}, "must be a table"),
        ({"options": {"kept_changes": -1}}, "kept_changes is -1, which"),
        ({"options": {"multipliers": {"bogus": 1.0}}}, "bogus, which"),
        (
            {"add": (Added(fleet="100001xvcpus=1,memory_mb=1"),)},
            "at most 100,000 may be added",
        ),
        (
            {"ratios": (AllocationRatio("VCPUS", 8.0),)},
            "no host has an inventory of VCPUS",
        ),
    ],
)
def test_what_the_books_do_not_have_is_refused(
    live: Gantt, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        tried(snapshot_of(live), WhatIf(**changes))


def test_a_snapshot_that_ended_early(live: Gantt) -> None:
    lines = list(live.snapshot_lines())
    with pytest.raises(Invalid, match="no whole snapshot"):
        of_lines(lines[: len(lines) // 2], "here")


class Arrivals:
    """A reader of a trace in memory."""

    def __init__(self) -> None:
        self.skipped: list[Any] = []

    def arrivals(self) -> Iterator[Any]:
        yield from (arrival(n, f"i{n}", vcpus=2) for n in range(8))


def test_a_trace_is_replayed_as_it_is_and_changed() -> None:
    what_if = WhatIf(remove=("h1",), options={"cpu_weight_multiplier": -1.0})
    trace = Trace("test", Arrivals())
    found = try_trace(trace, machines(3), ReplaySettings(), what_if)
    assert (found.live.placed, found.what_if.placed) == (6, 4)
    assert (found.live.hosts, found.what_if.hosts) == (3, 2)
    assert found.only_live == 2
    assert found.arrivals == found.same + found.moved + found.only_live
