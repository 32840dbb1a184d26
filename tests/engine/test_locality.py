"""Hosts that hold what is asked for are preferred, or required, through the whole
engine."""

from __future__ import annotations

import hashlib
import time
import uuid as uuids
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gantt import Item
from gantt.cli.decision import decision_text
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Invalid, NotFound, NoValidHost, TooManyNames
from gantt.model.artifacts import Artifact
from gantt.model.bounds import MAX_SIZE
from gantt.model.fleet import ARTIFACTS
from gantt.model.hosts import HostStats, Instance, Service
from gantt.model.reports import Report
from gantt.model.spec import Flavor, Image, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from tests.idle_host import idle

GIB = 2**30
IMAGE = "3c1d9f2e-8f0e-4c8e-9d3b-7a1f7a3f1a10"
HOSTS = ("h1", "h2", "h3", "h4")


@contextmanager
def fleet(**options: Any) -> Iterator[Gantt]:
    """Four hosts that are alike; the first is the best of equals."""
    with open_gantt(
        "memory://", EngineOptions(scheduler=SchedulerOptions(**options))
    ) as books:
        for host in HOSTS:
            stats = idle(16, 65536, cpu_allocation_ratio=1.0, hypervisor_hostname=host)
            books.update_host(host, host, stats)
        yield books


@pytest.fixture
def books() -> Iterator[Gantt]:
    with fleet() as found:
        yield found


def hold(books: Gantt, host: str, **sizes: int) -> None:
    named = {name.replace("_", "-"): size for name, size in sizes.items()}
    books.update_host(host, host, HostStats(holds=named))


def where(books: Gantt, name: str, **fields: Any) -> list[str]:
    """The hosts of what is placed."""
    plan = books.place(Item(name, cpu=1, memory=64, **fields))
    return [one.host for one in plan.placements]


def started(books: Gantt, count: int = 1, **fields: Any) -> list[str]:
    """The hosts of instances that Nova asks for."""
    names = tuple(str(uuids.uuid4()) for _ in range(count))
    spec = RequestSpec(Flavor(1, 64, 0), project_id="p", user_id="u", **fields)
    found = books.schedule(ScheduleRequest(spec, names))
    return [one[0].service_host for one in found]


def test_the_host_that_holds_more_bytes_is_preferred(books: Gantt) -> None:
    hold(books, "h2", web=GIB)
    hold(books, "h3", web=GIB, model=40 * GIB)
    hold(books, "h4", model=40 * GIB)
    assert where(books, "a", artifacts=("web", "model")) == ["h3"]
    assert where(books, "b", artifacts=("web",)) in (["h2"], ["h3"])
    assert where(books, "c") == ["h1"]


def test_what_a_host_holds_no_more_does_not_count(books: Gantt) -> None:
    hold(books, "h3", web=GIB)
    hold(books, "h4", web=GIB)
    hold(books, "h3")
    assert where(books, "a", artifacts=("web",)) == ["h4"]
    books.release_placement("a")
    books.delete_host("h4", "h4")
    with pytest.raises(Invalid, match="'web' is not known here; there is none"):
        where(books, "b", artifacts=("web",))


def test_a_report_without_the_field_leaves_it_as_it_is(books: Gantt) -> None:
    hold(books, "h3", web=GIB)
    books.update_host("h3", "h3", HostStats(vcpus_used=1))
    assert where(books, "a", artifacts=("web",)) == ["h3"]


def test_a_cold_burst_packs_near_the_first(books: Gantt) -> None:
    books.register_artifact("model", "40GiB")
    assert len(set(where(books, "a", count=3, artifacts=("model",)))) == 1
    first = where(books, "b", artifacts=("model",))
    assert where(books, "c", artifacts=("model",)) == first
    assert where(books, "other") != first


def test_a_cold_burst_spreads_where_the_option_says_so() -> None:
    with fleet(cold_artifacts="spread", packing="stack") as books:
        books.register_artifact("model", "40GiB")
        hosts = where(books, "a", count=3, artifacts=("model",))
        hosts += where(books, "b", artifacts=("model",))
        assert sorted(hosts) == sorted(HOSTS)
        hold(books, "h3", model=40 * GIB)
        assert where(books, "c", count=2, artifacts=("model",)) == ["h3", "h3"]


def test_what_was_released_is_on_its_way_no_more(books: Gantt) -> None:
    books.register_artifact("model", "40GiB")
    (first,) = where(books, "a", artifacts=("model",))
    books.release_placement("a")
    assert where(books, "other", host=first)
    assert where(books, "b", artifacts=("model",)) != [first]


def test_what_runs_on_a_host_holds_there_what_it_asked_for(books: Gantt) -> None:
    books.register_artifact("model", "40GiB")
    plan = books.place(Item("a", cpu=1, artifacts=("model",), host="h3"))
    (one,) = plan.placements
    books.update_instances("h3", [Instance(one.uuid)])
    assert books.read(lambda state: not state.fleet.claims.by_instance)
    (known,) = books.list_artifacts(name="model")
    assert known == Artifact("model", 40 * GIB, is_registered=True, hosts=1)
    assert where(books, "b", need_artifacts=("model",)) == ["h3"]
    books.update_instances("h2", [Instance(one.uuid)])
    assert where(books, "c", need_artifacts=("model",)) == ["h2"]
    books.delete_instance("h2", one.uuid)
    (known,) = books.list_artifacts(name="model")
    assert known.hosts == 0
    assert books.verify().problems == ()


def test_only_what_is_registered_may_be_required(books: Gantt) -> None:
    hold(books, "h3", web=GIB)
    books.register_artifact("wab", GIB)
    with pytest.raises(Invalid) as refused:
        where(books, "a", need_artifacts=("web",))
    assert "'web' is not registered; there is wab. Only what is reg" in str(refused)
    books.register_artifact("web", GIB)
    assert where(books, "a", need_artifacts=("web",)) == ["h3"]
    books.remove_artifact("web")
    with pytest.raises(NotFound, match="No artifact 'web' is registered"):
        books.remove_artifact("web")
    with pytest.raises(Invalid, match="Only what is registered"):
        where(books, "b", need_artifacts=("web",))


def test_a_refusal_says_which_artifact_is_missing(books: Gantt) -> None:
    books.register_artifact("model", "40GiB")
    with pytest.raises(NoValidHost) as refused:
        where(books, "a", need_artifacts=("model",))
    text = str(refused.value)
    assert "Of 4 hosts, 4 without the artifact model." in text
    assert "This would help: ask without need_artifacts." in text


def test_what_is_on_its_way_only_is_not_there(books: Gantt) -> None:
    books.register_artifact("model", "40GiB")
    where(books, "a", artifacts=("model",))
    with pytest.raises(NoValidHost):
        where(books, "b", need_artifacts=("model",))


def test_hints_name_artifacts_as_well(books: Gantt) -> None:
    hold(books, "h3", web=GIB)
    hint = {"gantt:artifacts": ("web",)}
    assert started(books, 2, scheduler_hints=hint) == ["h3", "h3"]
    with pytest.raises(Invalid, match="'wab' is not known here; there is web"):
        started(books, scheduler_hints={"gantt:artifacts": ("wab",)})
    needed: dict[str, tuple[str, ...]] = {"gantt:need_artifacts": ("web",)}
    with pytest.raises(Invalid, match="'web' is not registered; there is none"):
        started(books, scheduler_hints=needed)
    books.register_artifact("web", GIB)
    assert started(books, scheduler_hints=needed) == ["h3"]
    forced = started(books, scheduler_hints=needed, force_hosts=("h1",))
    assert forced == ["h1"]
    assert books.capacity(
        RequestSpec(Flavor(1), scheduler_hints=needed)
    ).hosts.keys() == {"h3"}


def test_too_many_are_refused(books: Gantt) -> None:
    many = tuple(f"a{n}" for n in range(65))
    with pytest.raises(Invalid, match="names 65 artifacts; the limit is 64"):
        started(books, scheduler_hints={"gantt:artifacts": many})


def test_images_count_where_the_option_says_so(books: Gantt) -> None:
    image = Image(IMAGE)
    hold(books, "h3", **{hashlib.sha1(IMAGE.encode()).hexdigest(): GIB})
    assert started(books, image=image) == ["h1"]
    with fleet(image_locality=True) as other:
        hold(other, "h3", **{hashlib.sha1(IMAGE.encode()).hexdigest(): GIB})
        assert started(other, image=image) == ["h3"]
        assert started(other, image=image, is_bfv=True) != ["h3"]
        elsewhere = str(uuids.uuid4())
        other.update_instances("h2", [Instance(elsewhere, {"image_ref": IMAGE})])
        hold(other, "h3")
        found = Counter(started(other, 2, image=image))
        assert found.keys() <= {"h2", "h3"}


def test_a_decision_says_what_need_not_be_copied(books: Gantt) -> None:
    hold(books, "h3", web=int(4.1 * GIB))
    where(books, "a", artifacts=("web",))
    (record,) = books.decisions(limit=1)
    assert "h3 has web: 4.1 GiB less to copy." in decision_text(record)


def test_the_same_demand_is_the_same_with_its_artifacts(books: Gantt) -> None:
    books.register_artifact("web", GIB)
    item = Item("a", cpu=1, artifacts=("web",))
    first = books.place(item, plan="p")
    assert books.place(item, plan="p") == first


def test_a_host_reports_so_many_artifacts() -> None:
    with fleet(max_host_artifacts=1) as books:
        with pytest.raises(TooManyNames, match=r"2 artifacts, and 1 is the limit"):
            hold(books, "h1", a=1, b=1)
        report = Report(
            host="h1",
            node="h1",
            incarnation=str(uuids.uuid4()),
            sequence=1,
            taken_at=time.time_ns() // 1000,
            full=True,
            fields=HostStats(holds={"a": 1, "b": 1}),
        )
        (outcome,) = books.report_hosts([report])
        assert (outcome.outcome, outcome.code) == ("refused", "too_many_names")


def test_so_many_are_registered() -> None:
    with fleet(max_artifacts=1) as books:
        books.register_artifact("a", 1)
        books.register_artifact("a", 2)
        with pytest.raises(Invalid, match="1 artifacts are registered, and 1 is the l"):
            books.register_artifact("b", 1)
        assert books.list_artifacts() == (Artifact("a", 2, True, 0),)


@pytest.mark.parametrize(
    ("size", "why"),
    [("4 cores", "unit that does not fit"), (-1, "from 0 to"), ("1.5", "not whole")],
)
def test_sizes_are_bytes(books: Gantt, size: int | str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        books.register_artifact("a", size)


def test_a_size_of_many_digits_is_the_largest(books: Gantt) -> None:
    """As it may be told among the services, unread."""
    books.update_service(Service("a", ARTIFACTS, disabled_reason="9" * 200))
    (found,) = books.list_artifacts()
    assert found.size == MAX_SIZE
    hold(books, "h2", a=GIB)
    assert where(books, "x", artifacts=("a",)) == ["h2"]
