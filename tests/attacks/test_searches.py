"""Searches without a limit take processor time, as they may; small reads, claims and
health beside them are not last."""

from __future__ import annotations

import time

from tests.attacks import beside
from tests.attacks.attackers import attack
from tests.attacks.beside import Beside, told
from tests.attacks.service import ADMIN, Service

SEARCHES = 32
ATTACKED_S = 6.0
# As multiples of the idle service, of which each processor and the interpreter's lock
# are shared with searches; waiting behind all of them is a thousand times.
MEDIAN = 60
# Of the searches themselves, each of some MB.
MORE_MB = 400


def test_small_callers_are_answered_beside_unlimited_searches(
    service: Service, idle: Beside
) -> None:
    service.forget_peak()
    before = service.memory_mb()
    with attack("searches", service.port, SEARCHES, ADMIN) as placed:
        assert placed == SEARCHES
        time.sleep(1)
        found = beside.measure(service.port, ATTACKED_S)
        took = service.peak_mb() - before
    lines = "\n".join(told(idle, found))
    assert not any(seen.failures for seen in found.values()), lines
    for name, seen in found.items():
        assert seen.times_slower(idle[name]) <= MEDIAN, lines
    assert took <= MORE_MB, lines
