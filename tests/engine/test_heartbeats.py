"""Hosts are down when their agents fall silent, and that costs hardly a write."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from gantt.engine.background.heartbeats import Heartbeats, HeartbeatTable, Looks
from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import NoValidHost, StoreFailed
from gantt.model.fleet import AGENT, LIVENESS, Verdict
from gantt.model.hosts import HostStats, Service
from gantt.model.reports import Delivery, ReportOutcome
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import HEARTBEATS, Heartbeat
from gantt.store.memory_store import MemoryStore
from tests.engine.test_clock import NOON_US
from tests.engine.test_leader_tasks import Steady
from tests.reported import agents_there, report_of

DOWN_S = 60.0
SECOND = 1_000_000


class Hand(Steady):
    """A clock that a test moves, with the time of day."""

    def now(self) -> int:
        return NOON_US + int(self.seconds * SECOND)


def table_of(store: MemoryStore) -> HeartbeatTable:
    table = store.beside(HEARTBEATS)
    assert table is not None
    return table


class Fleet:
    """Hosts whose agents report as a test says, on a clock that it moves; the tasks of
    the leader are called by it."""

    def __init__(
        self,
        *,
        is_on: bool = True,
        store: MemoryStore | None = None,
        wall: Hand | None = None,
    ) -> None:
        self.store = MemoryStore() if store is None else store
        self.wall = wall or Hand()
        self.hosts_ahead_s = 0.0  # their clocks, of the service's
        options = EngineOptions(
            heartbeats=is_on,
            sweep_s=3600.0,
            scheduler=SchedulerOptions(service_down_time=DOWN_S, report_age_s=86_400.0),
        )
        self.books = Gantt(
            self.store, options, standard_names=standard_names(), clock=self.wall
        )
        self.beats: Heartbeats = self.books._heartbeats
        self.sequence = 0

    def hosts_now(self) -> int:
        return self.wall.now() + int(self.hosts_ahead_s * SECOND)

    def report(
        self,
        *hosts: str,
        beats: bool = True,
        memory_mb_used: int = 0,
        agent: str = "agent-of-",
    ) -> ReportOutcome:
        """The last answer."""
        self.sequence += 1
        stats = HostStats(
            vcpus=4, memory_mb=1024, local_gb=10, memory_mb_used=memory_mb_used
        )
        reports = [
            report_of(
                host,
                self.sequence,
                stats,
                incarnation=f"{agent}{host}",
                taken_at=self.hosts_now(),
                beats=beats,
            )
            for host in hosts
        ]
        return self.books.report_hosts(reports)[-1]

    def quiet(self, *hosts: str) -> None:
        """Reports that say that nothing changed."""
        reports = [
            report_of(
                host,
                self.sequence,
                incarnation=f"agent-of-{host}",
                taken_at=self.hosts_now(),
                beats=True,
                full=False,
            )
            for host in hosts
        ]
        for one in self.books.report_hosts(reports):
            assert one.outcome == "unchanged", one.message

    def go_on(self, seconds: float, *hosts: str, every: float = 20.0) -> None:
        """Time goes by, and the agents of these hosts report meanwhile."""
        until = self.wall.monotonic() + seconds
        while self.wall.monotonic() < until:
            self.wall.sleep(every / 4)
            if hosts and self.wall.monotonic() % every < every / 4:
                self.quiet(*hosts)
            self.beats.write()
            self.beats._look()

    def states(self) -> dict[str, bool]:
        """Host -> whether its agent is there, of those that are judged."""
        return agents_there(self.books)


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    found = Fleet()
    yield found
    found.books.close()


def test_a_silent_host_is_down_and_comes_up_again(fleet: Fleet) -> None:
    fleet.report("a", "b")
    fleet.go_on(3 * DOWN_S, "a", "b")
    assert fleet.states() == {"a": True, "b": True}
    fleet.go_on(DOWN_S / 2, "a")
    assert fleet.states() == {"a": True, "b": True}
    fleet.go_on(DOWN_S, "a")
    assert fleet.states() == {"a": True, "b": False}
    assert fleet.books.totals()[1]["down"] == 1
    spec = RequestSpec(Flavor(vcpus=1, memory_mb=64))
    uuid = "11111111-1111-4111-8111-111111111111"
    request = ScheduleRequest(spec, (uuid,), dry_run=True)
    assert fleet.books.schedule(request)[0][0].service_host == "a"
    fleet.go_on(2 * DOWN_S)
    with pytest.raises(NoValidHost) as refusal:
        fleet.books.schedule(request)
    assert "ComputeFilter" in str(refusal.value.why)
    fleet.quiet("b")
    fleet.go_on(5)
    assert fleet.states() == {"a": False, "b": True}
    assert fleet.books.verify().problems == ()


def test_a_fleet_without_news_makes_no_revision(fleet: Fleet) -> None:
    hosts = [f"h{number}" for number in range(50)]
    fleet.report(*hosts)
    fleet.go_on(3 * DOWN_S, *hosts)
    revision, counts = fleet.books.revision, fleet.books.counts()
    fleet.go_on(10 * DOWN_S, *hosts, every=5.0)
    assert fleet.books.revision == revision
    after = fleet.books.counts()
    done = {key: after[key] - counts[key] for key in after if "heartbeats" in key}
    # 600 s: reports every 5 s, and each host's heartbeat is written every 15 s.
    assert 5_900 <= done["heartbeats_heard"] <= 6_050
    assert 1_950 <= done["heartbeats_written"] <= 2_050
    assert done["heartbeats_writes"] <= 41


def test_agents_are_told_how_often_to_report(fleet: Fleet) -> None:
    assert fleet.report("a").beat_s == DOWN_S / 3
    assert fleet.report("b", beats=False).beat_s is None


def test_hosts_without_heartbeats_are_not_judged(fleet: Fleet) -> None:
    fleet.report("a", beats=False)
    fleet.books.update_host("b", "b", HostStats(vcpus=4))
    fleet.go_on(5 * DOWN_S)
    assert fleet.states() == {}


def test_what_may_not_be_reported_is_no_heartbeat(fleet: Fleet) -> None:
    fleet.report("a", "b")
    fleet.go_on(3 * DOWN_S, "a", "b")
    (word,) = fleet.books.report_hosts(
        [
            report_of(
                "b",
                fleet.sequence,
                incarnation="agent-of-b",
                taken_at=fleet.wall.now(),
                beats=True,
                full=False,
            )
        ],
        only_host="a",
    )
    assert (word.code, word.beat_s) == ("forbidden", None)
    heard = fleet.books.counts()["heartbeats_heard"]
    fleet.quiet("a")
    assert fleet.books.counts()["heartbeats_heard"] == heard + 1
    refused = fleet.report("a", memory_mb_used=-1)
    assert refused.outcome == "refused"
    assert fleet.books.counts()["heartbeats_heard"] == heard + 1


def test_an_agent_that_another_one_followed_keeps_no_host_up(fleet: Fleet) -> None:
    fleet.report("a")
    later = report_of(
        "a",
        1,
        HostStats(vcpus=4),
        incarnation="later",
        taken_at=fleet.wall.now() + 1,
        beats=True,
    )
    assert fleet.books.report_hosts([later])[0].outcome == "applied"
    assert fleet.report("a").outcome == "superseded"
    assert fleet.books.counts()["heartbeats_heard"] == 1


def test_a_deleted_host_leaves_nothing_behind(fleet: Fleet) -> None:
    fleet.report("a", "b")
    fleet.go_on(DOWN_S, "a", "b")
    fleet.books.delete_host("b", "b")
    assert fleet.books.read(lambda s: sorted(s.fleet.facts.by_subject)) == [
        ("agent", "a")
    ]
    assert [(s.host, s.binary) for s in fleet.books.list_services()] == [("a", AGENT)]
    fleet.go_on(5, "a")
    assert len(table_of(fleet.store).page(None).rows) == 1


def test_a_database_that_is_away_takes_no_host_down(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.report("a")
    fleet.go_on(3 * DOWN_S, "a")

    def away(*_: object) -> None:
        raise StoreFailed("away")

    with monkeypatch.context() as patched:
        patched.setattr(table_of(fleet.store), "append", away)
        patched.setattr(table_of(fleet.store), "page", away)
        fleet.quiet("a")
        for act in (fleet.beats.write, fleet.beats._look):
            with pytest.raises(StoreFailed):
                act()
        fleet.wall.sleep(3 * DOWN_S)
    fleet.go_on(1.5 * DOWN_S)
    assert fleet.states() == {"a": True}  # it may still come back
    fleet.go_on(DOWN_S)
    assert fleet.states() == {"a": False}


class Broker:
    """By which agents report; ``is_away``: it does not answer."""

    is_away = False

    def counts(self) -> dict[str, float]:
        return {}

    def notice(self) -> str:
        return ""

    def withholds_reports(self) -> bool:
        return self.is_away


def test_a_broker_that_is_away_takes_no_host_down(fleet: Fleet) -> None:
    broker = Broker()
    fleet.books.accompany(broker)
    fleet.report("a", "b")
    fleet.go_on(3 * DOWN_S, "a", "b")
    broker.is_away = True
    fleet.go_on(5 * DOWN_S)
    assert fleet.states() == {"a": True, "b": True}
    broker.is_away = False
    fleet.go_on(1.5 * DOWN_S, "a")
    assert fleet.states() == {"a": True, "b": True}  # it may still come back
    fleet.go_on(DOWN_S, "a")
    assert fleet.states() == {"a": True, "b": False}


def late(fleet: Fleet, *hosts: str, by_s: float) -> None:
    """Reports without news that waited in a topic for so long."""
    at = fleet.wall.now() - int(by_s * SECOND)
    said = [
        report_of(
            host,
            fleet.sequence,
            incarnation=f"agent-of-{host}",
            taken_at=at,
            beats=True,
            full=False,
        )
        for host in hosts
    ]
    fleet.books.take_deliveries(
        [Delivery(msgspec.json.encode(one), one.key, at, source="0") for one in said]
    )


@pytest.mark.parametrize("by_s", [40.0, 100.0])
def test_reports_that_wait_take_no_host_down(fleet: Fleet, by_s: float) -> None:
    """A process is behind a topic; any of them may lead."""
    fleet.report("a", "b")
    fleet.go_on(3 * DOWN_S, "a", "b")
    for _ in range(30):
        fleet.wall.sleep(10)
        late(fleet, "a", by_s=by_s)
        fleet.beats.write()
        fleet.beats._look()
    assert fleet.states() == {"a": True, "b": True}
    assert fleet.books.counts()["heartbeats_late"] == 30
    fleet.go_on(1.5 * DOWN_S, "a")
    assert fleet.states() == {"a": True, "b": True}  # it may still come back
    fleet.go_on(DOWN_S, "a")
    assert fleet.states() == {"a": True, "b": False}


def test_one_source_that_is_behind_is_told_among_others(fleet: Fleet) -> None:
    now = fleet.wall.now()
    old = now - int(DOWN_S * SECOND)
    lines = [("0", old), ("0", now), ("1", now)]
    fleet.books.take_deliveries(
        [Delivery(b"", "", at, source=one) for one, at in lines]
    )
    assert fleet.books.counts()["heartbeats_late"] == 0
    fleet.books.take_deliveries(
        [Delivery(b"", "", now), Delivery(b"", "", old, None, "1")]
    )
    assert fleet.books.counts()["heartbeats_late"] == 1


def test_a_host_that_is_down_is_not_up_for_another_leader() -> None:
    looks = Looks()
    looks.take({1: 5, 2: 5}, 100.0, DOWN_S)
    hosts, known = {1: "a", 2: "b"}, {"a": False, "b": True}
    assert looks.judge(hosts, known, 100.0, DOWN_S) == Verdict()
    for now in range(105, 215, 5):
        looks.take({1: 5, 2: 5}, float(now), DOWN_S)
        assert looks.judge(hosts, known, float(now), DOWN_S) == Verdict()
    for now in range(215, 225, 5):
        looks.take({1: 5, 2: 5}, float(now), DOWN_S)
    wanted = Verdict(down=("b",), is_frozen=False)
    assert looks.judge(hosts, known, 220.0, DOWN_S) == wanted
    # A clock of another process that is behind is news as well.
    looks.take({1: 4, 2: 5}, 225.0, DOWN_S)
    assert looks.judge(hosts, known, 225.0, DOWN_S).up == ("a",)


def test_a_host_is_up_while_one_of_its_nodes_is() -> None:
    looks, hosts = Looks(), {1: "a", 2: "a"}
    looks.take({1: 0, 2: 0}, 0.0, DOWN_S)
    for now in range(20, 220, 20):
        looks.take({1: now, 2: 0}, float(now), DOWN_S)
        assert looks.judge(hosts, {"a": True}, float(now), DOWN_S).down == ()


def test_with_a_group_heartbeats_say_nothing_and_old_ones_are_forgotten() -> None:
    store = MemoryStore()
    grouped = Fleet(is_on=False, store=store)
    assert grouped.report("a", "b", "c").beat_s is None
    table = grouped.books.read(lambda s: dict(s.fleet.hosts.row_by_id))
    # As heartbeats left it before: a is up, b down; c is only in the group.
    first, second, _ = sorted(table)
    table_of(store).append([Heartbeat(first, 1), Heartbeat(second, 1)])
    for host, is_down in (("a", False), ("b", True), ("c", True)):
        grouped.books.update_service(Service(host, AGENT, forced_down=is_down))
    grouped.beats._look()
    assert table_of(store).page(None).rows == {}
    assert grouped.states() == {"c": False}
    grouped.go_on(5 * DOWN_S)
    assert grouped.states() == {"c": False}
    grouped.books.close()


def test_without_the_group_a_heartbeat_brings_a_host_up_again(fleet: Fleet) -> None:
    fleet.report("a", "b", beats=False)
    for host in ("a", "b"):
        fleet.books.update_service(Service(host, AGENT, forced_down=True))
    fleet.books.update_service(Service(LIVENESS, LIVENESS, forced_down=True))
    fleet.report("a")
    fleet.go_on(30, "a")
    assert fleet.states() == {"a": True, "b": False}
    fleet.go_on(3 * DOWN_S, "a")
    assert fleet.books.notice() == ""
