"""When workers that have ended are started again."""

from __future__ import annotations

from gantt.openstack.rpc.restarts import LONGEST_PAUSE_S, SETTLED_S, STARTS, Restarts


def fail(restarts: Restarts, number: int, now: float, *, served: bool = False) -> float:
    """A worker dies at once; the seconds until the next one."""
    restarts.ended(number, now, status=1, began=now, served=served)
    pause = restarts.next_s(now)
    return -1.0 if pause is None else pause


def test_a_worker_that_had_settled_is_started_at_once() -> None:
    restarts = Restarts(1)
    assert restarts.next_s(0.0) is None
    restarts.ended(0, SETTLED_S, status=-9, began=0.0, served=True)
    assert restarts.next_s(SETTLED_S) == 0.0
    assert restarts.take_due(SETTLED_S) == [0]
    assert restarts.take_due(SETTLED_S) == []


def test_pauses_grow_and_end_when_one_settles() -> None:
    restarts = Restarts(2)
    pauses = []
    for _ in range(7):
        pauses.append(fail(restarts, 1, 100.0))
        assert restarts.take_due(100.0) == []
        assert restarts.take_due(100.0 + pauses[-1]) == [1]
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    assert not restarts.are_futile
    for _ in range(2_000):  # a day beside a worker that serves
        pauses.append(fail(restarts, 1, 100.0))
    assert pauses[-1] == LONGEST_PAUSE_S
    restarts.ended(1, SETTLED_S, status=1, began=0.0, served=True)
    assert restarts.take_due(SETTLED_S) == [1]
    assert fail(restarts, 1, 200.0) == 1.0


def test_it_is_futile_only_when_no_worker_can_start() -> None:
    restarts = Restarts(2)
    for _ in range(STARTS):
        fail(restarts, 0, 0.0)
    assert not restarts.are_futile
    for _ in range(STARTS - 1):
        fail(restarts, 1, 0.0)
    fail(restarts, 1, 0.0, served=True)
    assert not restarts.are_futile
    for _ in range(STARTS):
        fail(restarts, 1, 0.0)
    assert restarts.are_futile


def test_workers_that_serve_and_die_are_not_given_up() -> None:
    restarts = Restarts(1)
    for _ in range(10):
        fail(restarts, 0, 0.0, served=True)
    assert not restarts.are_futile
    assert restarts.next_s(0.0) == LONGEST_PAUSE_S
