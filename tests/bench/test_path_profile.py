"""Stages: own times that add up, of functions that exist, and are as before at the
end."""

from __future__ import annotations

import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gantt.bench.bare_threads import BARE, _Pair, bare_threads
from gantt.bench.bench_fleets import fleet_of
from gantt.bench.path_profile import Timer, place_of
from gantt.bench.path_stages import HAND_OVER, ORDER, OTHER, SEAMS, WAIT
from gantt.bench.paths import PATHS, acts, opened, place_among, profiles
from gantt.connection import open_gantt
from gantt.engine.commit import group_commit
from gantt.engine.commit.pending_writes import PendingWrite
from gantt.engine.commit.preconditions import preconditions
from gantt.model.commands import CreateTrait
from tests.live import STOP_S


class Ticks:
    """A clock that goes on by what it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("module", "name", "stage"), SEAMS)
def test_the_table_names_functions_that_exist(
    module: str, name: str, stage: str
) -> None:
    place, attribute = place_of(module, name)
    assert callable(place.__dict__[attribute])
    assert stage in (*ORDER, WAIT)


def test_what_a_stage_calls_of_others_is_not_its_own() -> None:
    clock = Ticks()
    timer = Timer(clock)

    def work(took: float) -> None:
        clock.now += took

    inner = timer.wrapped(work, "masks")

    def outer() -> None:
        work(1.0)
        inner(5.0)
        inner(2.0)

    timer.wrapped(outer, "pick")()
    work(4.0)
    assert timer.stages(12.0) == {"masks": 7.0, "pick": 1.0, OTHER: 4.0}


def test_a_stage_that_fails_counts_too() -> None:
    clock = Ticks()
    timer = Timer(clock)

    def fail() -> None:
        clock.now += 3.0
        raise ValueError

    with pytest.raises(ValueError):
        timer.wrapped(fail, "commit")()
    assert timer.stages(3.0) == {"commit": 3.0}


def test_while_the_caller_waits_the_committers_stages_count() -> None:
    clock = Ticks()
    timer = Timer(clock)

    def work(took: float) -> None:
        clock.now += took

    def wait() -> None:
        thread = threading.Thread(target=timer.wrapped(work, "commit"), args=(6.0,))
        thread.start()
        thread.join()
        work(1.0)

    timer.wrapped(wait, WAIT)()
    assert timer.stages(7.0) == {"commit": 6.0, HAND_OVER: 1.0}


def test_what_the_committer_does_besides_is_no_hand_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that the hand-over is what two threads take to wake up."""
    clock = Ticks()
    timer = Timer(clock)
    waits = threading.Event()
    is_settled = PendingWrite.is_settled

    def waiting(write: PendingWrite[Any], timeout_s: float) -> bool:
        waits.set()
        return is_settled(write, timeout_s)

    def slowly(*args: Any) -> Any:
        assert waits.wait(STOP_S)
        waits.clear()
        clock.now += 2.0
        return preconditions(*args)

    monkeypatch.setattr(PendingWrite, "is_settled", waiting)
    monkeypatch.setattr(group_commit, "preconditions", slowly)
    with open_gantt("memory://") as gantt, timer.installed():
        for name in ("CUSTOM_A", "CUSTOM_B", "CUSTOM_C"):
            gantt.submit(CreateTrait(name))
    assert timer.stages(6.0) == {"batch": 6.0}


def test_bare_threads_take_what_is_not_their_work() -> None:
    """Each reading of the clock takes 0.1 ms, and there are two outside of work."""
    clock = Ticks()

    def read() -> float:
        clock.now += 0.0001
        return clock.now

    found = bare_threads(5, read)
    assert found.path == BARE
    assert found.requests == 5
    assert found.stages == {HAND_OVER: found.median_s}
    assert found.median_s == pytest.approx(0.0002)


def test_bare_threads_end_where_one_was_only_just_told(
    request: pytest.FixtureRequest,
) -> None:
    """As by Ctrl-C, before the other thread could run."""
    request.addfinalizer(partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1)
    pair = _Pair(Ticks())
    time.sleep(0.01)  # until it waits
    pair._asked.release()
    pair.end()
    assert not pair._thread.is_alive()


@pytest.mark.parametrize("hosts", [100, 7_919, 10_000, 15_838])
def test_requests_go_to_all_hosts_in_turn(hosts: int) -> None:
    assert len({place_among(hosts, number) for number in range(hosts)}) == hosts


def test_every_path_is_profiled_and_nothing_stays_wrapped(tmp_path: Path) -> None:
    before = [place_of(*seam[:2])[0].__dict__[seam[1].split(".")[-1]] for seam in SEAMS]
    fleet = fleet_of("flat", 30, is_mixed=False)
    found = {
        one.path: one for one in profiles(fleet, tmp_path, lambda *_: None, requests=8)
    }
    assert tuple(found) == (*PATHS, BARE)
    for one in found.values():
        assert sum(one.stages.values()) == pytest.approx(one.median_s)
        assert min(one.stages.values()) > 0
    select, get = found["select, durable"].stages, found["GET inventories"].stages
    wanted = ("freshness", "lock", "masks", "weights", "pick", "claim planning")
    assert {*wanted, "SQL write", "commit", "encode", "rules"} <= select.keys()
    assert {"authorize", "freshness", "look-up", "encode"} <= get.keys()
    assert "commit" not in get
    after = [place_of(*seam[:2])[0].__dict__[seam[1].split(".")[-1]] for seam in SEAMS]
    assert all(one is other for one, other in zip(before, after, strict=True))


def test_paths_do_what_their_names_say() -> None:
    fleet = fleet_of("flat", 12, is_mixed=False)
    with opened("memory://", fleet, lambda *_: None) as books:
        made = acts(books, fleet)
        revision = books.revision
        for name in ("report, unchanged", "GET inventories", "GET usages"):
            made[name](1)
        assert books.revision == revision
        for name in (*PATHS[:3], "PUT /allocations", "report, changed"):
            before = books.revision
            made[name](2)
            assert books.revision > before, name
