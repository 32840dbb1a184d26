"""What goes wrong on the way to a remote Placement: nothing is left there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from gantt import errors
from gantt.engine.factory import open_gantt as open_engine
from gantt.engine.gantt import Gantt
from gantt.engine.scheduling import plugin_threads
from gantt.model.commands import (
    Command,
    ConfirmClaim,
    ConsumerAllocations,
)
from gantt.model.holding import read_holding
from gantt.model.hosts import Instance
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.scheduler import cycle
from gantt.store import open_store
from tests.elsewhere import (
    LEASE_S,
    LOST,
    SMALL,
    Crash,
    Elsewhere,
    Shaky,
    Wall,
    ask,
    claims,
    engine_on,
    only,
    raising,
)


def test_concurrent_foreign_claim_is_not_overcommitted(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2", vcpus=2)
    mine = {"VCPU": 2}
    taken: list[str] = []

    def rob() -> None:
        if not taken:
            taken.append("h1")
            (row,) = claims(engine)
            (host,) = read_holding(row.remote or "").allocations
            other = ConsumerAllocations(only(ask()), {host: mine}, "p", "u")
            there.books.set_allocations([other])

    books.before = rob
    request = ask()
    ((chosen, *_),) = engine.schedule(request)
    assert there.used(chosen.service_host) == 1
    assert there.used() == 3
    assert len(books.asked) == 1
    (row,) = claims(engine)
    assert row.leased_until is None


def test_rejected_host_is_retried_as_a_last_resort(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1", vcpus=2)
    books.before = raising(errors.DoesNotFit("the requested amount would exceed"))
    engine.schedule(ask(2))
    assert len(books.asked) == 2
    assert there.used() == 2


def test_a_final_refusal_is_recorded_once(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    spec = RequestSpec(flavor=SMALL, project_id="project")
    books.before = raising(errors.Invalid("It does not match the schema."))
    uuid = "00000001-aaaa-4000-8000-000000000000"
    with pytest.raises(errors.NoValidHost, match="schema"):
        engine.schedule(ScheduleRequest(spec, (uuid,)))
    assert (books.writes, there.used(), claims(engine)) == (1, 0, [])
    assert engine.counts()["no_valid_host"] == 1


def test_write_that_lost_a_race_is_repeated(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    race = errors.ConcurrentUpdate("Inventory changed while attempting to allocate")
    books.before = raising(race, race)
    engine.schedule(ask())
    assert (books.writes, there.used(), len(books.asked)) == (3, 1, 1)


def test_no_candidates_without_an_answer(there: Elsewhere, wall: Wall) -> None:
    with engine_on(Shaky("http://127.0.0.1:9"), wall=wall) as engine:
        there.providers["h1"] = "11111111-1111-4111-8111-111111111111"
        there.report(engine, "h1")
        with pytest.raises(
            errors.NoValidHost, match="returned no candidates: No answer"
        ):
            engine.schedule(ask())
        assert "No answer" in (engine.decide(ask()).failure or "")
        assert claims(engine) == []


def test_lost_response_is_resolved(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    books.after = raising(LOST)
    engine.schedule(ask(2))
    assert (there.used(), books.writes) == (2, 2)
    assert [row.leased_until for row in claims(engine)] == [None, None]


def test_undelivered_write_is_sent_again(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    books.before = raising(LOST, LOST)
    engine.schedule(ask())
    assert (there.used(), books.writes) == (1, 3)


@pytest.mark.parametrize("arrives", [False, True])
def test_an_unknown_write_is_settled_when_the_lease_ends(
    there: Elsewhere, books: Shaky, engine: Gantt, wall: Wall, arrives: bool
) -> None:
    there.fleet(engine, "h1")
    request = ask()
    if arrives:
        books.after = raising(LOST, LOST)
        books.before = raising(LOST, LOST, LOST)
    else:
        books.before = raising(*(LOST,) * 4)
    with pytest.raises(errors.Unavailable, match="It is unknown whether"):
        engine.schedule(request)
    assert there.used() == arrives
    (row,) = claims(engine)
    assert row.leased_until is not None
    books.before = books.after = lambda: None
    wall.ahead_s = LEASE_S + 1
    assert engine.expire_claims() == 1
    assert (there.used(), claims(engine)) == (0, [])


@pytest.mark.parametrize("by", ["expiry", "release", "another request"])
def test_what_others_changed_of_a_claim_that_ended_is_logged(
    there: Elsewhere,
    books: Shaky,
    engine: Gantt,
    wall: Wall,
    caplog: pytest.LogCaptureFixture,
    by: str,
) -> None:
    there.fleet(engine, "h1", "h2")
    request = ask(lease_s=60.0)
    ((mine, *_),) = engine.schedule(request)
    uuid, provider = only(request), there.providers[mine.service_host]
    there.books.set_allocations(
        [ConsumerAllocations(uuid, {provider: {"VCPU": 3}}, "project", "user", 1)]
    )
    if by == "release":
        with pytest.raises(errors.Conflict, match=f"{uuid} has 3 VCPU"):
            engine.release_claim(mine.claim or "")
        assert len(claims(engine)) == 1
        return
    wall.ahead_s = 61.0
    assert engine.expire_claims() == 1
    assert (there.used(), claims(engine)) == (3, [])
    assert f"its instance {uuid} keeps allocations in the remote" in caplog.text
    assert f"(3 VCPU on provider {provider})" in caplog.text


def test_repeated_request_for_an_instance_succeeds(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    request = ask()
    books.after = raising(Crash())
    with pytest.raises(Crash):
        engine.schedule(request)
    engine.schedule(request)
    held = there.of(only(request))
    assert held is not None
    assert (held.generation, there.used()) == (1, 1)
    assert len(claims(engine)) == 1


def test_release_covers_deleted_hosts(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", "h2", vcpus=1)
    request = ask(2)
    (claim,) = {one[0].claim for one in engine.schedule(request)}
    assert claim is not None
    assert there.used() == 2
    engine.delete_host("h1", "h1")
    assert there.used() == 2
    engine.release_claim(claim)
    assert (there.used(), claims(engine)) == (0, [])


@pytest.mark.parametrize("lease", [None, 60.0])
def test_allocation_of_another_project_is_not_taken_over(
    there: Elsewhere, engine: Gantt, lease: float | None
) -> None:
    there.fleet(engine, "h1", "h2")
    request = ask(lease_s=lease)
    engine.schedule(request)
    used = there.used()
    spec = replace(request.spec, project_id="mine")
    mine = replace(request, spec=spec, only_project="mine")
    with pytest.raises(errors.Forbidden, match="not belong to project mine"):
        engine.schedule(mine)
    # Where the books here know nothing of it, those there do.
    for row in claims(engine):
        engine.confirm_claim(row.claim)
    engine.update_instances("h1", [Instance(only(request))])
    engine.update_instances("h2", [Instance(only(request))])
    assert claims(engine) == []
    with pytest.raises(errors.Forbidden, match="not belong to project mine"):
        engine.schedule(mine)
    assert claims(engine) == []
    assert there.used() == used
    engine.schedule(replace(request, only_project="project"))


@pytest.mark.parametrize("is_written", [False, True])
def test_crash_leaves_no_allocation(
    there: Elsewhere, here: str, wall: Wall, is_written: bool
) -> None:
    books = Shaky(there.url)
    engine = engine_on(books, wall=wall, store=open_store(here))
    there.fleet(engine, "h1", "h2")
    kept = ask()
    engine.schedule(kept)
    if is_written:
        books.after = raising(Crash())
    else:
        books.before = raising(Crash())
    with pytest.raises(Crash):
        engine.schedule(ask(2))
    assert there.used() == (3 if is_written else 1)
    engine.close()
    with engine_on(Shaky(there.url), wall=wall, store=open_store(here)) as heir:
        assert heir.expire_claims() == 0
        wall.ahead_s = LEASE_S + 1
        assert heir.expire_claims() == 1
        assert there.used() == 1
        assert [row.instance_uuid for row in claims(heir)] == [only(kept)]
        assert heir.verify().problems == ()


def test_later_foreign_writes_are_kept(
    there: Elsewhere, books: Shaky, engine: Gantt, wall: Wall
) -> None:
    there.fleet(engine, "h1")
    request = ask()
    uuid = only(request)
    books.after = raising(Crash())
    with pytest.raises(Crash):
        engine.schedule(request)
    provider = there.providers["h1"]
    there.books.set_allocations(
        [ConsumerAllocations(uuid, {provider: {"VCPU": 3}}, "p", "u")]
    )
    wall.ahead_s = LEASE_S + 1
    engine.expire_claims()
    assert (there.used(), claims(engine)) == (3, [])


def test_failed_release_is_retried(
    there: Elsewhere, books: Shaky, engine: Gantt, wall: Wall
) -> None:
    there.fleet(engine, "h1")
    ((one, *_),) = engine.schedule(ask())
    books.before = raising(LOST)
    engine.release_claim(one.claim or "")
    (row,) = claims(engine)
    assert row.is_over
    assert there.used() == 1
    engine.expire_claims()
    assert there.used() == 1  # another process may be at it
    wall.ahead_s = 300
    engine.expire_claims()
    assert (there.used(), claims(engine)) == (0, [])


def test_deleted_host_releases_unconfirmed_claims(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    engine.schedule(ask(lease_s=50))
    engine.delete_host("h1", "h1")
    assert there.used() == 1
    engine.expire_claims()
    assert (there.used(), claims(engine)) == (0, [])


def _confirming(
    engine: Gantt, monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]
) -> None:
    """``then`` happens once, right after a claim was confirmed."""
    submit = engine._committer.submit
    left = [then]

    def confirmed(command: Command[object], request_id: str = "") -> Any:
        answer = submit(command, request_id)
        if isinstance(command, ConfirmClaim) and left:
            left.pop()()
        return answer

    monkeypatch.setattr(engine._committer, "submit", confirmed)


def test_host_deleted_before_the_answer_leaves_no_allocation(
    there: Elsewhere, engine: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    there.fleet(engine, "h1", "h2", vcpus=4)
    gone: list[str] = []

    def deleted() -> None:
        gone.append(next(host for host in there.providers if there.used(host)))
        engine.delete_host(gone[0], gone[0])

    _confirming(engine, monkeypatch, deleted)
    chosen = engine.schedule(ask(4))
    (left,) = {"h1", "h2"} - set(gone)
    assert [row[0].service_host for row in chosen] == [left] * 4
    assert (there.used(left), there.used(gone[0])) == (4, 0)


def test_failure_before_the_answer_leaves_no_allocation(
    there: Elsewhere, engine: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    there.fleet(engine, "h1")

    def fail(*_given: object, **_more: object) -> None:
        raise RuntimeError("a plug-in's limits")

    monkeypatch.setattr(plugin_threads, "selections", fail)
    with pytest.raises(RuntimeError, match="a plug-in's limits"):
        engine.schedule(ask(2))
    assert (there.used(), claims(engine)) == (0, [])


@pytest.mark.parametrize("is_written", [False, True])
def test_lease_that_ends_while_binding_is_renewed(
    there: Elsewhere, books: Shaky, engine: Gantt, wall: Wall, is_written: bool
) -> None:
    there.fleet(engine, "h1")
    swept: list[int] = []

    def sweep() -> None:
        if not swept:
            wall.ahead_s = LEASE_S + 1
            swept.append(1)
            swept.append(engine.expire_claims())

    if is_written:
        books.after = sweep
    else:
        books.before = sweep
    engine.schedule(ask(2))
    assert swept == [1, 1]
    assert there.used() == 2
    assert [row.leased_until for row in claims(engine)] == [None, None]


def test_two_processes_release_once(there: Elsewhere, here: str, wall: Wall) -> None:
    first, second = Shaky(there.url), Shaky(there.url)
    with (
        engine_on(first, wall=wall, store=open_store(here)) as one,
        engine_on(second, wall=wall, store=open_store(here)) as two,
    ):
        there.fleet(one, "h1", "h2")
        for _ in range(3):
            one.schedule(ask(lease_s=5))
        writes = first.writes
        wall.ahead_s = 10
        found = run(one.expire_claims, two.expire_claims)
        assert sum(found) == 3
        assert first.writes + second.writes == writes + 3
        assert (there.used(), claims(one), claims(two)) == (0, [], [])


def run(*calls: Callable[[], int]) -> list[int]:
    """All of them at once, and what they answer."""
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda call=call: found.append(call()))
        for call in calls
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_background_sweeper_releases_expired_claims(
    there: Elsewhere, wall: Wall
) -> None:
    with engine_on(Shaky(there.url), wall=wall) as engine:
        there.fleet(engine, "h1")
        engine.schedule(ask(lease_s=1))
        wall.ahead_s = 5
        assert engine._claims.is_due()
        engine.expire_claims()
        assert not engine._claims.is_due()
        assert there.used() == 0


def test_remote_claims_are_dropped_and_logged_without_placement(
    there: Elsewhere, here: str, wall: Wall, caplog: pytest.LogCaptureFixture
) -> None:
    with engine_on(Shaky(there.url), wall=wall, store=open_store(here)) as engine:
        there.fleet(engine, "h1")
        ((one, *_),) = engine.schedule(ask(lease_s=1000))
    with open_engine(here) as plain:
        plain.delete_host("h1", "h1")
        plain.expire_claims()
        assert [row.is_over for row in claims(plain)] == [True]
        plain.release_claim(one.claim or "")
        assert claims(plain) == []
        with pytest.raises(errors.NotFound):
            plain.release_claim(one.claim or "")
    assert "check whether it still has allocations there" in caplog.text


class SlowWall(Wall):
    """Whose monotonic clock runs ahead as well."""

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s


def test_slow_decision_leaves_the_whole_lease_to_the_write(
    there: Elsewhere, books: Shaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = SlowWall()
    with engine_on(books, wall=wall) as engine:
        there.fleet(engine, "h1")
        decide = cycle.decide

        def slow(*given: Any, **how: Any) -> Any:
            wall.ahead_s += 2 * LEASE_S
            return decide(*given, **how)

        monkeypatch.setattr(cycle, "decide", slow)
        engine.schedule(ask())
        assert there.used() == 1
        assert wall.ahead_s == 2 * LEASE_S, "it was decided once"
