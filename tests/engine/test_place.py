"""``place``: what is asked for in plain words, all of it in one commit or nothing."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import gantt
from gantt import Item
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.scheduling_cycle import Run
from gantt.errors import (
    AlreadyClaimed,
    Busy,
    ClaimExpired,
    ClaimLost,
    Conflict,
    GanttError,
    Invalid,
    NotFound,
    NoValidHost,
)
from gantt.model.commands import Book, ReleaseClaim
from gantt.model.demand import consumer_uuid
from gantt.model.hosts import HostAggregate, HostStats, Instance
from gantt.model.placements import PlacedQuery, Plan
from gantt.model.protocol import GanttProtocol
from gantt.placement.rules import leases
from gantt.placement.rules.draft import Draft
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions
from tests import inprocess
from tests.idle_host import idle
from tests.replay.recorded import add_hosts, flush, played, service

BIG = Item("big", cpu=4)
NOVAS = re.compile(
    r"flavor|instance|image|project|tenant|VCPU|MEMORY_MB|DISK_GB|_destinations|nova-"
)


def report(
    books: GanttProtocol, *hosts: str, vcpus: int = 4, memory_mb: int = 8192
) -> None:
    for host in hosts:
        stats = idle(vcpus, memory_mb, cpu_allocation_ratio=1.0)
        books.update_host(host, host, stats)


def label(books: GanttProtocol, host: str, trait: str) -> None:
    books.update_host(host, host, HostStats(traits=(trait,)))


@pytest.fixture(params=["memory", "http", "reports"])
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GanttProtocol]:
    if request.param == "http":
        with inprocess.service(tmp_path) as url, gantt.connect(url) as found:
            report(found, "h1", "h2", "h3")
            yield found
        return
    placement: Any = "never" if request.param == "reports" else "auto"
    options = EngineOptions(scheduler=SchedulerOptions(use_placement=placement))
    with open_gantt("memory://", options) as found:
        report(found, "h1", "h2", "h3")
        yield found


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Gantt]:
    options = EngineOptions(sweep_s=0.02, store=StoreOptions(create=True))
    with open_gantt(f"sqlite:///{tmp_path}/gantt.db", options) as found:
        report(found, "h1", "h2", "h3")
        yield found


def claimed(books: GanttProtocol) -> dict[str, int]:
    """Host -> CPUs that are taken there and not reported yet."""
    return {view.host: view.claimed["vcpus"] for view in books.list_hosts()}


def hosts(plan: Plan) -> dict[str, str]:
    return {one.name: one.host for one in plan.placements}


def test_things_are_placed_and_known_by_their_names(books: GanttProtocol) -> None:
    plan = books.place(Item("web", count=2, cpu=2, memory="4GiB"), Item("db", cpu=4))
    assert list(hosts(plan)) == ["web-1", "web-2", "db"]
    assert claimed(books)[hosts(plan)["db"]] == 4
    assert sum(claimed(books).values()) == 8
    assert str(plan).splitlines()[2] == f"db on {hosts(plan)['db']}"
    assert len(repr(plan)) < 80
    for one in plan.placements:
        assert one.uuid == consumer_uuid(None, one.name)
        (view,) = books.list_placements(PlacedQuery(one.name))
        assert (view.host, view.node, view.uuid) == (one.host, one.node, one.uuid)
        assert (view.allocations, view.state) == (one.allocations, "placed")
    books.release_placement("web-1")
    assert {one.name for one in books.list_placements()} == {"web-2", "db"}
    assert sum(claimed(books).values()) == 6
    with pytest.raises(NotFound, match="'web-1'"):
        books.release_placement("web-1")


@pytest.mark.parametrize(
    "name", ["n" * 255, "a/b c", "naïve-✓", "3f1d8ac0-5c1e-4a9f-9e57-3d7e6f0c2b11"]
)
def test_a_name_may_be_any_text(books: GanttProtocol, name: str) -> None:
    (one,) = books.place(Item(name, cpu=1)).placements
    assert one.name == name
    assert (one.uuid == name) is (len(name) == 36)
    assert [view.name for view in books.list_placements(PlacedQuery(name))] == [name]
    books.release_placement(name)
    assert books.list_placements() == ()


def test_the_same_plan_is_answered_alike(books: GanttProtocol) -> None:
    items = Item("web", count=2, cpu=4), Item("db", cpu=4)
    first = books.place(*items, plan="app")
    assert books.place(*items, plan="app") == first
    same = Item("web", count=2, cpu="4"), Item("db", resources={"VCPU": 4})
    assert books.place(*same, plan="app") == first
    assert sum(claimed(books).values()) == 12
    with pytest.raises(Conflict, match="'app' was placed for another demand"):
        books.place(Item("web", count=2, cpu=1), plan="app")
    with pytest.raises(AlreadyClaimed, match="'db' is placed already on h.* 'app'"):
        books.place(Item("db", cpu=4))
    books.release_placement("db")
    again = books.place(*items, plan="app")
    assert again == replace(first, ended=("db",))
    assert str(again).splitlines()[-1].endswith("(ended)")
    books.release_placement(plan="app")
    assert sum(claimed(books).values()) == 0
    # The name is known a while longer: a late repeat books nothing.
    names = "web-1", "web-2", "db"
    assert books.place(*items, plan="app") == replace(first, ended=names)
    with pytest.raises(Conflict, match="'app' was placed for another demand"):
        books.place(Item("web", cpu=1), plan="app")
    assert sum(claimed(books).values()) == 0
    assert hosts(books.place(Item("web", cpu=1), plan="other")).keys() == {"web"}


def test_the_uuid_of_a_plan_is_no_consumers(engine: Gantt) -> None:
    """Who knows it may ask for hosts under it: that is another row of the books."""
    from tests.engine.test_relations import ask

    plan = engine.place(Item("web", cpu=1), plan="app")
    assert plan.claim is not None
    assert engine.schedule(replace(ask(), instance_uuids=(plan.claim,)))
    assert engine.place(Item("web", cpu=1), plan="app") == plan
    assert engine.counts()["foreign_writes"] == 0
    assert engine.verify().problems == ()


def test_names_of_plans_are_known_as_long_as_the_option_says() -> None:
    options = EngineOptions(scheduler=SchedulerOptions(plan_names_s=0.0))
    with open_gantt("memory://", options) as engine:
        report(engine, "h1")
        engine.place(Item("web", cpu=1), plan="app")
        engine.release_placement(plan="app")
        with pytest.raises(Conflict, match="'app' was placed for another demand"):
            engine.place(Item("web", cpu=2), plan="app")
        for _ in range(2):  # it ends where that was seen before
            engine.expire_claims()
        found = engine.place(Item("web", cpu=2), plan="app")
        assert (hosts(found), found.ended) == ({"web": "h1"}, ())


def test_projects_have_names_of_their_own(books: GanttProtocol) -> None:
    one = books.place(Item("web", cpu=1), project="blue", plan="p")
    two = books.place(Item("web", cpu=2), project="red", plan="p")
    assert one.placements[0].uuid != two.placements[0].uuid
    assert len(books.list_placements(PlacedQuery("web"))) == 2
    (view,) = books.list_placements(PlacedQuery(plan="p", project="red"))
    assert view.uuid == two.placements[0].uuid
    books.release_placement("web", project="red")
    (left,) = books.list_placements()
    assert left.project == "blue"


def test_all_of_it_or_nothing(books: GanttProtocol) -> None:
    with pytest.raises(NoValidHost, match=r"room for 4 of 'web'.*\nOf 3 hosts"):
        books.place(Item("db", cpu=1), Item("web", count=4, cpu=4))
    assert sum(claimed(books).values()) == 0
    assert books.list_placements() == ()


def test_the_scarcest_item_is_placed_first(books: GanttProtocol) -> None:
    label(books, "h2", "CUSTOM_SSD_YES")
    report(books, "h2", vcpus=8, memory_mb=65536)  # the best host for any
    small = Item("small", count=2, cpu=4)
    scarce = Item("scarce", cpu=8, labels={"ssd": "yes"})
    plan = books.place(small, scarce)
    assert hosts(plan)["scarce"] == "h2"
    assert {hosts(plan)["small-1"], hosts(plan)["small-2"]} == {"h1", "h3"}


def test_later_items_have_what_earlier_ones_left(books: GanttProtocol) -> None:
    items = [Item(f"i{number}", cpu=2) for number in range(6)]
    plan = books.place(*items)
    assert Counter(hosts(plan).values()) == {"h1": 2, "h2": 2, "h3": 2}
    assert set(claimed(books).values()) == {4}
    with pytest.raises(NoValidHost, match="'more'"):
        books.place(Item("more", cpu=1))


def test_apart_from_what_is_placed_and_from_each_other(books: GanttProtocol) -> None:
    first = books.place(Item("db-1", cpu=1))
    assert hosts(books.place(Item("db-2", cpu=1, not_with=("db-1",)))) != hosts(first)
    plan = books.place(Item("a", cpu=1, not_with=("b",)), Item("b", count=2, cpu=1))
    found = hosts(plan)
    assert found["a"] not in (found["b-1"], found["b-2"])
    for host in ("h1", "h2", "h3"):
        items = Item("x", cpu=1, host=host), Item("y", cpu=1, host=host)
        apart = Item("y", cpu=1, host=host, not_with=("x",))
        with pytest.raises(NoValidHost, match=f"{host} has what it must not be with"):
            books.place(items[0], apart, dry_run=True)
        books.place(*items, dry_run=True)


def test_labels_zones_aggregates_and_hosts(books: GanttProtocol) -> None:
    label(books, "h2", "CUSTOM_SSD_YES")
    made = "5b3d4e52-0c5e-4b7e-9d6e-0d8c2f1a7b01"
    metadata = {"gen": "new", "availability_zone": "north"}
    aggregate = HostAggregate(made, "fast", hosts=frozenset({"h3"}), metadata=metadata)
    books.set_host_aggregates([aggregate])

    def one(**fields: Any) -> str:
        plan = books.place(Item("one", cpu=1, **fields), dry_run=True)
        return plan.placements[0].host

    assert one(labels={"ssd": "yes"}) == "h2"
    assert one(labels={"gen": "new"}) == one(labels={"gen": ""}) == "h3"
    assert one(without={"gen": "new", "ssd": "yes"}) == "h1"
    assert one(aggregates=("fast",)) == one(aggregates=(made,)) == "h3"
    assert one(zone="north") == "h3"
    assert one(host="h1") == "h1"
    with pytest.raises(NoValidHost, match=r"h3: .*label ssd=yes|h2: .*in|h2"):
        one(labels={"ssd": "yes", "gen": "new"})


def test_a_label_is_one_wherever_it_stands(books: GanttProtocol) -> None:
    """An operator's word counts first, then metadata of aggregates, then traits."""
    made = "5b3d4e52-0c5e-4b7e-9d6e-0d8c2f1a7b01"
    fast = HostAggregate(made, "fast", hosts=frozenset({"h3"}), metadata={"gen": "new"})
    books.set_host_aggregates([fast])
    label(books, "h1", "CUSTOM_GEN_NEW")
    label(books, "h3", "CUSTOM_GEN_OLD")

    def some(**fields: Any) -> set[str]:
        """The hosts that may be, of which each has room for one."""
        found = set[str]()
        with suppress(NoValidHost):
            for count in (1, 2, 3):
                item = Item("one", count=count, cpu=4, **fields)
                found = set(hosts(books.place(item, dry_run=True)).values())
        return found

    assert some(labels={"gen": "new"}) == {"h1", "h3"}
    assert some(without={"gen": "new"}) == {"h2"}
    books.label_host("h1", {"gen": "old"})
    books.label_host("h2", {"gen": "new"})
    assert some(labels={"gen": "new"}) == {"h2", "h3"}
    assert some(labels={"gen": "old"}) == {"h1"}
    assert some(labels={"gen": ""}) == {"h1", "h2", "h3"}
    assert some(without={"gen": ""}) == set()
    label(books, "h1", "CUSTOM_CUDA_11")
    books.update_host(
        "h1", "h1", HostStats(traits=("CUSTOM_CUDA_11", "CUSTOM_CUDA_12"))
    )
    assert some(labels={"cuda": "11"}) == some(labels={"cuda": "12"}) == {"h1"}


def test_a_preferred_label_is_taken_first_and_not_demanded(
    books: GanttProtocol,
) -> None:
    books.label_host("h2", {"gen": "new"})
    used = Item("used", cpu=1, host="h2")
    books.place(used)
    one = Item("one", cpu=1, prefer={"gen": "new"})
    assert hosts(books.place(one)) == {"one": "h2"}, "although others are emptier"
    first = next(one for one in books.decisions() if one.scores)
    assert "PreferredLabelsWeigher" in first.scores[0].parts
    more = Item("more", count=3, cpu=3, prefer={"gen": "new"})
    with pytest.raises(NoValidHost):
        books.place(more)
    plan = books.place(Item("more", count=2, cpu=3, prefer={"gen": "new"}))
    assert set(hosts(plan).values()) == {"h1", "h3"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": {"sdd": "yes"}}, "labels: 'sdd=yes' is not known here; .*ssd_yes"),
        ({"without": {"sdd": "yes"}}, "without: 'sdd=yes' is not known"),
        ({"prefer": {"ssd": "yse"}}, "prefer: 'ssd=yse' is not known here; .*ssd_yes"),
        ({"zone": "nowa"}, "zone: 'nowa' is not known here; there is nova"),
        ({"host": "h9"}, "host: 'h9' is not known here; there is h"),
        ({"aggregates": ("fats",)}, "aggregates: 'fats' is not known"),
        ({"not_with": ("wbe",)}, "not_with: 'wbe' is not known here; there is web"),
        ({"not_with": ("one",)}, "not_with: it cannot be apart from itself"),
        ({"resources": {"foo": 1}}, "resources: 'FOO' is not known here"),
        ({"memory": "4 cores"}, "memory: '4 cores' has a unit that does not fit"),
    ],
)
def test_a_name_that_is_not_known_places_nothing(
    books: GanttProtocol, fields: dict[str, Any], message: str
) -> None:
    label(books, "h1", "CUSTOM_SSD_YES")
    books.place(Item("web", cpu=1))
    with pytest.raises(Invalid, match=message):
        books.place(Item("one", cpu=1, **fields))
    assert [one.name for one in books.list_placements()] == ["web"]


def test_the_name_of_a_project_is_no_longer_than_others(books: GanttProtocol) -> None:
    books.place(Item("web", cpu=1), project="p" * 255)
    with pytest.raises(Invalid, match=r"length <= 255 - at `\$.project`"):
        books.place(Item("web", cpu=1), project="p" * 256)


def test_a_refusal_is_told_in_plain_words(books: GanttProtocol) -> None:
    label(books, "h1", "CUSTOM_SSD_YES")
    refused = []
    for item in (
        Item("one", cpu=99, memory="4GiB"),
        Item("one", cpu=1, memory="1TiB", disk=9),
        Item("one", cpu=3, labels={"ssd": "yes"}, count=2),
        Item("one", cpu=1, host="h2", labels={"ssd": "yes"}),
        Item("one", cpu=4, count=9),
    ):
        with pytest.raises(NoValidHost) as refusal:
            books.place(item)
        refused.append(str(refusal.value))
    for text in refused:
        assert text.startswith("There is no room for ")
        assert 2 <= len(text.splitlines()) <= 7
        assert not NOVAS.search(text), text
    assert "ask for 4 instead of 99 CPUs" in refused[0]
    assert "ask for 2 instead of 3 CPUs" in refused[2]
    assert "ask without the label ssd=yes" in refused[3]


def test_a_lease_ends_unless_it_is_confirmed(engine: Gantt) -> None:
    engine.place(Item("kept", cpu=1), plan="kept", lease_s=60)
    (view,) = engine.list_placements()
    assert (view.state, view.leased_until is None) == ("leased", False)
    engine.confirm_placement(plan="kept")
    (view,) = engine.list_placements()
    assert (view.state, view.leased_until) == ("placed", None)
    lost = engine.place(Item("lost", count=2, cpu=1), Item("too", cpu=1), lease_s=0.01)
    assert lost.leased_until is not None
    with suppress(ClaimExpired, NotFound):
        while engine.list_placements(PlacedQuery("lost-1")):
            engine.expire_claims()
    assert [one.name for one in engine.list_placements()] == ["kept"]
    with pytest.raises(NotFound):
        engine.confirm_placement("lost-1")


def test_a_dry_run_books_nothing(books: GanttProtocol) -> None:
    plan = books.place(Item("web", count=2, cpu=4), dry_run=True, lease_s=9, plan="p")
    assert (len(plan.placements), plan.claim) == (2, None)
    assert sum(claimed(books).values()) == 0
    assert books.list_placements() == ()


def test_a_name_outlives_the_report_of_its_host(engine: Gantt) -> None:
    items = Item("web", count=2, cpu=1), Item("db", cpu=2)
    plan = engine.place(*items, plan="app")
    for one in plan.placements:
        engine.update_instances(one.host, [Instance(one.uuid, {"size": "small"})])
    assert {one.state for one in engine.list_placements()} == {"running"}
    assert engine.place(*items, plan="app") == plan
    with pytest.raises(AlreadyClaimed, match="'db' is placed already on h"):
        engine.place(Item("db", cpu=2))
    with pytest.raises(Conflict, match="another demand"):
        engine.place(Item("other", cpu=2), plan="app")
    gone = plan.placements[2]
    engine.delete_instance(gone.host, gone.uuid)
    (left,) = engine.list_placements(PlacedQuery("db"))
    assert (left.state, left.host) == ("ended", gone.host)
    engine.release_placement("db")
    assert engine.list_placements(PlacedQuery("db")) == ()
    engine.release_placement(plan="app")
    assert engine.get_allocations(plan.placements[0].uuid) is None
    with pytest.raises(AlreadyClaimed, match="'web-1' is placed already"):
        engine.place(Item("web", count=2, cpu=1))  # its host says that it runs


def test_what_only_runs_keeps_no_others_of_its_plan() -> None:
    """By the reports of hosts, nothing is booked of what they name."""
    options = EngineOptions(scheduler=SchedulerOptions(use_placement="never"))
    with open_gantt("memory://", options) as books:
        report(books, "h1")
        one, other = books.place(Item("web", count=2, cpu=1), plan="p").placements
        books.update_instances("h1", [Instance(one.uuid)])
        assert set(claimed(books).values()) == {1}
        books.release_placement(plan="p")
        assert set(claimed(books).values()) == {0}
        (left,) = books.list_placements()
        assert (left.uuid, left.state) == (one.uuid, "running")
        for name in (one.name, other.name):
            with pytest.raises(NotFound):
                books.release_placement(name)
        with pytest.raises(NotFound, match="has nothing to release"):
            books.release_placement(plan="p")


def test_another_process_knows_the_names(engine: Gantt) -> None:
    plan = engine.place(Item("web", cpu=1), Item("db", cpu=1), plan="app")
    one = plan.placements[0]
    engine.update_instances(one.host, [Instance(one.uuid)])
    with open_gantt(engine.url) as other:
        assert other.place(Item("web", cpu=1), Item("db", cpu=1), plan="app") == plan
        assert other.verify().problems == ()
        other.release_placement(plan="app")
    assert engine.list_placements(PlacedQuery(plan="app", project="")) == ()


def test_threads_that_fight_never_oversell(engine: Gantt) -> None:
    """Demands of two items, eight at once: 12 CPUs, and 3 for each demand."""
    won: list[Plan] = []
    lost: list[str] = []

    def place(number: int) -> None:
        items = Item(f"a{number}", cpu=2), Item(f"b{number}", cpu=1)
        try:
            won.append(engine.place(*items))
        except NoValidHost as refusal:
            lost.append(str(refusal))

    threads = [threading.Thread(target=place, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) + len(lost) == 8
    assert len(won) == 4
    used = Counter[str]()
    for plan in won:
        used.update({hosts(plan)[plan.placements[0].name]: 2})
        used.update({hosts(plan)[plan.placements[1].name]: 1})
    assert set(used.values()) == {4}
    assert claimed(engine) == used
    assert len(engine.list_placements()) == 8
    assert engine.verify().problems == ()


def test_one_plan_that_many_ask_for_is_placed_once(engine: Gantt) -> None:
    found: list[object] = []

    def place() -> None:
        try:
            found.append(engine.place(Item("web", count=3, cpu=4), plan="app"))
        except GanttError as error:
            found.append(error)

    threads = [threading.Thread(target=place) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one == found[0] for one in found), found
    assert isinstance(found[0], Plan)
    assert set(claimed(engine).values()) == {4}


def test_what_is_lost_before_it_is_told_is_placed_again(
    engine: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its plan is not answered with what was given back."""
    answer, lost = Run.answer, [ClaimLost("a host is gone")]

    def answered(self: Run, *args: Any) -> Any:
        if lost:
            raise lost.pop()
        return answer(self, *args)

    monkeypatch.setattr(Run, "answer", answered)
    asked = Item("web", count=2, cpu=4), Item("db", cpu=4)
    plan = engine.place(*asked, plan="app")
    assert (lost, plan.ended) == ([], ())
    assert engine.place(*asked, plan="app") == plan
    assert len(engine.list_placements()) == 3
    assert engine.verify().problems == ()


def test_demands_for_many_things_are_placed_one_at_a_time() -> None:
    options = EngineOptions(answer_timeout_s=0.05)
    many = Item("many", count=65, cpu=1), Item("few", cpu=1)
    with open_gantt("memory://", options) as books:
        report(books, "h1", "h2", vcpus=60)
        turn = books._placing._turn
        with turn:
            with pytest.raises(Busy, match="Nothing was placed"):
                books.place(*many)
            assert not books.list_placements()
            books.place(Item("one", cpu=1))
        books.place(*many)
        assert turn.acquire(blocking=False)
        assert len(books.list_placements()) == 67


def test_the_work_for_a_demand_grows_with_its_things_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However they are spread over items: its choices, and how often its claim is
    read when it is released."""
    options = EngineOptions(scheduler=SchedulerOptions(claim_choices=12))
    commands: list[Any] = []
    released: list[object] = []
    release = leases.release
    with open_gantt("memory://", options) as books:
        report(books, *(f"h{number}" for number in range(8)))
        submit = books._committer.submit

        def noted(command: Any, *more: Any) -> Any:
            commands.append(command)
            return submit(command, *more)

        def counted(draft: Draft, command: ReleaseClaim) -> None:
            released.append(command)
            release(draft, command)

        monkeypatch.setattr(books._committer, "submit", noted)
        monkeypatch.setattr(leases, "release", counted)
        books.place(*(Item(f"i{n}", count=2, cpu=1) for n in range(3)), plan="app")
        (book,) = [one for one in commands if isinstance(one, Book)]
        each = [len(one.choices) for claim in book.claims for one in claim.instances]
        assert each == [2] * 6
        books.release_placement(plan="app")
        assert len(released) == 1
        assert not books.list_placements()


def test_a_recorded_demand_is_decided_again(tmp_path: Path) -> None:
    """Each item on what the ones before it left."""
    with service(tmp_path) as books:
        add_hosts(books, "h0", "h1", "h2", vcpus=4)
        books.place(Item("a", count=2, cpu=2), Item("b", cpu=4), Item("c", cpu=2))
        flush(books)
    _, found = played(tmp_path / "record")
    assert [one.differs_in for one in found] == [(), (), ()]
    hosts = [host for one in found for host in one.hosts]
    assert Counter(hosts).most_common(3)[-1][1] == 1
