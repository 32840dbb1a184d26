"""A host that comes back under another name or uuid takes over on request alone, all or
nothing, and nothing is counted twice."""

from __future__ import annotations

import threading
import time

import pytest

from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.errors import Conflict, GanttError, Invalid, NotFound
from gantt.model.commands import ConsumerAllocations
from gantt.model.fleet import AGENT
from gantt.model.hosts import HostAggregate, HostStats, Instance, Service
from gantt.model.reports import ReportOutcome
from gantt.model.requests import ProviderQuery
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.engine.conftest import Connect
from tests.engine.faults import FaultyStore
from tests.reported import report_of

KNOWN = "11111111-1111-4111-8111-000000000001"
OTHER = "11111111-1111-4111-8111-000000000002"
RUNNING = "55555555-5555-4555-8555-000000000001"
PENDING = "55555555-5555-4555-8555-000000000002"
AGGREGATE = "00000000-0000-4000-8000-0000000000a1"


def report(books: Gantt, host: str, uuid: str, sequence: int = 1) -> ReportOutcome:
    """What a new agent of the host says first."""
    fields = HostStats(
        uuid=uuid, vcpus=8, memory_mb=8192, local_gb=100, free_disk_gb=100
    )
    (outcome,) = books.report_hosts(
        [
            report_of(
                host,
                sequence,
                fields,
                incarnation=f"agent-of-{host}-{uuid}",
                taken_at=time.time_ns() // 1000 - 1000 + sequence,
            )
        ]
    )
    return outcome


def claim(books: Gantt, instance: str) -> str:
    spec = RequestSpec(Flavor(vcpus=1, memory_mb=512))
    books.schedule(ScheduleRequest(spec, (instance,)))
    return instance


@pytest.fixture
def books(shared: FaultyStore, connect: Connect) -> Gantt:
    """Of one host that is down, disabled, in an aggregate, with an instance that runs
    and one that is only claimed."""
    found = connect(shared)
    found.submit(standard_names())
    assert report(found, "old", KNOWN).outcome == "applied"
    for instance in (RUNNING, PENDING):
        claim(found, instance)
    found.update_instances("old", [Instance(RUNNING)])
    found.set_host_aggregates([HostAggregate(AGGREGATE, "a", 1, frozenset({"old"}))])
    found.update_service(Service("old", disabled=True))
    found.update_service(Service("old", AGENT, forced_down=True))
    return found


def capacity(books: Gantt) -> float:
    """VCPU of all providers."""
    return books.totals()[0]["VCPU"][0]


def check_moved(books: Gantt, host: str) -> None:
    """All is at ``host``, and only once."""
    (view,) = books.list_hosts()
    assert (view.host, view.provider_uuid) == (host, KNOWN)
    assert view.service["disabled"] is True
    assert view.aggregates == (AGGREGATE,)
    assert view.instances == (RUNNING,)
    assert view.claimed["vcpus"] == 1
    (provider,) = books.list_providers(ProviderQuery())
    assert (provider.uuid, provider.name) == (KNOWN, host)
    for instance in (RUNNING, PENDING):
        found = books.get_allocations(instance)
        assert found is not None and set(found.allocations) == {KNOWN}
    assert books.verify().problems == ()


def test_a_new_name_of_a_known_provider(books: Gantt) -> None:
    before = capacity(books)
    refused = report(books, "new", KNOWN)
    assert refused.outcome == "refused"
    assert "'gantt host adopt old new'" in refused.message
    assert capacity(books) == before and len(books.list_hosts()) == 1
    shown = books.adopt_host("old", "new", dry_run=True)
    assert (shown.new_host, shown.provider_uuid) == ("new", KNOWN)
    assert set(shown.allocations) == {RUNNING, PENDING}
    assert shown.claims == (PENDING,) and shown.instances == (RUNNING,)
    assert shown.inventories["VCPU"] == 8
    assert (shown.is_disabled, shown.deleted_provider) == (True, None)
    assert shown.host_aggregates == (AGGREGATE,)
    assert len(books.list_hosts()[0].aggregates) == 1, "nothing was changed"
    revision = books.revision
    with books.bearing("req-1"):
        assert books.adopt_host("old", "new") == shown
    assert books.revision == revision + 1, "all in one commit"
    check_moved(books, "new")
    assert report(books, "new", KNOWN, 2).outcome == "applied"
    check_moved(books, "new")
    (record,) = books.decisions(request_id="req-1")
    assert (record.driver, record.takeover) == ("adopt", shown)
    assert set(record.instance_uuids) == {RUNNING, PENDING}
    assert capacity(books) == before


def test_another_uuid_of_a_known_host(books: Gantt) -> None:
    before = capacity(books)
    refused = report(books, "old", OTHER, 2)
    assert refused.outcome == "refused"
    assert f"'gantt host adopt old --uuid {OTHER}'" in refused.message
    done = books.adopt_host("old", uuid=OTHER)
    assert (done.reported_uuid, done.provider_uuid) == (OTHER, KNOWN)
    for sequence in (2, 3):
        assert report(books, "old", OTHER, sequence).outcome == "applied"
    check_moved(books, "old")
    assert capacity(books) == before
    with pytest.raises(Invalid, match="that name and uuid already"):
        books.adopt_host("old", uuid=OTHER)
    third = OTHER.replace("2", "3")
    assert "gantt host adopt" in report(books, "old", third, 4).message


def test_a_uuid_that_a_spare_provider_has(books: Gantt) -> None:
    before = capacity(books)
    books.create_provider("spare", uuid=OTHER)
    refused = report(books, "old", OTHER, 2)
    assert f"'gantt host adopt old --uuid {OTHER}'" in refused.message
    assert books.adopt_host("old", uuid=OTHER).deleted_provider == OTHER
    assert report(books, "old", OTHER, 2).outcome == "applied"
    check_moved(books, "old")
    assert capacity(books) == before


def test_another_name_and_uuid_that_has_reported_already(books: Gantt) -> None:
    before = capacity(books)
    assert report(books, "new", OTHER).outcome == "applied"
    assert [one.host for one in books.list_hosts()] == ["new", "old"]
    done = books.adopt_host("old", "new")
    assert (done.deleted_provider, done.reported_uuid) == (OTHER, OTHER)
    check_moved(books, "new")
    assert capacity(books) == before
    for sequence in (2, 3):
        assert report(books, "new", OTHER, sequence).outcome == "applied"
    check_moved(books, "new")


def test_impossible_wishes_are_refused_and_change_nothing(books: Gantt) -> None:
    with pytest.raises(NotFound, match="no host gone"):
        books.adopt_host("gone", "new")
    with pytest.raises(Invalid, match="that name and uuid already"):
        books.adopt_host("old")
    books.update_service(Service("old", AGENT, forced_down=False))
    with pytest.raises(Conflict, match="Host old is up"):
        books.adopt_host("old", "new")
    books.delete_service("old", AGENT)
    now = time.time_ns() // 1000
    books.update_service(Service("old", last_seen_up=now))
    with pytest.raises(Conflict, match="Host old is up"):
        books.adopt_host("old", "new")
    books.update_service(Service("old", last_seen_up=now - 3_600_000_000))
    books.update_service(Service("old", AGENT, forced_down=True))
    report(books, "new", OTHER)
    third = "55555555-5555-4555-8555-000000000003"
    books.set_allocations([ConsumerAllocations(third, {OTHER: {"VCPU": 1}}, "p", "u")])
    revision = books.revision
    for dry_run in (True, False):
        with pytest.raises(Conflict, match="1 claim of its own"):
            books.adopt_host("old", "new", dry_run=dry_run)
    with pytest.raises(Conflict, match="belongs to host"):
        books.adopt_host("old", uuid=OTHER)
    assert books.revision == revision
    books.delete_allocations(third)
    assert books.adopt_host("old", "new").deleted_provider == OTHER


def test_claims_of_the_new_host_are_not_taken(books: Gantt) -> None:
    report(books, "new", OTHER)
    claim(books, "55555555-5555-4555-8555-000000000004")
    with pytest.raises(Conflict, match="claim of its own"):
        books.adopt_host("old", "new")


def test_agents_that_report_meanwhile_double_nothing(books: Gantt) -> None:
    """Each report is before or after the takeover, and none in between."""
    before, stop = capacity(books), threading.Event()
    refusals: list[str] = []

    def go_on(host: str, uuid: str) -> None:
        sequence = 10
        while not stop.is_set():
            sequence += 1
            outcome = report(books, host, uuid, sequence)
            if outcome.outcome == "refused":
                refusals.append(outcome.code)

    agents = [
        threading.Thread(target=go_on, args=("new", KNOWN)),
        threading.Thread(target=go_on, args=("new", KNOWN)),
    ]
    for one in agents:
        one.start()
    try:
        until = time.monotonic() + 20
        while not refusals:
            assert time.monotonic() < until
        books.adopt_host("old", "new")
        seen = 0
        while seen < 5:  # reports after it
            assert time.monotonic() < until
            seen += report(books, "new", KNOWN, 1_000_000 + seen).outcome == "applied"
    finally:
        stop.set()
        for one in agents:
            one.join(30)
    check_moved(books, "new")
    assert capacity(books) == before


def test_two_that_adopt_at_once_do_it_once(books: Gantt) -> None:
    done: list[str] = []

    def adopt(name: str) -> None:
        try:
            books.adopt_host("old", name)
            done.append(name)
        except GanttError:
            done.append("")

    threads = [threading.Thread(target=adopt, args=(name,)) for name in ("a", "b")]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert sorted(done)[0] == "" and len(set(done)) == 2
    check_moved(books, max(done))


def test_a_host_that_has_just_reported_is_up(books: Gantt) -> None:
    """Also where no agent goes on reporting, as with ``gantt agent --once``."""
    books.delete_service("old", AGENT)
    assert report(books, "old", KNOWN, sequence=2).outcome == "applied"
    with pytest.raises(Conflict, match="Host old is up"):
        books.adopt_host("old", "new")
    books.update_service(Service("old", forced_down=True))
    assert books.adopt_host("old", "new").provider_uuid == KNOWN


def test_a_known_host_without_a_provider_gets_the_one_of_the_new_name(
    books: Gantt,
) -> None:
    for instance in (RUNNING, PENDING):
        books.delete_allocations(instance)
    books.delete_provider(KNOWN)
    assert report(books, "new", OTHER).outcome == "applied"
    before = capacity(books)
    done = books.adopt_host("old", "new")
    assert (done.provider_uuid, done.deleted_provider) == (None, None)
    (view,) = books.list_hosts()
    assert (view.host, view.provider_uuid) == ("new", OTHER)
    assert capacity(books) == before > 0
    assert report(books, "new", OTHER, 2).outcome == "applied"
    assert books.verify().problems == ()


def test_names_in_the_advice_are_quoted_for_a_shell(books: Gantt) -> None:
    refused = report(books, "a host; true", KNOWN)
    assert "gantt host adopt old 'a host; true'" in refused.message
