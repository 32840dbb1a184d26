"""Reports of hosts while something else is on its way to the disk."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Busy
from gantt.model.commands import SetHostAggregates, UpdateService
from gantt.model.hosts import HostAggregate, HostStats, Service
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from gantt.store import open_store
from gantt.store.outcomes import DefiniteAbort
from tests.engine.conftest import Connect
from tests.engine.faults import Callers, FaultyStore
from tests.engine.test_clock import Wall

AGGREGATE = HostAggregate("00000000-0000-4000-8000-0000000000a1", "a", None)


def report(books: Gantt, host: str, **facts: Any) -> tuple[str, dict[str, object]]:
    stats = HostStats(vcpus=4, memory_mb=4096, local_gb=10, free_disk_gb=10, **facts)
    view = books.update_host(host, host, stats)
    return view.host, view.service


@pytest.fixture
def books(store: FaultyStore, connect: Connect) -> Gantt:
    books = connect(store, commit_attempts=1)
    books.submit(standard_names())
    for host in ("h1", "h2"):
        report(books, host)
    return books


def test_unchanged_report_does_not_wait(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    hold = store.hold("commit")
    writer = callers.run(books.submit, UpdateService(Service("h1", disabled=True)))
    hold.wait()
    assert callers.run(report, books, "h2").result(20) == ("h2", {})
    waiting = callers.run(report, books, "h1")
    with pytest.raises(TimeoutError):
        waiting.result(0.1)
    hold.release()
    assert waiting.result(20)[1]["disabled"] is True
    writer.result(20)


def test_what_is_rolled_back_is_never_answered(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    hold = store.hold("commit")
    writer = callers.run(books.submit, UpdateService(Service("h1", disabled=True)))
    hold.wait()
    waiting = callers.run(report, books, "h1")
    hold.release(DefiniteAbort("deadlock"))
    assert waiting.result(20) == ("h1", {})
    with pytest.raises(Busy):
        writer.result(20)
    # What was taken back is as settled as what was not.
    hold = store.hold("commit")
    writer = callers.run(books.submit, UpdateService(Service("h2")))
    hold.wait()
    assert callers.run(report, books, "h1").result(20) == ("h1", {})
    hold.release()
    writer.result(20)


def test_changed_aggregates_wait_for_durability(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    hold = store.hold("commit")
    said = SetHostAggregates((AGGREGATE,))
    writer = callers.run(books.submit, said)
    hold.wait()
    waiting = callers.run(report, books, "h2")
    with pytest.raises(TimeoutError):
        waiting.result(0.1)
    hold.release()
    waiting.result(20)
    writer.result(20)


def test_only_changed_reports_reach_the_committer(
    store: FaultyStore, books: Gantt
) -> None:
    commits = store.passed["commit"]
    report(books, "h1")
    assert store.passed["commit"] == commits
    report(books, "h1", vcpus_used=1)
    assert store.passed["commit"] == commits + 1


def test_unchanged_reports_renew_the_heartbeat() -> None:
    wall, second = Wall(), 1_000_000
    options = EngineOptions(scheduler=SchedulerOptions(report_age_s=60.0))
    names = standard_names()
    with Gantt(
        open_store("memory://"), options, standard_names=names, clock=wall
    ) as it:

        def ages() -> dict[str, float | None]:
            decision = it.decide(
                ScheduleRequest(
                    RequestSpec(flavor=Flavor(vcpus=1)),
                    ("00000001-aaaa-4000-8000-000000000000",),
                )
            )
            return {one.host: one.age_s and round(one.age_s) for one in decision.scores}

        for host in ("alive", "dead"):
            report(it, host)
        revision = it.revision
        for turn in range(1, 11):
            wall.time_us += 20 * second
            report(it, "alive")
            assert it.revision - revision == turn // 3
        assert ages() == {"alive": 20, "dead": 200}
