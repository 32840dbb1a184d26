"""What an agent says: all of it first, then what changed, each number one meaning."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gantt
from gantt.agent.collectors.contract import Part
from gantt.agent.files import Files
from gantt.agent.loop import Agent, Pace
from gantt.agent.machine import all_collectors
from gantt.agent.reporter import Reporter
from gantt.engine.gantt import Gantt
from gantt.errors import Forbidden, Unavailable
from gantt.model.hosts import Instance
from gantt.model.needs import Needs, needs_of
from gantt.model.reports import Report, ReportOutcome
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from tests.agent.trees import GPU, Tree

FIELDS: dict[str, Any] = {
    "vcpus": 8,
    "memory_mb": 1024,
    "local_gb": 10,
    "traits": ("HW_CPU_X86_AVX",),
    "host_ip": "10.0.0.1",
    "metrics": [{"name": "cpu.percent", "value": 0.5}],
}


class Line:
    """A way to a real Gantt that can break: ``before`` or ``after`` it did what was
    asked."""

    def __init__(self, books: Gantt) -> None:
        self.books = books
        self.sent: list[Report] = []
        self.asked_needs = 0
        self.breaks: list[str] = []

    def needs(self) -> Needs:
        self.asked_needs += 1
        return self.books.needs()

    def report_hosts(
        self, reports: Iterable[Report | bytes]
    ) -> tuple[ReportOutcome, ...]:
        said = [one for one in reports if isinstance(one, Report)]
        self.sent += said
        how = self.breaks.pop(0) if self.breaks else ""
        if how == "before":
            raise Unavailable("away")
        if how == "forbidden":
            raise Forbidden("no")
        if how == "too old":
            (one,) = said
            said = [msgspec.structs.replace(one, taken_at=0)]
        found = self.books.report_hosts(said)
        if how == "after":
            raise Unavailable("the answer was lost")
        return found


class Machine:
    """A collector whose findings a test sets."""

    provides = frozenset(FIELDS)

    def __init__(self) -> None:
        self.fields = dict(FIELDS)
        self.unread = ""

    def collect(self, files: Files) -> dict[str, Any]:
        if self.unread:
            files.problem(f"/proc/{self.unread}", "gone")
        return {k: v for k, v in self.fields.items() if k != self.unread}


class Desk:
    """An agent with a machine, and the Gantt that it reports to."""

    def __init__(self, books: Gantt) -> None:
        self.books, self.line, self.machine = books, Line(books), Machine()
        self.slept: list[float] = []
        self.start("a")

    def start(self, incarnation: str, at: int = 0) -> None:
        reporter = Reporter("h", "h", incarnation)
        self.agent = Agent(
            self.line,
            reporter,
            [self.machine],
            now=lambda: at or time.time_ns() // 1000,
            sleep=self._sleep,
            rng=random.Random(1),
        )

    def report(self, **fields: Any) -> list[Report]:
        """What it sends when this is what it finds."""
        self.machine.fields |= fields
        before = len(self.line.sent)
        self.agent.report()
        return self.line.sent[before:]

    @property
    def known(self) -> dict[str, Any]:
        (view,) = self.books.list_hosts(host="h")
        return view.stats

    def _sleep(self, seconds: float) -> bool:
        self.slept.append(seconds)
        return len(self.slept) >= 12


@pytest.fixture
def desk(books: Gantt) -> Desk:
    return Desk(books)


def said(report: Report) -> set[str]:
    return {
        name
        for name in report.fields.__struct_fields__
        if str(getattr(report.fields, name)) != "UNSET"
    }


def test_all_of_it_then_what_changed_then_nothing(desk: Desk) -> None:
    (first,) = desk.report()
    assert (first.full, first.sequence) == (True, 1)
    assert {"vcpus", "free_ram_mb", "traits", "host_ip"} <= said(first)
    (second,) = desk.report(memory_mb=2048)
    assert (second.full, second.sequence) == (False, 2)
    assert said(second) == {"memory_mb", "free_ram_mb"}
    for _ in range(3):
        (beat,) = desk.report()
        assert (beat.full, beat.sequence, said(beat)) == (False, 2, set())
    assert (desk.known["memory_mb"], desk.line.asked_needs) == (2048, 1)


def test_what_is_gone_is_told(desk: Desk) -> None:
    desk.report()
    del desk.machine.fields["host_ip"], desk.machine.fields["traits"]
    (report,) = desk.report()
    assert said(report) == {"host_ip", "traits"}
    assert (desk.known["host_ip"], desk.known["traits"]) == (None, [])
    (beat,) = desk.report()
    assert said(beat) == set()
    (back,) = desk.report(host_ip="10.0.0.2")
    assert said(back) == {"host_ip"}


@pytest.mark.parametrize("field", ["host_ip", "vcpus", "traits", "metrics"])
def test_what_cannot_be_read_stays_as_it_was(desk: Desk, field: str) -> None:
    desk.report()
    before = desk.known
    desk.machine.unread = field
    (beat,) = desk.report()
    assert said(beat) == set()
    # Also for an agent that starts while it cannot be read.
    desk.start("b")
    (full,) = desk.report()
    assert full.full and field in full.unread
    assert desk.known == before
    assert desk.agent.counts()["unreadable"] == 1


def test_metrics_that_hardly_moved_are_no_news(desk: Desk) -> None:
    desk.report()
    metric = {"name": "cpu.percent", "value": 0.53}
    assert said(desk.report(metrics=[metric])[0]) == set()
    # Compared with what was sent, so that a slow drift is told.
    assert said(desk.report(metrics=[{**metric, "value": 0.56}])[0]) == {"metrics"}
    more = [{**metric, "value": 0.56}, {"name": "cpu.frequency", "value": 2000}]
    assert said(desk.report(metrics=more)[0]) == {"metrics"}
    more = [more[0], {"name": "cpu.frequency", "value": 2090}]
    assert said(desk.report(metrics=more)[0]) == set()


def test_only_what_is_needed_is_sent(books: Gantt) -> None:
    books.decide_by(SchedulerOptions(enabled_filters=("ComputeFilter",)))
    desk = Desk(books)
    (report,) = desk.report()
    assert "host_ip" not in said(report) and "metrics" not in said(report)
    assert "vcpus" in said(report)


def test_other_needs_are_answered_with_one_full_report(desk: Desk) -> None:
    desk.report()
    options = SchedulerOptions(enabled_filters=("ComputeFilter",))
    desk.books.decide_by(options)
    refused, full = desk.report(memory_mb=2048)
    assert not refused.full and full.full
    assert "host_ip" not in said(full)
    assert (desk.known["memory_mb"], desk.known["host_ip"]) == (2048, None)
    assert desk.line.asked_needs == 2
    (beat,) = desk.report()
    assert said(beat) == set()


def test_a_host_that_was_deleted_is_reported_anew(desk: Desk) -> None:
    desk.report()
    desk.books.delete_host("h", "h")
    beat, full = desk.report()
    assert not beat.full and full.full
    assert desk.known["vcpus"] == 8


def test_an_agent_that_starts_anew_goes_on(desk: Desk) -> None:
    desk.report()
    desk.start("b")
    (first,) = desk.report(memory_mb=2048)
    assert (first.full, first.sequence, first.incarnation) == (True, 1, "b")
    assert desk.known["memory_mb"] == 2048


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_lost_answer_is_asked_for_again_with_the_same_report(
    desk: Desk, how: str
) -> None:
    desk.report()
    desk.line.breaks = [how, how, how]
    lost = [*desk.report(memory_mb=2048), *desk.report(memory_mb=3072)]
    lost += desk.report(memory_mb=4096)
    assert len(lost) == 3 and len(set(map(id, lost))) == 1
    again, delta = desk.report()
    assert again is lost[0] and (delta.full, delta.sequence) == (False, 3)
    assert desk.known["memory_mb"] == 4096
    assert desk.agent.counts()["attempts_failed"] == 3


def test_no_number_ever_means_two_things(desk: Desk) -> None:
    rng = random.Random(7)
    breaks = ["", "", "before", "after", "forbidden"]
    for number in range(200):
        desk.line.breaks = [rng.choice(breaks)]
        desk.report(memory_mb=1024 + rng.randrange(3), host_ip=f"10.0.0.{number % 2}")
        if rng.random() < 0.05:
            desk.start(f"agent-{number}")
    desk.line.breaks = []
    desk.report()
    desk.report()
    for name in ("memory_mb", "host_ip"):
        assert desk.known[name] == desk.machine.fields[name]
    refused = desk.books.counts()["reports_refused"]
    assert refused == 0, "nothing was ever missing"
    assert desk.books.counts()["reports_duplicate"] > 0


@pytest.mark.parametrize("how", ["refused", "turned away"])
def test_a_repeated_report_that_is_refused_does_not_free_its_number(
    desk: Desk, how: str
) -> None:
    """The first time it may have been applied."""
    desk.report()
    desk.line.breaks = ["after"]
    (lost,) = desk.report(memory_mb=2048)
    assert desk.known["memory_mb"] == 2048
    desk.line.breaks = ["too old" if how == "refused" else "forbidden"]
    desk.report(memory_mb=4096)
    desk.report()
    last = desk.line.sent[-2] if how == "refused" else desk.line.sent[-1]
    assert (last.full, last.sequence) == (True, lost.sequence + 1)
    assert desk.known["memory_mb"] == 4096
    assert desk.books.counts()["reports_duplicate"] == 0


def test_what_is_refused_is_not_repeated_for_ever(desk: Desk) -> None:
    desk.report()
    # Only a plug-in could say so; it is of no host.
    impossible = [{"name": "cpu.percent", "value": 1.5}]
    for _ in range(2):
        (bad,) = desk.report(metrics=impossible, local_gb=20)
        assert bad.sequence == 2
    assert desk.agent.counts()["reports_refused"] == 2
    assert desk.known["local_gb"] == 10
    (good,) = desk.report(metrics=FIELDS["metrics"])
    assert (good.sequence, good.full) == (2, False)
    assert desk.known["local_gb"] == 20


def test_another_agent_for_the_same_host_is_told_once(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.report()
    first, machine = desk.agent, desk.machine
    desk.start("b")
    desk.report()
    machine.fields["memory_mb"] = 4096
    for _ in range(3):
        before = len(desk.line.sent)
        first.report()
        (beat,) = desk.line.sent[before:]
        assert beat.incarnation == "a"
    assert said(beat) == set() and not beat.full
    assert desk.known["memory_mb"] == 1024
    lines = [one for one in caplog.messages if "started later" in one]
    assert len(lines) == 1


def test_a_clock_that_was_set_back_does_not_silence_an_agent(desk: Desk) -> None:
    desk.report()
    desk.start("b", at=time.time_ns() // 1000 - 60_000_000)
    late, full = desk.report(memory_mb=4096)
    assert late.full and full.full
    assert desk.known["memory_mb"] == 4096
    (delta,) = desk.report(memory_mb=5120)
    assert not delta.full and desk.known["memory_mb"] == 5120


def test_it_asks_less_and_less_often_while_the_service_is_away(desk: Desk) -> None:
    desk.line.breaks = ["before"] * 10
    desk.agent.run()
    waits = desk.slept
    assert len(waits) == 12
    for number, wait in enumerate(waits[:10], 1):
        most = min(10 * 2.0**number, 300)
        assert most / 2 <= wait <= most
    assert len({wait / min(10 * 2.0**n, 300) for n, wait in enumerate(waits, 1)}) > 8
    assert 9 <= waits[10] <= 10, "then it goes on as before"
    assert desk.known["vcpus"] == 8


def test_waits_stay_within_their_bounds() -> None:
    pace, rng = Pace(interval=400.0, most=300.0), random.Random(1)
    for failures in (0, 1, 5, 10_000):
        assert 200 <= pace.wait(failures, rng) <= 400


def test_a_report_from_a_tree_carries_pinned_instances(
    books: Gantt, tmp_path: Path
) -> None:
    """From files to a claim of CPUs and a device: nothing is made by hand between."""
    filters = ("NUMATopologyFilter", "PciPassthroughFilter")
    alias = {"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}
    options = SchedulerOptions(enabled_filters=filters, pci_alias=(alias,))
    books.decide_by(options)
    tree = Tree(tmp_path).furnish()
    agent = Agent(
        Line(books),
        Reporter("h", "h", "a"),
        all_collectors(),
        root=tree.root,
        now=lambda: time.time_ns() // 1000,
        sleep=lambda seconds: True,
    )
    assert agent.report()
    extra = {
        "hw:cpu_policy": "dedicated",
        "hw:mem_page_size": "2048",
        "pci_passthrough:alias": "gpu:1",
    }
    flavor = Flavor(vcpus=4, memory_mb=1024, root_gb=1, extra_specs=extra)
    spec = RequestSpec(flavor, project_id="p", user_id="u")
    instance = "00000000-0000-4000-8000-000000000001"
    books.schedule(ScheduleRequest(spec, (instance,)))
    view = books.host_topology("h", "h")
    second = view.cells[1]
    taken = set(tree.cpus(1)) - set(second.free_cpus)
    assert len(taken) == 4 and not set(tree.cpus(0)) - set(view.cells[0].free_cpus)
    with pytest.raises(gantt.errors.NoValidHost):
        books.schedule(ScheduleRequest(spec, (instance[:-1] + "2",)))
    books.update_instances("h", [Instance(instance)])
    assert GPU in str(books.list_hosts(host="h")[0].stats["pci_stats"])


def test_next_is_the_same_until_it_is_answered() -> None:
    reporter = Reporter("h", "h", "a")
    reporter.needs = needs_of({})
    first = reporter.next(Part({"vcpus": 1}), 1)
    assert reporter.next(Part({"vcpus": 2}), 2) is first
    reporter.turned_away()
    assert reporter.next(Part({"vcpus": 2}), 2).sequence == first.sequence + 1


def test_a_number_that_was_refused_the_first_time_is_not_used() -> None:
    reporter = Reporter("h", "h", "a")
    first = reporter.next(Part({"vcpus": 1}), 1)
    reporter.turned_away()
    assert reporter.next(Part({"vcpus": 2}), 2).sequence == first.sequence


def test_a_list_that_could_not_be_made_is_not_called_unchanged() -> None:
    reporter = Reporter("h", "h", "incarnation")
    listing = {**FIELDS, "instances": [], "lists_instances": True}
    reporter.next(Part(listing), 1)
    reporter.settle(ReportOutcome("h", "h", "applied"))
    unread = frozenset({"instances", "lists_instances", "host_ip"})
    report = reporter.next(Part(FIELDS, unread=unread), 2)
    assert (report.full, report.has_fields) == (False, False)
    assert report.unread == ("instances", "lists_instances")
