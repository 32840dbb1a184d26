"""A remote Placement decides amounts: upstream's, and another Gantt's."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import json

from gantt import errors
from gantt.engine.gantt import Gantt
from gantt.engine.opening import open_gantt as open_engine
from gantt.engine.options import EngineOptions
from gantt.model.commands import ConsumerAllocations, Inventory
from gantt.model.holding import read_holding
from gantt.model.hosts import Service
from gantt.model.rows import CLAIMS, ClaimRow
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from gantt.state.state import State
from gantt.store import open_store
from tests.elsewhere import (
    LEASE_S,
    SMALL,
    Crash,
    Elsewhere,
    Shaky,
    Wall,
    ask,
    elsewhere,
    engine_on,
)


@pytest.fixture(params=["gantt", "upstream"])
def there(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Elsewhere]:
    with elsewhere(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def books(there: Elsewhere) -> Shaky:
    return Shaky(there.url)


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def engine(books: Shaky, wall: Wall) -> Iterator[Gantt]:
    with engine_on(books, wall=wall) as found:
        yield found


@pytest.fixture
def here(tmp_path: Path, empty_books: Path) -> str:
    """A database that outlives its engine."""
    return f"sqlite:///{shutil.copy(empty_books, tmp_path / 'here.db')}"


def claims(engine: Gantt) -> list[ClaimRow]:
    def rows(state: State) -> list[ClaimRow]:
        return [row for row in state.rows(CLAIMS) if isinstance(row, ClaimRow)]

    return engine.read(rows)


def only(request: ScheduleRequest) -> str:
    """The instance of a request for one."""
    (uuid,) = request.instance_uuids or ()
    return uuid


def raising(*found: BaseException) -> Callable[[], None]:
    """Raises each of ``found`` in turn, then nothing."""
    left = list(found)

    def fail() -> None:
        if left:
            raise left.pop(0)

    return fail


LOST = errors.Unavailable("the connection died")

# -- what goes well -------------------------------------------------------------------


def test_an_instance_is_claimed_there_and_promised_here(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2")
    request = ask()
    ((chosen, alternate),) = engine.schedule(request)
    assert {chosen.service_host, alternate.service_host} == {"h1", "h2"}
    assert chosen.compute_node_uuid == there.providers[chosen.service_host]
    held = there.of(only(request))
    assert held is not None
    assert (held.generation, held.project_id) == (1, "project")
    body = json.decode(chosen.allocation_request or "")
    uuid = there.providers[chosen.service_host]
    size = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
    assert body["allocations"] == {uuid: {"resources": size}}
    assert body["mappings"] == {"": [uuid]}
    (row,) = claims(engine)
    assert (row.leased_until, row.claim) == (None, chosen.claim)
    assert engine.list_providers() == ()
    (record,) = engine.decisions()
    assert record.timings.keys() == {"candidates", "decide", "claim"}
    assert record.steps[0].name == "allocation candidates"
    assert engine.verify().problems == ()


def test_all_instances_are_written_at_once(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2", vcpus=3)
    chosen = engine.schedule(ask(6))
    assert Counter(row[0].service_host for row in chosen) == {"h1": 3, "h2": 3}
    assert books.writes == 1
    assert there.used() == 6


def test_more_than_there_is_is_refused_whole(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", vcpus=3)
    with pytest.raises(errors.NoValidHost, match="not enough hosts"):
        engine.schedule(ask(4))
    assert (there.used(), claims(engine)) == (0, [])


def test_a_lease_is_the_callers(there: Elsewhere, engine: Gantt, wall: Wall) -> None:
    there.fleet(engine, "h1")
    ((one, *_),) = engine.schedule(ask(lease_s=5))
    (row,) = claims(engine)
    assert row.leased_until is not None
    assert row.leased_until <= wall.now() + 5_000_000
    engine.confirm_claim(one.claim or "")
    wall.ahead_s = 10
    assert engine.expire_claims() == 0
    assert there.used() == 1


def test_a_lease_that_ends_gives_back_what_is_there(
    there: Elsewhere, engine: Gantt, wall: Wall
) -> None:
    there.fleet(engine, "h1")
    ((one, *_),) = engine.schedule(ask(2, lease_s=5))[:1]
    wall.ahead_s = 10
    assert engine.expire_claims() == 1
    assert (there.used(), claims(engine)) == (0, [])
    with pytest.raises(errors.ClaimExpired):
        engine.confirm_claim(one.claim or "")


def test_a_claim_is_released_there_too(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1")
    ((one, *_),) = engine.schedule(ask())
    engine.release_claim(one.claim or "")
    assert (there.used(), claims(engine)) == (0, [])


def test_a_dry_run_claims_nothing(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", "h2")
    decision = engine.decide(ask())
    assert decision.failure is None
    assert len(decision.chosen[0]) == 2
    assert (there.used(), claims(engine)) == (0, [])
    assert engine.capacity(RequestSpec(flavor=SMALL)).hosts == {"h1": 4, "h2": 4}


def test_a_group_keeps_its_rule_at_the_gate_here(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2")
    group = InstanceGroup("g", "anti-affinity")
    chosen = engine.schedule(ask(2, instance_group=group))
    assert {row[0].service_host for row in chosen} == {"h1", "h2"}
    with pytest.raises(errors.NoValidHost):
        engine.schedule(ask(3, instance_group=InstanceGroup("k", "anti-affinity")))


def test_a_disabled_host_is_not_taken(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", "h2")
    engine.update_service(Service("h1", "nova-compute", disabled=True))
    for _ in range(2):
        assert engine.schedule(ask())[0][0].service_host == "h2"


def test_what_moves_keeps_what_it_has(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", "h2")
    request = ask()
    uuid = only(request)
    first = engine.schedule(request)[0][0].service_host
    moved = ScheduleRequest(
        RequestSpec(flavor=SMALL, project_id="project", ignore_hosts=(first,)), (uuid,)
    )
    second = engine.schedule(moved)[0][0]
    assert second.service_host != first
    held = there.of(uuid)
    assert held is not None
    assert set(held.allocations) == set(there.providers.values())
    assert held.generation == 2
    engine.release_claim(second.claim or "")
    held = there.of(uuid)
    assert held is not None
    assert list(held.allocations) == [there.providers[first]]


def test_only_the_remote_judges_names(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1")
    there.books.create_resource_class("CUSTOM_GPU")
    there.books.set_inventory(there.providers["h1"], "CUSTOM_GPU", Inventory(1))
    flavor = Flavor(vcpus=1, memory_mb=1, extra_specs={"resources:CUSTOM_GPU": "1"})
    engine.schedule(ask(flavor=flavor))
    assert there.books.get_usages(there.providers["h1"]).usages["CUSTOM_GPU"] == 1
    unknown = Flavor(vcpus=1, memory_mb=1, extra_specs={"resources:CUSTOM_NO": "1"})
    with pytest.raises(errors.UnknownName, match="CUSTOM_NO"):
        engine.schedule(ask(flavor=unknown))


def test_a_group_that_asks_for_no_resources_is_asked_another_way(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2")
    there.books.create_trait("CUSTOM_FAST")
    there.books.set_traits(there.providers["h2"], ["CUSTOM_FAST"])
    flavor = Flavor(
        extra_specs={
            "resources:VCPU": "0",
            "resources:MEMORY_MB": "0",
            "resources_A:DISK_GB": "1",
            "trait:CUSTOM_FAST": "required",
        }
    )
    ((chosen, *others),) = engine.schedule(ask(flavor=flavor))
    assert (chosen.service_host, others) == ("h2", [])
    assert set(json.decode(chosen.allocation_request or "")["mappings"]) == {"", "_A"}


def test_trees_and_sharing_providers_are_found_by_their_host(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1", "h2")
    shared = there.books.create_provider("shared").uuid
    there.books.set_inventories(shared, {"DISK_GB": Inventory(1000)})
    there.books.set_traits(shared, ["MISC_SHARES_VIA_AGGREGATE"])
    aggregate = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
    root = there.providers["h1"]
    numa = there.books.create_provider("numa", parent_uuid=root).uuid
    there.books.set_inventories(root, {})
    there.books.set_inventories(
        numa, {"VCPU": Inventory(8), "MEMORY_MB": Inventory(8192)}
    )
    for uuid in (shared, root):
        there.books.set_aggregates(uuid, [aggregate])
    wide = Flavor(vcpus=8, memory_mb=1024, root_gb=100)
    ((chosen,),) = engine.schedule(ask(flavor=wide))
    assert chosen.service_host == "h1"
    assert there.books.get_usages(shared).usages == {"DISK_GB": 100}


# -- what goes wrong ------------------------------------------------------------------


def test_what_others_took_meanwhile_is_not_taken_twice(
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


def test_a_host_that_was_given_up_is_asked_again_when_no_other_is_left(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1", vcpus=2)
    books.before = raising(errors.DoesNotFit("the requested amount would exceed"))
    engine.schedule(ask(2))
    assert len(books.asked) == 2
    assert there.used() == 2


def test_what_is_refused_for_good_is_told_once(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    spec = RequestSpec(flavor=SMALL, project_id="project")
    with pytest.raises(errors.NoValidHost, match="(?i)uuid|pattern|schema"):
        engine.schedule(ScheduleRequest(spec, ("not-a-uuid",)))
    assert (books.writes, there.used(), claims(engine)) == (1, 0, [])
    assert engine.scheduling_counts()["no_valid_host"] == 1


def test_a_write_that_lost_a_race_is_repeated(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    race = errors.ConcurrentUpdate("Inventory changed while attempting to allocate")
    books.before = raising(race, race)
    engine.schedule(ask())
    assert (books.writes, there.used(), len(books.asked)) == (3, 1, 1)


def test_no_candidates_where_nobody_answers(there: Elsewhere, wall: Wall) -> None:
    with engine_on(Shaky("http://127.0.0.1:9"), wall=wall) as engine:
        there.providers["h1"] = "11111111-1111-4111-8111-111111111111"
        there.report(engine, "h1")
        with pytest.raises(errors.NoValidHost, match="gave no candidates: No answer"):
            engine.schedule(ask())
        assert "No answer" in (engine.decide(ask()).failure or "")
        assert claims(engine) == []


def test_a_lost_answer_is_found_out(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    books.after = raising(LOST)
    engine.schedule(ask(2))
    assert (there.used(), books.writes) == (2, 2)
    assert [row.leased_until for row in claims(engine)] == [None, None]


def test_what_never_arrived_is_sent_again(
    there: Elsewhere, books: Shaky, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    books.before = raising(LOST, LOST)
    engine.schedule(ask())
    assert (there.used(), books.writes) == (1, 3)


@pytest.mark.parametrize("arrives", [False, True])
def test_what_nobody_knows_is_settled_when_the_lease_ends(
    there: Elsewhere, books: Shaky, engine: Gantt, wall: Wall, arrives: bool
) -> None:
    there.fleet(engine, "h1")
    request = ask()
    if arrives:
        books.after = raising(LOST, LOST)
        books.before = raising(LOST, LOST, LOST)
    else:
        books.before = raising(*(LOST,) * 4)
    with pytest.raises(errors.Unavailable, match="Nobody knows whether"):
        engine.schedule(request)
    assert there.used() == arrives
    (row,) = claims(engine)
    assert row.leased_until is not None
    books.before = books.after = lambda: None
    wall.ahead_s = LEASE_S + 1
    assert engine.expire_claims() == 1
    assert (there.used(), claims(engine)) == (0, [])


def test_the_same_instance_is_asked_for_again(
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


@pytest.mark.parametrize("is_written", [False, True])
def test_a_crash_leaves_nothing_behind(
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


def test_what_others_wrote_since_stays(
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


def test_what_cannot_be_given_back_now_is_given_back_later(
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
    assert there.used() == 1  # somebody may be at it just now
    wall.ahead_s = 300
    engine.expire_claims()
    assert (there.used(), claims(engine)) == (0, [])


def test_a_host_that_goes_gives_back_what_was_not_confirmed(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    engine.schedule(ask(lease_s=50))
    engine.delete_host("h1", "h1")
    assert there.used() == 1
    engine.expire_claims()
    assert (there.used(), claims(engine)) == (0, [])


@pytest.mark.parametrize("is_written", [False, True])
def test_a_lease_that_ends_on_the_way_is_begun_anew(
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


def test_two_processes_give_back_once(there: Elsewhere, here: str, wall: Wall) -> None:
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


def test_the_sweeper_does_it_by_itself(there: Elsewhere, wall: Wall) -> None:
    with engine_on(Shaky(there.url), wall=wall) as engine:
        there.fleet(engine, "h1")
        engine.schedule(ask(lease_s=1))
        wall.ahead_s = 5
        assert engine._has_ended_leases()
        engine.expire_claims()
        assert not engine._has_ended_leases()
        assert there.used() == 0


def test_without_the_remote_its_claims_are_forgotten_with_a_word(
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
    assert "look whether it holds allocations there" in caplog.text


# -- many callers ---------------------------------------------------------------------


def test_nothing_is_promised_twice(there: Elsewhere, engine: Gantt) -> None:
    hosts = ["h1", "h2", "h3", "h4"]
    there.fleet(engine, *hosts, vcpus=3)
    done: Counter[str] = Counter()
    lock = threading.Lock()

    def call() -> None:
        for _ in range(2):
            try:
                engine.schedule(ask())
                outcome = "placed"
            except errors.NoValidHost:
                outcome = "refused"
            with lock:
                done[outcome] += 1

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == {"placed": 12, "refused": 4}
    assert there.used() == 12
    assert all(there.used(host) == 3 for host in hosts)
    rows = claims(engine)
    assert len(rows) == 12
    assert all(row.leased_until is None for row in rows)


# -- how it is configured -------------------------------------------------------------


def test_an_engine_that_should_ask_and_cannot_is_refused() -> None:
    asked = EngineOptions(scheduler=SchedulerOptions(placement="http://h"))
    with pytest.raises(errors.Refused, match="nothing to ask it with"):
        open_engine("memory://", asked)
