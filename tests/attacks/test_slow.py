"""Slow bodies, slow headers, slow readers and idle connections: all cost the attacker
next to nothing, and must cost the callers beside them as little."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.attacks import beside
from tests.attacks.attackers import SEARCH, attack
from tests.attacks.beside import Beside, told
from tests.attacks.service import ADMIN, MEMBER, NOBODY, Service, attacked

ATTACKED_S = 3.0
READERS = 64
# As multiples of the idle service: the attacks below take no processor time to speak
# of, but the machine may be busy with other tests. Who is not answered waits for more
# than a thousand times.
MEDIAN, WORST = 10, 50
# Memory that all attackers of a test may take, and one of many idle connections.
MORE_MB = 80
CONNECTION_KB = 40
# How long a stop may wait for those whose requests are under way.
DRAIN_S = 20

SLOW = [
    ("slow_bodies", 64, MEMBER),
    ("slow_bodies", 256, MEMBER),
    ("slow_bodies", 256, NOBODY),
    ("slow_bodies", 256, ""),
    ("slow_headers", 256, MEMBER),
]


def check(idle: Beside, attacked: Beside) -> None:
    """Every caller was answered, and about as soon as ever."""
    lines = "\n".join(told(idle, attacked))
    assert not any(seen.failures for seen in attacked.values()), lines
    for name, seen in attacked.items():
        assert seen.times_slower(idle[name]) <= MEDIAN, lines
        assert seen.times_slower_at_worst(idle[name]) <= WORST, lines


@pytest.mark.parametrize(
    ("kind", "count", "token"),
    SLOW,
    ids=[f"{kind}-{count}-{token}" for kind, count, token in SLOW],
)
def test_callers_beside_slow_ones_are_answered_as_ever(
    service: Service, idle: Beside, kind: str, count: int, token: str
) -> None:
    service.forget_peak()
    before = service.memory_mb()
    with attack(kind, service.port, count, token) as placed:
        assert placed == count
        time.sleep(0.5)
        found = beside.measure(service.port, ATTACKED_S)
        took = service.peak_mb() - before
    check(idle, found)
    assert took <= MORE_MB


def test_slow_readers_cost_the_answers_that_they_do_not_read(
    service: Service, idle: Beside
) -> None:
    """Each asks for four, and the next is made when the one before has gone out."""
    _, answer = service.ask("GET", SEARCH)
    service.forget_peak()
    before = service.memory_mb()
    with attack("slow_readers", service.port, READERS, ADMIN) as placed:
        assert placed == READERS
        time.sleep(1)
        found = beside.measure(service.port, ATTACKED_S)
        took = service.peak_mb() - before
    check(idle, found)
    assert took <= MORE_MB + 2 * READERS * len(answer) / 2**20


def test_ten_thousand_idle_connections(service: Service, idle: Beside) -> None:
    """As many of them as the hard limit of open files allows."""
    before = service.memory_mb()
    with attack("idle", service.port, 10_000) as placed:
        assert placed > 900, "the hard limit of open files is too low to tell"
        found = beside.measure(service.port, ATTACKED_S)
        took_kb = (service.memory_mb() - before) * 1024
    check(idle, found)
    assert took_kb / placed <= CONNECTION_KB, f"{placed} connections, {took_kb:.0f} kB"


def test_a_stop_does_not_wait_for_slow_bodies(tmp_path: Path) -> None:
    with (
        attacked(tmp_path, options={"drain_s": DRAIN_S}) as service,
        attack("slow_bodies", service.port, 64, MEMBER),
    ):
        began = time.monotonic()
        assert service.live.stop() == 0
        took = time.monotonic() - began
    assert took < DRAIN_S / 2, f"{took:.1f} s of {DRAIN_S}"
