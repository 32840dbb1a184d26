"""Decisions of all processes, found by any."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from uuid import uuid4

import pytest
from msgspec import msgpack
from msgspec.structs import asdict, replace

from gantt.engine.clock import SystemClock
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.scheduling import shared_records
from gantt.engine.scheduling.records import Records
from gantt.engine.threads import SystemThreads
from gantt.errors import NoValidHost, StoreFailed
from gantt.model.audit import Finding
from gantt.model.hosts import HostStats
from gantt.model.selection import (
    Asked,
    Decision,
    DecisionPlace,
    KeptRequest,
    KeptSpec,
    Limits,
    Score,
    Scoring,
    Selection,
    Step,
    Why,
)
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import RecordPage, SharedDecision, Trimmed
from tests.engine.conftest import Connect, opened
from tests.waiting import until

ODD = "req-%_/'\0" + "é" * 240


def report(books: Gantt, *hosts: str) -> None:
    for host in hosts:
        stats = HostStats(
            vcpus=4, memory_mb=8192, local_gb=100, hypervisor_hostname=host
        )
        books.update_host(host, host, stats)


def decide(books: Gantt, name: str, vcpus: int = 1, project: str = "p") -> str:
    """The instance it was for."""
    uuid = str(uuid4())
    spec = RequestSpec(Flavor(vcpus=vcpus, memory_mb=64, root_gb=1), project_id=project)
    try:
        books.schedule(ScheduleRequest(spec, (uuid,), request_id=name))
    except NoValidHost:
        assert vcpus > 4
    return uuid


def names(books: Gantt, **asked: str | int | None) -> list[str]:
    return [one.request_id for one in books.decisions(**asked)]  # type: ignore[arg-type]


def test_any_process_finds_the_decisions_of_all(url: str, connect: Connect) -> None:
    open_gantt(url).close()  # with the names of resource classes
    one, two = connect(opened(url)), connect(opened(url))
    report(one, "a", "b")
    first, second = decide(one, "req-1"), decide(two, ODD, vcpus=99, project="q")
    until(lambda: names(two, request_id="req-1") == ["req-1"])
    until(lambda: names(one, request_id=ODD) == [ODD])
    assert two.decisions(request_id="req-1") == one.decisions(instance_uuid=first)
    assert one.decisions(request_id=ODD) == two.decisions(instance_uuid=second)
    assert names(one, instance_uuid="%") == names(one, project_id="r") == []
    decide(one, "req-2")
    until(lambda: names(two, request_id="req-2") == ["req-2"])
    dry = two.decide(ScheduleRequest(RequestSpec(Flavor(vcpus=1, memory_mb=64))))
    until(lambda: one.decisions() == two.decisions())
    latest, *rest = one.decisions()
    assert latest == dry
    assert [found.request_id for found in rest] == ["req-2", ODD, "req-1"]
    assert rest[0].scores[0].parts
    assert names(one, project_id="q") == [ODD]
    assert names(two, limit=1) == [""]
    assert names(two, limit=-1) == []
    decide(two, "req-3")
    for books in (one, two):
        books.close()  # and none that waited is lost
    policy = SchedulerOptions(shared_records=2)
    later = connect(opened(url), scheduler=policy, sweep_s=0.01)
    until(lambda: names(later) == ["req-3", ""])
    alone = connect(opened(url), scheduler=replace(policy, shared_records=0))
    assert names(alone) == []


# -- without a database -----------------------------------------------------------


def place_of(row: SharedDecision) -> DecisionPlace:
    return (row.at, row.number, row.process)


class Table:
    """A table in memory; fails as often as a test says."""

    def __init__(self) -> None:
        self.rows: list[SharedDecision] = []
        self.failures = 0
        self.writes = 0
        self.looks = 0

    def fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreFailed("no answer")

    def append(self, rows: Sequence[SharedDecision]) -> int:
        self.fail()
        self.writes += 1
        self.rows.extend(rows)
        return 0

    def page(self, asked: Asked) -> RecordPage[SharedDecision]:
        self.fail()
        self.looks += 1
        after = asked.after
        rows = sorted(
            (one for one in self.rows if after is None or place_of(one) < after),
            key=place_of,
        )
        few = rows[::-1][: asked.limit]
        return RecordPage({place_of(one): one for one in few}, len(few) == len(rows))

    def trim(self, drop: int) -> Trimmed:
        self.fail()
        dropped = self.rows[:-drop]
        del self.rows[:-drop]
        return Trimmed(len(dropped), len(self.rows))


class Held(SystemThreads):
    """Threads that never run, so that a test says when they write."""

    def start(self, run: Callable[[], None], name: str) -> Held:
        del run, name
        return self

    def join(self) -> None:
        """Nothing to wait for."""


Join = Callable[..., Records]


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def join(table: Table) -> Iterator[Join]:
    """A process that shares ``table``."""
    joined: list[Records] = []

    def of(
        *,
        is_held: bool = False,
        backlog: int = 100,
        scores: int = 500,
        records: int = 10_000,
    ) -> Records:
        process = Records(100)
        process.share(
            table,
            f"process {len(joined)}",
            SchedulerOptions(
                shared_backlog=backlog, shared_scores=scores, shared_records=records
            ),
            SystemClock(),
            Held() if is_held else SystemThreads(),
        )
        joined.append(process)
        return process

    yield of
    for one in joined:
        one.close()


def decision(name: str, at: int = 0, instances: int = 1) -> Decision:
    uuids = tuple(f"{name}-{number}" for number in range(instances))
    return Decision(name, uuids, "p", 1, at, "filter", 1, (), ())


def kept(table: Table) -> list[str]:
    return [row.request_id for row in table.rows]


def test_the_oldest_successes_are_dropped_first(table: Table, join: Join) -> None:
    records = join(is_held=True, backlog=3)
    for number in range(6):
        failure = "none" if number in (0, 4) else None
        records.add(replace(decision(f"d{number}"), failure=failure))
    counts = records.counts()
    assert (counts["decisions_waiting"], counts["decisions_unshared"]) == (3, 3)
    assert not table.rows
    records.close()
    assert kept(table) == ["d0", "d4", "d5"]
    assert [row.is_refused for row in table.rows] == [True, True, False]
    # As many instances as sixteen for each count as too many.
    more = join(is_held=True, backlog=3)
    for name in ("a", "b", "c"):
        more.add(decision(name, instances=20))
    more.close()
    assert kept(table)[3:] == ["b", "c"]


class Board:
    """Scores of one host."""

    def scoring(self) -> Scoring:
        return Scoring([("h", "n")], [1.0], [None], [])

    def scores(self) -> tuple[Score, ...]:
        return self.scoring().scores()


def test_scores_are_shared_up_to_a_rate(join: Join) -> None:
    one, two = join(is_held=True, scores=2), join()
    for number in range(3):
        one.add(decision(f"d{number}", number), Board())  # type: ignore[arg-type]
    one.close()
    assert one.counts()["decisions_unscored"] == 1
    assert [len(found.scores) for found in one.decisions()] == [
        1,
        1,
        1,
    ]
    assert [len(found.scores) for found in two.decisions()] == [
        0,
        1,
        1,
    ]


def test_waiting_decisions_are_written_after_an_outage(
    table: Table, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    records, other = join(), join(is_held=True)
    other.add(decision("other", 5))
    table.failures = 3
    records.add(decision("a", 10))
    # Own decisions are found nevertheless, without waiting for more.
    since = time.monotonic()
    assert other.decisions(request_id="a") == ()
    assert [one.request_id for one in other.decisions()] == ["other"]
    assert time.monotonic() - since < 0.2
    until(lambda: kept(table) == ["a"])
    assert caplog.text.count("no answer") == 2  # once for each process
    assert [one.request_id for one in other.decisions()] == [
        "a",
        "other",
    ]
    assert records.counts()["decisions_waiting"] == 0


def test_a_leader_that_does_not_share_trims_the_table(table: Table) -> None:
    rows = [SharedDecision("p", n, n, "r", None, False, 1, "", b"") for n in range(6)]
    records = Records(100)
    options = SchedulerOptions(shared_records=0)
    records.share(table, "leader", options, SystemClock(), SystemThreads())
    (leader_task,) = records.leader_tasks()
    records.add(decision("a"))
    assert leader_task.is_due()
    assert not table.rows
    table.rows = rows * 2_000
    assert (leader_task.run(), leader_task.is_due()) == (2_000, False)
    counts = records.counts()
    assert (counts["decisions_trimmed"], counts["decisions_shared"]) == (2_000, 10_000)


def test_writers_trim_the_table_if_the_leader_does_not(
    table: Table, join: Join
) -> None:
    """The leader may be of a release that knows no such table."""
    table.rows = [
        SharedDecision("p", n, n, "r", None, False, 1, "", b"") for n in range(12_000)
    ]
    writer = join(is_held=True, backlog=20_000, records=10)
    for _ in range(10_000):
        writer.add(decision("d"))
    assert writer.sharing is not None
    writer.sharing.writer.write()
    assert len(table.rows) == 22_000
    writer.add(decision("d"))
    writer.close()
    assert len(table.rows) == 10_000
    assert writer.counts()["decisions_trimmed"] == 12_001


def test_a_lookup_by_name_looks_again(table: Table, join: Join) -> None:
    one, two = join(), join()
    two.add(decision("b"))
    since = time.monotonic()
    assert [found.request_id for found in one.decisions(request_id="b")] == ["b"]
    assert time.monotonic() - since >= 0.15
    assert one.decision_page(Asked("c", limit=0)).decisions == ()
    assert one.decisions(request_id="c") == ()


class Endless(SystemClock):
    """While one waits, another asks."""

    def __init__(self) -> None:
        self.waits = 0
        self.ask: Callable[[], object] = int

    def sleep(self, seconds: float) -> None:
        assert seconds < 1
        self.waits += 1
        self.ask()


def test_waiting_lookups_are_limited(table: Table) -> None:
    clock = Endless()
    records = Records(1)
    records.share(table, "p", SchedulerOptions(), clock, Held())
    clock.ask = lambda: records.decisions(request_id="x")
    assert records.decisions(request_id="x") == ()
    assert (clock.waits, table.looks) == (8, 8 + 8 + 1)
    assert records.counts()["decisions_unawaited"] == 1
    clock.ask = int
    assert records.decisions(request_id="x") == ()
    assert (clock.waits, table.looks) == (9, 19)


def test_duplicates_and_unknown_forms_are_skipped(table: Table, join: Join) -> None:
    one, two = join(is_held=True), join(is_held=True)
    for at in (1, 2):
        one.add(decision(f"d{at}", at))
    one.close()
    (row, _) = table.rows
    for text in (
        msgpack.encode([2, "news"]),
        msgpack.encode({"form": 2}),
        b"\xc1",
        b"",
    ):
        table.rows.append(replace(row, number=len(table.rows), record=text))
    table.rows.append(row)
    for records in (one, two):
        assert [found.at for found in records.decisions()] == [
            2,
            1,
        ]


def test_a_record_round_trips() -> None:
    scoring = Scoring(
        [("a", "n"), ("b", "n")],
        [2.0, 0.5],
        [1.5, None],
        [("X", [4.0, 3.0], 3.0, 4.0, 2.0), ("Y", 7.0, 0.0, 0.0, [1.0, 2.0])],
    )
    whole = replace(
        decision("a", 7),
        steps=(Step("f", 2, 1, 1),),
        why=Why((Step("f", 2, 1, 1),), change="ask for less"),
        chosen=((Selection(None, "h", "n", limits=Limits({"cells": [1]})),),),
        timings={"decide": 0.25},
        failure="none",
    )
    scores = (
        Score("a", "n", 2.0, {"X": (4.0, 2.0), "Y": (7.0, 0.0)}, 1.5),
        Score("b", "n", 0.5, {"X": (3.0, 0.0), "Y": (7.0, 0.0)}),
    )
    scored = replace(whole, scores=scores)
    assert shared_records.decode(shared_records.encode(whole, scoring)) == scored
    text = shared_records.encode(scored, None)
    assert shared_records.decode(text) == scored
    # A later release may add fields, an older one had fewer.
    parts = msgpack.decode(text)
    assert shared_records.decode(msgpack.encode([*parts, "more"])) == scored
    found = shared_records.decode(msgpack.encode(parts[:-6]))
    assert found is not None
    assert asdict(found) == {**asdict(scored), "timings": {}, "is_dry_run": False}
    undone = Finding(kind="no_workload", host="h", allocations={"p": {"VCPU": 2}})
    repaired = replace(whole, repair=undone)
    assert shared_records.decode(shared_records.encode(repaired, None)) == repaired
    kept = KeptRequest(KeptSpec(ignore_hosts=("h",)), ("hint x",), ("AFilter",))
    asked = replace(whole, request=kept)
    assert shared_records.decode(shared_records.encode(asked, None)) == asked


def test_a_record_that_cannot_be_encoded_is_skipped(
    table: Table, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    records = join(is_held=True)
    records.add(replace(decision("odd"), timings={"x": object()}))
    records.add(decision("even"))
    records.close()
    assert kept(table) == ["even"]
    assert records.counts()["decisions_unshared"] == 1
    assert "the record of 'odd' is not shared" in caplog.text
