"""Slow bodies, headers and readers, and idle connections, cost the attacker little,
and must cost other callers little."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.attacks import beside
from tests.attacks.attackers import SEARCH, attack
from tests.attacks.beside import MORE_MB, Beside, check, check_attack
from tests.attacks.service import ADMIN, MEMBER, UNKNOWN, Service, attacked

READERS = 64
IDLE = 10_000
# Memory that one of many idle connections may take.
CONNECTION_KB = 40
# How long a stop may wait for those whose requests are under way.
DRAIN_S = 20

SLOW = [
    ("slow_bodies", 64, MEMBER),
    ("slow_bodies", 256, MEMBER),
    ("slow_bodies", 256, UNKNOWN),
    ("slow_bodies", 256, ""),
    ("slow_headers", 256, MEMBER),
]


@pytest.mark.parametrize(
    ("kind", "count", "token"),
    SLOW,
    ids=[f"{kind}-{count}-{token}" for kind, count, token in SLOW],
)
def test_slow_callers_do_not_delay_others(
    service: Service, idle: Beside, kind: str, count: int, token: str
) -> None:
    check_attack(service, idle, kind, count, token)


def test_slow_readers_cost_only_their_unread_answers(
    service: Service, idle: Beside
) -> None:
    """Each asks for four, and the next is made when the one before has gone out."""
    _, answer = service.ask("GET", SEARCH)
    most_mb = MORE_MB + 2 * READERS * len(answer) / 2**20
    check_attack(service, idle, "slow_readers", READERS, ADMIN, most_mb=most_mb)


def test_ten_thousand_idle_connections_are_tolerated(
    service: Service, idle: Beside
) -> None:
    """What the limits of open files do not allow is told as a skip, which is a failure
    where everything must run."""
    before = service.memory_mb()
    with attack("idle", service.port, IDLE) as placed:
        held = service.connections()
        found = beside.measure(service, beside.ATTACKED_S)
        took = service.memory_mb() - before
    assert held >= placed, f"the service holds {held:,} of {placed:,} connections"
    check(idle, found, took, most_mb=placed * CONNECTION_KB / 1024)
    if placed < IDLE:
        pytest.skip(f"{placed:,} of {IDLE:,} idle connections: raise `ulimit -Hn`")


def test_stop_does_not_wait_for_slow_bodies(tmp_path: Path) -> None:
    with (
        attacked(tmp_path, options={"drain_s": DRAIN_S}) as service,
        attack("slow_bodies", service.port, 64, MEMBER),
    ):
        began = time.monotonic()
        assert service.live.stop() == 0
        took = time.monotonic() - began
    assert took < DRAIN_S / 2, f"{took:.1f} s of {DRAIN_S}"
