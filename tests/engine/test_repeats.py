"""A request that is sent again, as after a time-out, books nothing more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Literal, NoReturn

import pytest
from msgspec.structs import replace

from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.scheduling_cycle import Run
from gantt.errors import AlreadyClaimed, NotFound, NoValidHost
from gantt.model.commands import ReleaseClaim
from gantt.model.fleet_lists import InstanceQuery
from gantt.model.hosts import Instance
from gantt.model.selection import Selection
from gantt.model.spec import Flavor, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions
from tests.engine.test_scheduling import ask, held, report

ALL = Flavor(vcpus=4, memory_mb=8192, root_gb=10)


@pytest.fixture(params=["memory", "sqlite", "reports"])
def engine(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Gantt]:
    kept = "memory://"
    if request.param == "sqlite":
        kept = f"sqlite:///{tmp_path}/gantt.db"
    source: Literal["never", "always"] = "always"
    if request.param == "reports":
        source = "never"
    options = EngineOptions(
        store=StoreOptions(create=True),
        scheduler=SchedulerOptions(use_placement=source),
    )
    with open_gantt(kept, options) as found:
        for host in ("one", "two"):
            report(found, host)
        yield found


def place(selection: Selection) -> Selection:
    """What a repeat has to answer; the age of the report goes on."""
    return replace(selection, age_s=None)


def claimed(engine: Gantt) -> dict[str, int]:
    return {view.host: view.claimed["instances"] for view in engine.list_hosts()}


@pytest.mark.parametrize("lease_s", [None, 60.0])
def test_the_same_request_is_answered_alike(
    engine: Gantt, lease_s: float | None
) -> None:
    request = ask(2, lease_s=lease_s)
    first = engine.schedule(request)
    before = held(engine), claimed(engine)
    again = engine.schedule(replace(request, request_id="req-2"))
    assert [place(one[0]) for one in again] == [place(one[0]) for one in first]
    assert (held(engine), claimed(engine)) == before
    engine.release_claim(again[0][0].claim or "")
    assert set(claimed(engine).values()) == {0}
    with pytest.raises(NotFound):
        engine.release_claim(first[0][0].claim or "")


def test_a_fleet_that_is_full_since_is_no_obstacle(engine: Gantt) -> None:
    request = ask(2, flavor=ALL)
    first = engine.schedule(request)
    again = engine.schedule(request)
    assert [place(one[0]) for one in again] == [place(one[0]) for one in first]
    with pytest.raises(AlreadyClaimed, match="already on host"):
        engine.schedule(replace(request, lease_s=9.0))
    with pytest.raises(NoValidHost):
        engine.schedule(ask(1, flavor=ALL))


def test_many_callers_of_one_request_get_one_host(engine: Gantt) -> None:
    request, found = ask(1), []
    begin = threading.Barrier(8)

    def call() -> None:
        begin.wait()
        found.append(engine.schedule(request)[0][0])

    threads = [threading.Thread(target=call) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 8
    assert len({(one.service_host, one.claim) for one in found}) == 1
    assert sum(claimed(engine).values()) == 1


def test_another_request_is_refused_or_replaces(engine: Gantt) -> None:
    request = ask(1)
    (mine,) = engine.schedule(request)[0][:1]
    other = replace(request, spec=replace(request.spec, flavor=ALL))
    with pytest.raises(AlreadyClaimed, match=f"host {mine.service_host}, claim"):
        engine.schedule(other)
    engine.schedule(replace(other, replaces=True))
    assert sum(claimed(engine).values()) == 1


def test_what_runs_is_moved(engine: Gantt) -> None:
    request = ask(1)
    (mine,) = engine.schedule(request)[0][:1]
    (uuid,) = request.names
    engine.update_instances(mine.service_host, [Instance(uuid)])
    away = replace(request.spec, ignore_hosts=(mine.service_host,))
    (there,) = engine.schedule(replace(request, spec=away))[0][:1]
    assert there.service_host != mine.service_host
    (again,) = engine.schedule(replace(request, spec=away))[0][:1]
    assert place(again) == place(there)


@pytest.mark.parametrize(
    "change",
    [
        {"return_alternates": False},
        {"request_id": "other"},
        {"lease_s": 99.0},
        {"user_id": "ignored, as the spec has one"},
    ],
)
def test_what_does_not_change_the_request(
    engine: Gantt, change: dict[str, Any]
) -> None:
    request = ask(1, lease_s=60.0)
    engine.schedule(request)
    engine.schedule(replace(request, **change))
    assert sum(claimed(engine).values()) == 1


def test_a_lease_is_part_of_the_request(engine: Gantt) -> None:
    request: ScheduleRequest = ask(1)
    engine.schedule(request)
    with pytest.raises(AlreadyClaimed):
        engine.schedule(replace(request, lease_s=60.0))


def test_what_a_repeat_claimed_anew_ends_where_no_answer_can_be_made(
    engine: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what the request was answered before stays."""
    request = ask(2)
    first, second = request.names
    engine.schedule(request)
    ((mine, *_), _) = engine.schedule(request)
    engine.submit(ReleaseClaim(str(mine.claim), instance_uuids=frozenset({second})))

    def broken(*_: Any) -> NoReturn:
        raise RuntimeError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(Run, "answer", broken)
        with pytest.raises(RuntimeError, match="no answer"):
            engine.schedule(request)
    (left,) = engine.list_instances(InstanceQuery(is_claimed=True))
    assert (left.uuid, left.claim) == (first, mine.claim)
    ((again, *_), _) = engine.schedule(request)
    assert again.claim == mine.claim
    assert sum(claimed(engine).values()) == 2
