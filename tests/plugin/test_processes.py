"""Threads and forks: nothing is shared that must not be."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from gantt_nova_plugin.advisor import Advisor

from tests.plugin.clouds import hosts, spec, weighed
from tests.plugin.fake_gantt import FakeGantt

Configure = Callable[..., Advisor]
THREADS = 8
CALLS = 20


def in_child(work: Callable[[], object]) -> int:
    """What waits for a forked child to do this; the child is the caller's to wait for
    with `ended_well`."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def ended_well(child: int) -> bool:
    return os.waitpid(child, 0)[1] == 0


def test_each_thread_has_a_connection(configure: Configure, gantt: FakeGantt) -> None:
    advisor = configure(mode="advise")
    wrong: list[object] = []
    both = threading.Barrier(THREADS)

    def work(name: str) -> None:
        both.wait()
        for number in range(CALLS):
            mine = [f"{name}{number}.{n}" for n in range(5)]
            if weighed(spec(), hosts(mine)) != mine[::-1]:
                wrong.append(mine)

    threads = [threading.Thread(target=work, args=(c,)) for c in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert gantt.connections == THREADS
    assert advisor.journal.counters()["answered"] == THREADS * CALLS


def test_forked_workers_connect_themselves(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="advise")
    assert weighed(spec(), hosts()) == ["c", "b", "a"]

    def work() -> None:
        for number in range(CALLS):
            mine = [f"{os.getpid()}.{number}.{n}" for n in range(5)]
            assert weighed(spec(), hosts(mine)) == mine[::-1]

    children = [in_child(work) for _ in range(4)]
    work()
    assert all(ended_well(child) for child in children)
    assert gantt.connections == 1 + len(children)
    by_process: dict[str, set[int]] = {}
    for asked in gantt.asked[1:]:
        process = asked.body["hosts"][0]["host"].partition(".")[0]
        by_process.setdefault(process, set()).add(asked.connection)
    assert sorted(map(len, by_process.values())) == [1] * 5


def test_child_does_not_wait_for_locks_that_were_held_at_the_fork(
    configure: Configure, gantt: FakeGantt
) -> None:
    advisor = configure(mode="advise")

    def work() -> None:
        assert weighed(spec(), hosts()) == ["c", "b", "a"]

    with advisor.journal._lock, advisor._breaker._lock, advisor._resolver._lock:
        child = in_child(work)
    assert ended_well(child)


def test_child_counts_from_nothing(configure: Configure, gantt: FakeGantt) -> None:
    advisor = configure(mode="advise")
    weighed(spec(), hosts())

    def work() -> None:
        weighed(spec(), hosts())
        assert advisor.journal.counters() == {"asked": 1, "answered": 1}

    assert ended_well(in_child(work))
    assert advisor.journal.counters() == {"asked": 1, "answered": 1}
